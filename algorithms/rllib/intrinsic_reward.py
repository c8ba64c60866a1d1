"""The learner connector that adds the intrinsic reward to a fragment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from ray.rllib.connectors.connector_v2 import ConnectorV2

from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel, total_reward
from bonuslab.algorithms.data.fragment import Fragment

FRAGMENT = "fragment"
"""Key of the fragment in the pipeline's batch."""
METRICS = "bonus_metrics"
"""Key of bonus metrics in the pipeline's shared data."""


class FragmentConnector(ConnectorV2):
    """A learner connector that works on `batch["fragment"]`: it may add columns to `fragment.extra`."""


class _BonusConnector(FragmentConnector):
    """Holds the bonus models."""

    def __init__(
        self,
        input_observation_space: gym.Space | None = None,
        input_action_space: gym.Space | None = None,
        *,
        expression: str,
        reward_clip: float | None,
        setting: dict[str, Any],
        **model: Any,
    ) -> None:
        """`setting` and `model`: further arguments of `Setting` and `IntrinsicModel`."""
        super().__init__(input_observation_space, input_action_space)
        self._expression = expression
        self._reward_clip = reward_clip
        self._setting_arguments, self._model_arguments = setting, model
        self._model: IntrinsicModel | None = None

    @property
    def model(self) -> IntrinsicModel:
        """The bonus models, built on first use: RLlib builds pipelines that it never runs."""
        if self._model is None:
            setting = Setting(self.input_observation_space, int(self.input_action_space.n), **self._setting_arguments)
            self._model = IntrinsicModel(parse(self._expression), setting, **self._model_arguments)
        return self._model

    def get_state(self, *_: Any, **__: Any) -> dict[str, Any]:
        """State of the bonus models, memories and normalisers."""
        return {"model": self.model.state_dict()}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self.model.load_state_dict(state["model"])


class IntrinsicReward(_BonusConnector):
    """Computes a fragment's bonus, trains the bonus models on it, and adds reward columns.

    Columns of `fragment.extra`, all [T, N] float32: `reward_extrinsic`, `bonus_episodic`, `bonus_global`, `bonus`, and
    `reward`, the (clipped) sum that the learner uses. `fragment.reward` is unchanged.

    A class of its own, because RLlib searches the call stack for the arguments of a class with an `__init__`: 0.1 s.
    """

    def __call__(self, *, batch: dict[str, Any], shared_data: dict | None = None, **_: Any) -> dict[str, Any]:
        """Add the reward columns to `batch["fragment"]`."""
        fragment: Fragment = batch[FRAGMENT]
        result = self.model.process(fragment)
        fragment.extra |= {
            "reward_extrinsic": fragment.reward,
            "bonus_episodic": result.bonus_episodic,
            "bonus_global": result.bonus_global,
            "bonus": result.bonus,
            "reward": total_reward(fragment.reward, result.bonus, self._reward_clip),
        }
        if shared_data is not None:
            shared_data[METRICS] = result.metrics
        return batch
