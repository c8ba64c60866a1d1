"""The episode chunks that RLlib hands its learners, read into arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import tree
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym.batches import Batches
from bonuslab.envs.gym.observations import POSITION_KEY

Array = np.ndarray
ADDED_STEP = "_added_loss_mask_for_valid_episode_ts"
"""Key that RLlib's `AddOneTsToEpisodesAndTruncate` sets in the pipeline's shared data."""
_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Chunk:
    """T consecutive steps of one episode."""

    episode: str
    """RLlib's id of the episode."""
    start: int
    """Steps of the episode before this chunk."""
    observations: dict[str, Array]
    """[T + 1, ...] each."""
    action: Array
    """[T] int64; None in every place if actions have no numbers."""
    logits: Array | None
    """[T, A] float32, if the algorithm records them."""
    reward: Array
    """[T] float32: the extrinsic reward."""
    terminated: bool
    truncated: bool

    def __len__(self) -> int:
        return len(self.action)

    @property
    def stop(self) -> int:
        """Steps of the episode up to the end of this chunk."""
        return self.start + len(self)


@dataclass(frozen=True)
class Spaces:
    """What bonus models are built for."""

    observations: gym.spaces.Dict
    num_actions: int
    """0 if actions have no numbers."""
    not_discrete: str
    """Why actions have no numbers: one sentence."""


class ChunkReader:
    """Reads RLlib's episodes of one environment."""

    def __init__(self, episode: SingleAgentEpisode) -> None:
        """The spaces are this episode's: RLlib tells its learner connectors none."""
        self._batches = Batches(episode.observation_space, episode.action_space)
        spaces = dict(self._batches.observation_space.spaces)
        self._has_position = POSITION_KEY in episode.get_infos(0) and POSITION_KEY not in spaces
        if self._has_position:
            spaces[POSITION_KEY] = gym.spaces.Box(_INT32.min, _INT32.max, (2,), np.int32)
        self._records_logits = isinstance(episode.action_space, gym.spaces.Discrete)
        self.spaces = Spaces(gym.spaces.Dict(spaces), self._batches.num_actions, self._batches.not_discrete)

    def read(self, episode: SingleAgentEpisode, step_added: bool) -> Chunk:
        """The chunk; `step_added` if RLlib has appended a step, suffixed the id and set `is_truncated`."""
        T = len(episode) - step_added
        return Chunk(
            episode=episode.id_.rsplit("_", 1)[0] if step_added else episode.id_,
            start=episode.t_started,
            observations=self._observations(episode, T),
            action=self._batches.actions(_batched(episode.get_actions(slice(0, T))), (T,)),
            logits=self._logits(episode, T),
            reward=np.asarray(episode.get_rewards(slice(0, T)), np.float32).reshape(T),
            terminated=bool(episode.is_terminated),
            # Once a step is added, a chunk that was merely cut is marked as truncated too.
            truncated=bool(episode.is_truncated) and not step_added,
        )

    def _observations(self, episode: SingleAgentEpisode, T: int) -> dict[str, Array]:
        found = _batched(episode.get_observations(slice(0, T + 1)))
        observations = self._batches.observations("observation", found, (T + 1,))
        if self._has_position:
            infos = episode.get_infos(slice(0, T + 1))
            if not all(POSITION_KEY in info for info in infos):
                raise InvalidInput(
                    f"some infos of the environment lack {POSITION_KEY!r}: reset and step must return it"
                )
            observations[POSITION_KEY] = np.array([info[POSITION_KEY] for info in infos], np.int32)
        return observations

    def _logits(self, episode: SingleAgentEpisode, T: int) -> Array | None:
        if not self._records_logits or Columns.ACTION_DIST_INPUTS not in episode.extra_model_outputs:
            return None
        logits = episode.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS, slice(0, T))
        return np.asarray(logits, np.float32).reshape(T, self.spaces.num_actions)


def _batched(found: Any) -> Any:
    """What an episode returns for a slice, as arrays: replay buffers sample lists of single values."""
    return tree.map_structure(lambda *rows: np.stack(rows), *found) if isinstance(found, list) else found
