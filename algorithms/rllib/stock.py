"""`IntrinsicReward` for RLlib's own algorithms: PPO, APPO, IMPALA, and DQN or SAC with global bonuses.

    from bonuslab.rllib import IntrinsicReward

    config = PPOConfig().environment("CartPole-v1")
    IntrinsicReward.add_to(config, "e3b * rnd", coefficient=0.1)

RLlib runs a user's learner connectors before all pieces that read rewards, but after `AddOneTsToEpisodesAndTruncate`,
which adds a step to every chunk and renames episodes. The sum of both rewards goes into the batch's column `rewards`,
which later pieces leave alone; episodes, and the returns that RLlib reports, keep the extrinsic reward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import Learner
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import ALL_MODULES
from ray.rllib.utils.spaces.space_utils import BatchedNdArray

from bonuslab.algorithms.bonuses import Bonus, parse
from bonuslab.algorithms.bonuses.reward.model import NormaliseAt
from bonuslab.algorithms.extensions import shipping
from bonuslab.algorithms.rllib.stock_bonus import Batch, BonusOptions, ChunkBonus, RemoteChunkBonus, make_bonus
from bonuslab.algorithms.rllib.stock_chunks import ADDED_STEP, ChunkReader
from bonuslab.envs.errors import InvalidInput

METRICS = "intrinsic_reward"
"""Key of the metrics in `results["learners"]["__all_modules__"]`, and of the state in a learner's."""
_N_STEP = "n_step"
"""A column that only RLlib's replay buffers add."""
C = TypeVar("C", bound=AlgorithmConfig)


class IntrinsicReward(ConnectorV2):
    """A learner connector that adds coefficient × normalised bonus to the rewards and trains the bonus models.

    `add_to(config, …)` puts it into a config, with a learner that saves its state in checkpoints. RLlib's own learners
    leave out the state of their connectors, so it refuses to run in them (as a plain `learner_connector=…`).

    - Episodic memory follows RLlib's episodes across chunks. Several learners share one bonus in an actor.
    - IMPALA and APPO drop batches while their learner is busy, and a bonus keeps it busier
      (`learner_group_ts_dropped_lifetime`). The memory of an episode starts afresh after a lost chunk.
    - Off-policy algorithms replay single transitions: only global bonuses can be used, computed anew whenever a
      transition is sampled. Counts then count samples, not visits.
    - Observations are those in RLlib's episodes, after env-to-module connectors that write them back. An env that
      returns `agent_position` in every info can have it counted. In on-policy algorithms `truncated` is never set:
      RLlib marks all chunks as truncated.
    - Metrics are in `results["learners"]["__all_modules__"]["intrinsic_reward"]`.
    """

    def __init__(
        self,
        bonus: str | Bonus,
        *,
        coefficient: float = 1.0,
        normalise: str = "std",
        normalise_at: NormaliseAt = "combined",
        updates: int = 1,
        network: str = "auto",
        seed: int = 0,
        device: str = "cpu",
        extensions: bytes | None = None,
    ) -> None:
        """See `IntrinsicModel` for `coefficient`, `normalise`, `normalise_at` and `updates`.

        `network` is an encoder's name; `auto` chooses one from the observation space. `extensions` are those of
        `shipping.capture()`; `add_to` passes them.
        """
        super().__init__()
        shipping.install(extensions)
        self.expression = parse(str(bonus))
        if self.expression.needs_policy_features:
            raise InvalidInput(f"bonus '{self.expression}' needs the policy's features, which RLlib does not record")
        model = {
            "coefficient": coefficient,
            "normalise": normalise,
            "normalise_at": normalise_at,
            "updates": updates,
        }
        self._options = BonusOptions(str(self.expression), network, seed, device, model, extensions)
        self.is_saved = False
        """Whether a learner keeps the state in checkpoints."""
        self._bonus: ChunkBonus | RemoteChunkBonus | None = None
        self._reader: ChunkReader | None = None

    @classmethod
    def add_to(cls, config: C, bonus: str | Bonus, **options: Any) -> C:
        """Add the intrinsic reward to a config, after the user's own learner connectors; returns the config.

        Set a learner class of your own before.
        """
        piece = cls(bonus, **options)  # refuses what is wrong, now
        if hasattr(config, "replay_buffer_config"):
            refuse_episodic(piece.expression)
        add = _AddPiece(cls, str(piece.expression), options, shipping.capture(), config._learner_connector)
        config.learners(learner_connector=add)
        return config.learners(learner_class=_saving(config.learner_class))

    @property
    def bonus(self) -> ChunkBonus | RemoteChunkBonus:
        """The bonus, made on first use, when learners are connected."""
        if self._bonus is None:
            self._bonus = make_bonus(self._options)
        return self._bonus

    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        rl_module: Any = None,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **_: Any,
    ) -> dict[str, Any]:
        """Write extrinsic + intrinsic rewards into the batch."""
        if rl_module is not None and not self.is_saved:  # called by a learner
            raise InvalidInput(
                f"use IntrinsicReward.add_to(config, '{self.expression}'), after setting a learner class of your own: "
                "checkpoints of this learner would not contain the bonus"
            )
        step_added = bool((shared_data or {}).get(ADDED_STEP))
        replayed = self._check(episodes)
        if self._reader is None:
            self._reader = ChunkReader(episodes[0])
        chunks = [self._reader.read(episode, step_added) for episode in episodes]
        found, reported = self.bonus.process(Batch(self._reader.spaces, chunks, replayed))
        padding = np.zeros(int(step_added), np.float32)
        bonus: dict[str, Any] = {}
        extrinsic: dict[str, Any] = {}
        for episode, values in zip(episodes, found, strict=True):
            steps = len(episode)
            self.add_n_batch_items(bonus, METRICS, np.concatenate([values, padding]), steps, episode)
            rewards = np.asarray(episode.get_rewards(slice(0, steps)))
            self.add_n_batch_items(extrinsic, Columns.REWARDS, rewards, steps, episode)
        # Rewards are already there if a connector before this one has changed them.
        rewards_before = batch.get(Columns.REWARDS, extrinsic[Columns.REWARDS])
        batch[Columns.REWARDS] = {
            key: [(_joined(items) + _joined(bonus[METRICS][key])).view(BatchedNdArray)]
            for key, items in rewards_before.items()
        }
        if metrics is not None:
            reported["reward_extrinsic/mean"] = float(np.concatenate([chunk.reward for chunk in chunks]).mean())
            for name, value in reported.items():
                metrics.log_value((ALL_MODULES, METRICS, *name.split("/")), value, window=1)
        return batch

    def get_state(self, *_: Any, **__: Any) -> dict[str, Any]:
        """State of the bonus models, memories and normalisers."""
        return {"bonus": self.bonus.state_dict()}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self.bonus.load_state_dict(state["bonus"])

    def _check(self, episodes: Sequence[Any]) -> bool:
        """Whether the episodes are samples of a replay buffer; refuse those that have no right bonus."""
        if any(isinstance(episode, MultiAgentEpisode) for episode in episodes):
            raise InvalidInput("IntrinsicReward needs a single-agent environment")
        replayed = [episode for episode in episodes if _N_STEP in episode.extra_model_outputs]
        if replayed:
            refuse_episodic(self.expression)
        if any(_longest_step(episode) > 1 for episode in replayed):
            raise InvalidInput("IntrinsicReward needs rewards of single steps: set n_step=1")
        return bool(replayed)


