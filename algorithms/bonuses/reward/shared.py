"""The bonus model of a trial: one place through which every fragment passes on its way to the learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
import torch

from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.learning import malloc
from bonuslab.algorithms.rllib.intrinsic_reward import FRAGMENT, METRICS

P = TypeVar("P")


@dataclass(frozen=True)
class RewardColumns:
    """What the pipeline adds to a batch: `reward`, `bonus` and their parts, [T, N] each."""

    columns: dict[str, np.ndarray]


class SharedBonus:
    """Runs the learner connector pipeline on fragments. A Ray actor where there are workers, a plain object where not.

    Because all fragments pass here, counts are truly global, episodic memory sees every env's fragments in order,
    and one model serves any number of learners.
    """

    def __init__(
        self,
        config: Any,
        observation_space: gym.Space,
        action_space: gym.Space,
        state: dict[str, Any] | None = None,
        device: str | None = None,
    ) -> None:
        """`device` is that of the configuration's GPUs for the bonus actor unless it is given."""
        malloc.keep_large_blocks()
        if not config.serial:
            torch.set_num_threads(config.threads_per_bonus)
        if device is None:
            device = "cuda" if config.num_gpus_for_bonus > 0 else "cpu"
        self._pipeline = config.build_learner_connector(observation_space, action_space, device=device)
        if state is not None:
            self.set_state(state)

    def find(self, kind: type[P]) -> P:
        """The piece of this kind in the pipeline."""
        return next(piece for piece in self._pipeline.connectors if isinstance(piece, kind))

    def process(self, *fragments: Fragment) -> tuple[RewardColumns, dict[str, float]]:
        """The reward columns of all environments of these fragments, and the bonus's metrics.

        Only new columns are returned: whoever learns from the fragments has them, and they are 200 times larger.
        """
        joined = concat_envs(fragments)
        before, shared = set(joined.extra), {}  # type: set[str], dict[str, Any]
        self._pipeline(rl_module=None, batch={FRAGMENT: joined}, episodes=[], shared_data=shared)
        malloc.trim()
        new = {name: column for name, column in joined.extra.items() if name not in before}
        return RewardColumns(new), shared[METRICS]

    def get_state(self) -> dict[str, Any]:
        """Everything the pipeline has learnt and remembers."""
        return self._pipeline.get_state()

    def snapshot(self) -> tuple[dict[str, Any], bool]:
        """The state, and beside it a small sign that it was made."""
        return self.get_state(), True

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self._pipeline.set_state(state)
