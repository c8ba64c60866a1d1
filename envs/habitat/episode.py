"""Plays episodes in one simulator: steps, termination, sensors and coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from bonuslab.envs.errors import unknown
from bonuslab.envs.habitat.contexts import scene_and_start
from bonuslab.envs.habitat.coverage import COVERAGES, Coverage, ReleasedCoverage
from bonuslab.envs.habitat.sensors import compass, gps, write_depth
from bonuslab.envs.habitat.simulator import Action, NavigableMap, Point, Pose, Scenes, SimulatorDied
from bonuslab.envs.habitat.spaces import MAX_STEPS, check_flag, check_max_steps, observation_buffers
from bonuslab.envs.replayed_vector_env import RecordedActions

EndStatus = Literal["none", "running", "stopped", "step_limit", "shortened", "simulator_died"]
"""`stopped`: the agent took the stop action. `none`: no episode has started. `shortened`: see `SHORTENED`."""


class HabitatEpisode(RecordedActions):
    """One episode at a time, without reward.

    By default, stop is a no-op, so that all episodes last 500 steps and coverage is compared over equal lengths. With
    `stop_ends` it ends the episode, as in Habitat's navigation tasks, where it declares that the goal is reached. There
    is no goal here, and an untrained agent would stop after four steps.
    """

    def __init__(
        self,
        scenes: Scenes,
        size: int,
        max_steps: int | None = None,
        stop_ends: bool = False,
        buffers: Mapping[str, np.ndarray] | None = None,
        coverage: str = COVERAGES[0],
    ) -> None:
        """Observations are written into `buffers`, or into new arrays if None."""
        self.max_steps = MAX_STEPS if max_steps is None else check_max_steps(max_steps)
        self.limit = self.max_steps
        """The step limit of this episode, which may be shorter."""
        if coverage not in COVERAGES:
            raise unknown("coverage", coverage, COVERAGES)
        self._released = coverage == "released"
        self.context: int | None = None
        self.status: EndStatus = "none"
        self.total_reward = 0.0
        """Always 0."""
        self.path: list[Pose] = []
        """The agent's poses, from the start."""
        alone = {key: array[0] for key, array in observation_buffers(1, size).items()} if buffers is None else buffers
        self.observation: Mapping[str, np.ndarray] = alone
        """Overwritten by the next step."""
        self._scenes, self._stop_ends = scenes, check_flag("stop_ends_episode", stop_ends)
        self._simulator = scenes.simulator(size)
        self._coverage: Coverage | None = None
        self.death = ""
        """The simulator's last message, if it has died."""
        self._actions = bytearray()
        self._depth = np.empty((size, size), np.float32)

    @property
    def coverage(self) -> float:
        """Revealed area over total navigable area, so far."""
        return self._coverage.fraction if self._coverage else 0.0

    @property
    def revealed(self) -> np.ndarray:
        """[rows, columns] bool: the cells of `map` that have been seen."""
        assert self._coverage is not None
        return self._coverage.revealed

    @property
    def map(self) -> NavigableMap:
        """The navigable floor of the current episode."""
        assert self._coverage is not None
        return self._coverage.map

    def prefetch_begin(self, context: int) -> None:
        """Announce the next `begin`, so that the simulators of several episodes can load scenes in parallel."""
        scene, start = scene_and_start(context)
        self._simulator.prefetch_begin(scene, self._scenes.start(scene, start))

    def begin(self, context: int, limit: int | None = None) -> None:
        """Start a new episode of at most `limit` steps. The same context always gives the same scene and start."""
        self.limit = self.max_steps if limit is None else limit
        self._begin(context)
        self._show()

    def prefetch(self, action: Action) -> None:
        """Announce the next `step`, so that the simulators of several episodes can work in parallel."""
        self._simulator.prefetch(action)

    def step(self, action: Action) -> float:
        """Take an action and return its reward, 0; `status` says whether and how the episode ended.

        If the simulator dies, the episode ends with the observation before the action.
        """
        try:
            self._step(action)
            self._show()
        except SimulatorDied as death:
            self.status, self.death = "simulator_died", str(death)
        return self.total_reward

    def set_state(self, state: dict[str, Any] | None) -> None:
        """Replay the actions of `state` without rendering."""
        if state is None:
            return
        self.limit = state.get("limit", self.max_steps)
        self._begin(state["context"])
        for action in state["actions"]:
            self._step(Action(action))
        if self.status != state["status"]:
            raise RuntimeError(f"context {state['context']} replayed is {self.status}, not {state['status']}")
        self._show()

    def close(self) -> None:
        """Close the simulator."""
        self._simulator.close()

    def _begin(self, context: int) -> None:
        self.status = "none"  # until the scene is loaded
        self.context = context
        scene, start = scene_and_start(context)
        self._simulator.begin(scene, self._scenes.start(scene, start))
        self.path = [self._simulator.pose]
        self._coverage = self._new_coverage(self._scenes.goal(scene, start) if self._released else None)
        self._coverage.look(self.path[0])
        self._actions.clear()
        self.status = "running"

    def _new_coverage(self, goal: Point | None) -> Coverage:
        if not self._released:
            return Coverage(self._simulator.navigable_map())
        map_, shortest_path = self._simulator.released_map(goal)
        return ReleasedCoverage(map_, goal, shortest_path)

    def _step(self, action: Action) -> None:
        assert self._coverage is not None
        self._simulator.act(action)
        self._actions.append(action)
        self.path.append(self._simulator.pose)
        self._coverage.look(self.path[-1])
        if action == Action.STOP and self._stop_ends:
            self.status = "stopped"
        elif len(self._actions) >= self.limit:
            self.status = "step_limit" if self.limit == self.max_steps else "shortened"

    def _show(self) -> None:
        """Write the sensor readings into the observation."""
        shown, start, pose = self.observation, self.path[0], self.path[-1]
        self._simulator.render(shown["rgb"], self._depth)
        write_depth(self._depth, shown["depth"])
        shown["gps"][:] = gps(start, pose)
        shown["compass"][0] = compass(start, pose)
        shown["previous_action"][0] = self._actions[-1] + 1 if self._actions else 0