def refuse_episodic(bonus: Bonus) -> None:
    """Refuse a bonus that needs episodes in order."""
    if bonus.scope in ("episodic", "combined"):
        raise InvalidInput(
            f"bonus '{bonus}' is {bonus.scope} and needs whole episodes in order; off-policy algorithms replay single "
            "transitions: use global terms only, such as rnd"
        )


def _longest_step(episode: SingleAgentEpisode) -> int:
    return int(np.max(episode.get_extra_model_outputs(_N_STEP, slice(0, len(episode)))))


def _joined(items: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.atleast_1d(np.asarray(item)) for item in items])


@dataclass(frozen=True)
class _AddPiece:
    """RLlib's `learner_connector`: makes the user's pieces and ours, in whichever process."""

    kind: type[IntrinsicReward]
    expression: str
    options: dict[str, Any]
    extensions: bytes | None
    before: Callable[[Any, Any], Any] | None

    def __call__(self, observation_space: gym.Space | None, action_space: gym.Space | None) -> list[ConnectorV2]:
        made = [] if self.before is None else self.before(observation_space, action_space)
        pieces = [made] if isinstance(made, ConnectorV2) else list(made)
        return [*pieces, self.kind(self.expression, **self.options, extensions=self.extensions)]


class _SavesBonus(Learner):
    """Keeps the bonus in the learner's state; RLlib's learners leave out that of their connectors."""

    def build(self) -> None:
        super().build()
        if self.config.num_aggregator_actors_per_learner:
            raise InvalidInput(
                "IntrinsicReward needs num_aggregator_actors_per_learner=0: each aggregator sees only some chunks of "
                "an episode, in any order"
            )
        for piece in self._pieces():
            piece.is_saved = True

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> dict[str, Any]:
        state = super().get_state(components, not_components=not_components, **kwargs)
        if self._check_component(METRICS, components, not_components):
            state[METRICS] = [piece.get_state() for piece in self._pieces()]
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        if METRICS in state:  # a checkpoint of the plain algorithm has none
            for piece, saved in zip(self._pieces(), state[METRICS], strict=True):
                piece.set_state(saved)

    def _pieces(self) -> list[IntrinsicReward]:
        return self._learner_connector[IntrinsicReward]


@cache
def _saving(learner_class: type[Learner]) -> type[Learner]:
    """The learner class with a bonus in its state."""
    if issubclass(learner_class, _SavesBonus):
        return learner_class
    return type(f"{learner_class.__name__}WithBonus", (_SavesBonus, learner_class), {})
