"""Many houses in one process, stepped together without copying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.habitat.backends import find_scenes
from bonuslab.envs.habitat.contexts import ContextCount, Contexts
from bonuslab.envs.habitat.episode import Episode
from bonuslab.envs.habitat.simulator import Action, Scenes
from bonuslab.envs.habitat.spaces import (
    action_space,
    check_action,
    check_size,
    observation_buffers,
    observation_space,
)
from bonuslab.envs.lanes import FinishedEpisode, LaneError, LaneStep, Observations


class HabitatLanes:
    """N lanes of one back end; see `bonuslab.envs.lanes.Lanes`.

    Lane i draws its contexts from the stream (stream, i): it meets what an environment with that stream meets alone,
    whatever the other lanes do. The simulators write straight into the lanes' arrays [N, ...]; a caller's `out` costs
    one copy of them all. A finished episode's coverage is in its `metrics`.
    """

    def __init__(
        self,
        backend: str | Scenes,
        num_lanes: int,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        size: int = 128,
        held_out: bool = False,
        split: str | None = None,
        stream: int = 0,
        max_steps: int | None = None,
        stop_ends_episode: bool = False,
        **data: Any,
    ) -> None:
        if isinstance(num_lanes, bool) or not isinstance(num_lanes, int | np.integer) or num_lanes < 1:
            raise InvalidInput(f"num_lanes {num_lanes!r} cannot be used; allowed: whole numbers from 1")
        self.scenes = find_scenes(backend, **data)
        self.num_lanes, self.size = int(num_lanes), check_size(size)
        self.observation_space: gym.spaces.Dict = observation_space(self.size)
        self.action_space: gym.spaces.Discrete = action_space()
        self._samplers = [
            Contexts(self.scenes, contexts, seed, held_out=held_out, split=split, stream=(stream, lane))
            for lane in range(self.num_lanes)
        ]
        self._observations = observation_buffers(self.num_lanes, self.size)
        self._episodes: list[Episode] = []
        try:
            for lane in range(self.num_lanes):
                buffers = {key: array[lane] for key, array in self._observations.items()}
                self._episodes.append(Episode(self.scenes, self.size, max_steps, stop_ends_episode, buffers))
        except BaseException:
            self.close()
            raise
        self._started = False

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the context of each lane's running episode, -1 before the first."""
        ids = [-1 if episode.context is None else episode.context for episode in self._episodes]
        return np.array(ids, dtype=np.int64)

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every lane."""
        for lane in range(self.num_lanes):
            self._begin(lane)
        self._started = True
        return self._hand_out(out)

    def step(self, actions: np.ndarray | Sequence[int], out: Observations | None = None) -> LaneStep:
        """Take one action in every lane."""
        chosen = self._check_actions(actions)
        terminated, truncated = np.zeros(self.num_lanes, np.bool_), np.zeros(self.num_lanes, np.bool_)
        finished: list[FinishedEpisode] = []
        for lane, (episode, action) in enumerate(zip(self._episodes, chosen, strict=True)):
            with self._named(lane):
                episode.step(action)
            if episode.status != "running":
                finished.append(self._finish(lane))
                (truncated if episode.status == "step_limit" else terminated)[lane] = True
                self._begin(lane)
        reward = np.zeros(self.num_lanes, np.float32)
        return LaneStep(self._hand_out(out), reward, terminated, truncated, finished)

    def get_state(self) -> dict[str, Any]:
        """Context and actions of every lane's episode, and where its sampler is."""
        return {
            "scenes": self.scenes.name,
            "episodes": [episode.get_state() for episode in self._episodes],
            "samplers": [sampler.get_state() for sampler in self._samplers],
        }

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Walk every lane's episode again up to where it was."""
        if state["scenes"] != self.scenes.name or len(state["episodes"]) != self.num_lanes:
            raise InvalidInput(
                f"a state of {len(state['episodes'])} lanes of {state['scenes']} does not fit "
                f"{self.num_lanes} lanes of {self.scenes.name}"
            )
        for lane, episode in enumerate(self._episodes):
            self._samplers[lane].set_state(state["samplers"][lane])
            with self._named(lane):
                episode.set_state(state["episodes"][lane])
        self._started = all(episode is not None for episode in state["episodes"])
        return self._hand_out(out)

    def close(self) -> None:
        """Close every simulator. A second call does nothing."""
        for episode in self._episodes:
            episode.close()
        self._started = False

    def _begin(self, lane: int) -> None:
        with self._named(lane):
            self._episodes[lane].begin(self._samplers[lane].draw())

    def _finish(self, lane: int) -> FinishedEpisode:
        episode = self._episodes[lane]
        assert episode.context is not None
        return FinishedEpisode(
            lane=lane,
            context=episode.context,
            length=episode.length,
            total_reward=0.0,
            end_status=episode.status,
            final_observation={key: array.copy() for key, array in episode.observation.items()},
            metrics={"coverage": episode.coverage},
        )

    def _hand_out(self, out: Observations | None) -> Observations:
        if out is None:
            return self._observations
        for key, array in self._observations.items():
            np.copyto(out[key], array, casting="no")
        return out

    def _check_actions(self, actions: np.ndarray | Sequence[int]) -> list[Action]:
        if not self._started:
            raise InvalidInput("step before reset: call reset() first")
        array = np.asarray(actions)
        if array.shape != (self.num_lanes,):
            raise InvalidInput(f"actions of shape {array.shape} cannot be used; allowed: ({self.num_lanes},)")
        return [check_action(action) for action in array.tolist()]

    @contextmanager
    def _named(self, lane: int) -> Iterator[None]:
        """Say in which lane and on which context something failed."""
        try:
            yield
        except Exception as error:
            place = f"lane {lane} of {self.num_lanes}, {self.scenes.name}, context {self._episodes[lane].context}"
            raise LaneError(f"{place}: {error}") from error
