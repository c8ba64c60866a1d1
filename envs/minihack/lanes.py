"""Many MiniHack games in one process, stepped together without copying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.lanes import FinishedEpisode, LaneError, LaneStep, Observations
from bonuslab.envs.minihack.contexts import ContextCount, Contexts
from bonuslab.envs.minihack.episode import Episode
from bonuslab.envs.minihack.game import observation_buffers
from bonuslab.envs.minihack.spaces import action_space, check_action, observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task


class MiniHackLanes:
    """N lanes of one task; see `bonuslab.envs.lanes.Lanes`.

    Lane i draws its contexts from the stream (stream, i): it meets what an environment with that stream meets alone,
    whatever the other lanes do. The games write straight into the lanes' arrays [N, ...]; a caller's `out` costs
    one copy of them all.
    """

    def __init__(
        self,
        task: str | Task,
        num_lanes: int,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int = 0,
        max_steps: int | None = None,
    ) -> None:
        if isinstance(num_lanes, bool) or not isinstance(num_lanes, int | np.integer) or num_lanes < 1:
            raise InvalidInput(f"num_lanes {num_lanes!r} cannot be used; allowed: whole numbers from 1")
        self.task = find_task(task)
        self.num_lanes = int(num_lanes)
        self.observation_space: gym.spaces.Dict = observation_space()
        self.action_space: gym.spaces.Discrete = action_space(self.task)
        self._num_actions = len(self.task.actions)
        self._samplers = [
            Contexts(contexts, seed, held_out=held_out, stream=(stream, lane)) for lane in range(self.num_lanes)
        ]
        self._observations = observation_buffers(self.num_lanes)
        self._episodes: list[Episode] = []
        try:
            for lane in range(self.num_lanes):
                buffers = {key: array[lane] for key, array in self._observations.items()}
                self._episodes.append(Episode(self.task, max_steps, buffers))
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
        num_lanes = self.num_lanes
        rewards: list[float] = []
        terminated = np.zeros(num_lanes, np.bool_)
        truncated = np.zeros(num_lanes, np.bool_)
        finished: list[FinishedEpisode] = []
        lane = 0
        try:
            for lane, (episode, action) in enumerate(zip(self._episodes, chosen, strict=True)):
                rewards.append(episode.step(action))
                if episode.status != "running":
                    finished.append(self._finish(lane))
                    (truncated if episode.status == "step_limit" else terminated)[lane] = True
                    self._begin(lane)
        except LaneError:
            raise
        except Exception as error:
            raise self._error(lane, error) from error
        return LaneStep(self._hand_out(out), np.array(rewards, np.float32), terminated, truncated, finished)

    def get_state(self) -> dict[str, Any]:
        """Context and actions of every lane's episode, and where its sampler is."""
        return {
            "task": self.task.name,
            "episodes": [episode.get_state() for episode in self._episodes],
            "samplers": [sampler.get_state() for sampler in self._samplers],
        }

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Play every lane's episode again up to where it was."""
        if state["task"] != self.task.name or len(state["episodes"]) != self.num_lanes:
            raise InvalidInput(
                f"a state of {len(state['episodes'])} lanes of {state['task']} does not fit "
                f"{self.num_lanes} lanes of {self.task.name}"
            )
        for lane, episode in enumerate(self._episodes):
            self._samplers[lane].set_state(state["samplers"][lane])
            with self._named(lane):
                episode.set_state(state["episodes"][lane])
        self._started = all(episode is not None for episode in state["episodes"])
        return self._hand_out(out)

    def close(self) -> None:
        """Close every game. A second call does nothing."""
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
            total_reward=episode.total_reward,
            end_status=episode.status,
            final_observation={key: array.copy() for key, array in episode.observation.items()},
        )

    def _hand_out(self, out: Observations | None) -> Observations:
        if out is None:
            return self._observations
        for key, array in self._observations.items():
            np.copyto(out[key], array, casting="no")
        return out

    def _check_actions(self, actions: np.ndarray | Sequence[int]) -> list[int]:
        if not self._started:
            raise InvalidInput("step before reset: call reset() first")
        array = np.asarray(actions)
        if array.shape != (self.num_lanes,):
            raise InvalidInput(f"actions of shape {array.shape} cannot be used; allowed: ({self.num_lanes},)")
        chosen = array.tolist()
        if array.dtype.kind not in "iu" or min(chosen) < 0 or max(chosen) >= self._num_actions:
            for action in chosen:
                check_action(action, self.task)
        return chosen

    @contextmanager
    def _named(self, lane: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise self._error(lane, error) from error

    def _error(self, lane: int, error: Exception) -> LaneError:
        context = self._episodes[lane].context
        return LaneError(f"lane {lane} of {self.num_lanes}, task {self.task.name}, context {context}: {error}")
