"""The connector piece that turns a fragment's extrinsic reward into the reward the learner sees."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from ray.rllib.connectors.connector_v2 import ConnectorV2

from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.bonuses.algebra.plugins import load_plugin
from bonuslab.algorithms.bonuses.reward.config import BonusConfig
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel, total_reward
from bonuslab.algorithms.data.fragment import Fragment

FRAGMENT = "fragment"
"""Key of the fragment in the batch that passes through the pipeline."""
METRICS = "bonus_metrics"
"""Key of the bonus's metrics in the pipeline's shared data."""


class IntrinsicReward(ConnectorV2):
    """Computes the bonus of a fragment, learns from it, and adds reward columns beside the extrinsic one.

    Columns written to `fragment.extra`, all [T, N] float32: `reward_extrinsic`, `bonus_episodic`, `bonus_global`,
    `bonus` and `reward`, the (clipped) sum that is learnt from. The extrinsic reward itself is never changed.
    """

    def __init__(
        self,
        input_observation_space: gym.Space | None = None,
        input_action_space: gym.Space | None = None,
        *,
        bonus: BonusConfig,
        seed: int,
        device: str = "cpu",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_observation_space, input_action_space, **kwargs)
        self._bonus = bonus
        self._seed = seed
        self._device = device
        self._model: IntrinsicModel | None = None

    @property
    def model(self) -> IntrinsicModel:
        """The bonus models, built when they are first needed: RLlib builds pipelines that it never runs."""
        if self._model is None:
            for path in self._bonus.plugins:
                load_plugin(path)
            setting = Setting(
                observation_space=self.input_observation_space,
                num_actions=int(self.input_action_space.n),
                network=self._bonus.network,
                seed=self._seed,
                device=self._device,
            )
            self._model = IntrinsicModel(
                parse(self._bonus.expression),
                setting,
                normalise=self._bonus.normalise,
                normalise_at=self._bonus.normalise_at,
                coefficient=self._bonus.coefficient,
                updates=self._bonus.updates,
            )
        return self._model

    def __call__(self, *, batch: dict[str, Any], shared_data: dict | None = None, **_: Any) -> dict[str, Any]:
        """Add the reward columns to `batch["fragment"]`."""
        fragment: Fragment = batch[FRAGMENT]
        result = self.model.process(fragment)
        fragment.extra |= {
            "reward_extrinsic": fragment.reward,
            "bonus_episodic": result.bonus_episodic.astype(np.float32),
            "bonus_global": result.bonus_global.astype(np.float32),
            "bonus": result.bonus.astype(np.float32),
            "reward": total_reward(fragment.reward, result.bonus, self._bonus.reward_clip).astype(np.float32),
        }
        if shared_data is not None:
            shared_data[METRICS] = result.metrics
        return batch

    def get_state(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Everything the bonus has learnt and remembers."""
        return {"model": self.model.state_dict()}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self.model.load_state_dict(state["model"])
