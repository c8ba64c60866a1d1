"""The upstream MiniHack environment, playing the same levels and seeds as ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from bonuslab.envs.minihack import MiniHackEnv, Task
from bonuslab.envs.minihack.levels import KeyRoom, Level, MultiRoom
from bonuslab.envs.minihack.randomness import Purpose, context_seed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import minihack
    from minihack.envs.keyroom import MiniHackKeyRoom
    from minihack.envs.minigrid import MiniGridHack

_EMPTY = """MAZE:"mylevel",' '
"""
STATUS = {-1: "step_limit", 0: "running", 1: "died", 2: "won"}


class Upstream:
    """One upstream environment; `reset(context, level)` starts the same episode as ours."""

    def __init__(self, task: Task, max_steps: int | None = None) -> None:
        settings: dict[str, Any] = {"fix_moon_phase": True}
        if max_steps is not None:
            settings["max_episode_steps"] = max_steps
        self._task = task
        self.env = _make(task, settings)
        self.final: dict[str, np.ndarray] | None = None
        quit_game = self.env._quit_game

        def remember_and_quit(observation: Any, done: bool) -> None:
            # Upstream quits the game in the arrays that it returns; the outcome depends on what they held before.
            self.final = self._observation(observation)
            quit_game(observation, done)

        self.env._quit_game = remember_and_quit

    def reset(self, context: int, level: Level) -> dict[str, np.ndarray]:
        """Start the episode of `context`."""
        if level.map is not None:
            self.env.update(description_of(level, self._task))
        seeds = context_seed(context, Purpose.GAME_CORE), context_seed(context, Purpose.GAME_DISPLAY)
        self.env.nethack.set_initial_seeds(*seeds, False, None)
        skipped = MiniGridHack if isinstance(self.env, MiniGridHack) else type(self.env)
        super(skipped, self.env).reset(options={"wizkit_items": None})
        return self._observation(self.env.last_observation)

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, str]:
        """Observation, reward, whether the episode ended, and how."""
        self.final = None
        _, reward, ended, _, info = self.env.step(action)
        observation = self.final or self._observation(self.env.last_observation)
        return observation, reward, ended, STATUS[int(info["end_status"])]

    def _observation(self, arrays: Any) -> dict[str, np.ndarray]:
        env = self.env
        indices = {"glyphs": env._glyph_index, "blstats": env._blstats_index, "message": env._message_index}
        return {key: arrays[index].copy() for key, index in indices.items()}


def _make(task: Task, settings: dict[str, Any]) -> Any:
    if task.applies_key and task.name not in gym.registry:
        assert isinstance(task.levels, KeyRoom)
        return MiniHackKeyRoom(**vars(task.levels), **settings)
    if task.name.startswith("MiniHack-LavaCrossing"):  # upstream cannot create these
        return minihack.MiniHackNavigation(des_file=_EMPTY, **settings)
    spec = gym.spec(task.name)
    return gym.envs.registration.load_env_creator(str(spec.entry_point))(**spec.kwargs, **settings)


def description_of(level: Level, task: Task) -> str:
    """The level's .des text, generated as upstream does from a minigrid."""
    assert level.map is not None
    generator = minihack.LevelGenerator(map="\n".join(level.map))
    generator.add_goal_pos(level.goal)
    generator.set_start_pos(level.start)
    for door in level.doors:
        generator.add_door(level.door_state, door)
    generator.wallify()
    for _ in range(task.levels.monsters if isinstance(task.levels, MultiRoom) else 0):
        generator.add_monster()
    return generator.get_des()


class Pair:
    """Our environment and upstream's, which must agree at every step."""

    def __init__(self, task: Task, max_steps: int | None = None) -> None:
        self.ours = MiniHackEnv(task, max_steps=max_steps)
        self._upstream = Upstream(task, max_steps)
        self.steps = 0
        self.endings: list[str] = []
        self.actions_taken: set[str] = set()

    def play(self, context: int, act: Callable[[dict[str, np.ndarray]], int]) -> str:
        """Play one episode in both, assert that they are the same, and return how it ended."""
        observation, info = self.ours.reset(options={"context": context})
        assert self.ours.level is not None
        expected = self._upstream.reset(context, self.ours.level)
        self._compare(observation, expected, f"context {context}, first observation")
        ended = False
        while not ended:
            action = act(observation)
            self.actions_taken.add(self.ours.task.action_names[action])
            observation, reward, terminated, truncated, info = self.ours.step(action)
            expected, upstream_reward, ended, status = self._upstream.step(action)
            self.steps += 1
            where = f"context {context}, step {self.steps}, action {action}"
            assert (reward, terminated or truncated, info["end_status"]) == (upstream_reward, ended, status), where
            assert truncated == (status == "step_limit"), where
            self._compare(observation, expected, where)
        self.endings.append(info["end_status"])
        return str(info["end_status"])

    @staticmethod
    def _compare(ours: dict[str, np.ndarray], upstream: dict[str, np.ndarray], where: str) -> None:
        for key in ("glyphs", "blstats", "message"):
            np.testing.assert_array_equal(ours[key], upstream[key], err_msg=f"{where}: {key}")

    def close(self) -> None:
        """Close both."""
        self.ours.close()
        self._upstream.env.close()


@pytest.fixture
def make_pair() -> Iterator[Callable[..., Pair]]:
    """Creates pairs and closes them after the test."""
    pairs: list[Pair] = []

    def make(task: Task, max_steps: int | None = None) -> Pair:
        pairs.append(Pair(task, max_steps))
        return pairs[-1]

    yield make
    for pair in pairs:
        pair.close()
