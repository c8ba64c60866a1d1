"""The bonus of a run, shared by all runners and learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.learning import malloc
from bonuslab.algorithms.rllib.intrinsic_reward import FRAGMENT, METRICS, IntrinsicReward


@dataclass(frozen=True)
class RewardColumns:
    """Columns that the pipeline adds to a batch: `reward`, `bonus` and their parts, [T, N] each."""

    columns: dict[str, np.ndarray]


class SharedBonus:
    """Runs the learner connector pipeline on fragments, as a Ray actor or as a local object.

    It sees all fragments, so counts are global, episodic memory gets each env's fragments in order, and one model
    serves any number of learners.
    """

    def __init__(
        self,
        config: Any,
        observation_space: gym.Space,
        action_space: gym.Space,
        state: dict[str, Any] | None = None,
        device: str | None = None,
    ) -> None:
        """`device` defaults to CUDA if the config has GPUs for the bonus, else to the CPU."""
        malloc.keep_large_blocks()
        if not config.serial:
            torch.set_num_threads(config.threads_per_bonus)
        if device is None:
            device = "cuda" if config.num_gpus_for_bonus > 0 else "cpu"
        self._pipeline = config.build_learner_connector(observation_space, action_space, device=device)
        if state is not None:
            self.set_state(state)

    @property
    def model(self) -> IntrinsicModel:
        """The bonus models."""
        return next(piece for piece in self._pipeline.connectors if isinstance(piece, IntrinsicReward)).model

    def process(self, *fragments: Fragment) -> tuple[RewardColumns, dict[str, float]]:
        """Reward columns of the concatenated fragments, and bonus metrics.

        Only new columns are returned: the learner has the fragments, which are 200 times larger.
        """
        joined = concat_envs(fragments)
        before, shared = set(joined.extra), {}  # type: set[str], dict[str, Any]
        self._pipeline(rl_module=None, batch={FRAGMENT: joined}, episodes=[], shared_data=shared)
        malloc.trim()
        new = {name: column for name, column in joined.extra.items() if name not in before}
        return RewardColumns(new), shared[METRICS]

    def get_state(self) -> dict[str, Any]:
        """State of the pipeline."""
        return self._pipeline.get_state()

    def snapshot(self) -> tuple[dict[str, Any], bool]:
        """The state, and a small object whose arrival signals it."""
        return self.get_state(), True

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self._pipeline.set_state(state)
