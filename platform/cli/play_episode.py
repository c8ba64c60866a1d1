"""One episode of a random or scripted agent, shown in the terminal or saved."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bonuslab.envs.catalogue import find
from bonuslab.envs.errors import InvalidInput, check_integer, unknown
from bonuslab.envs.family import Album, Family, ScriptedAgent
from bonuslab.platform.cli.play import AGENTS
from bonuslab.platform.pictures.live_lines import LiveLines
from bonuslab.platform.pictures.video import Video, picture_path

MOST_STEPS = 10_000
"""Of environments whose episodes may never end."""


class RandomAgent:
    """Uniformly random actions."""

    def __init__(self, num_actions: int, seed: int) -> None:
        self._num_actions = num_actions
        self._rng = np.random.default_rng(seed)

    def __call__(self, observation: dict[str, np.ndarray], env: Any) -> int:
        """The next action."""
        return int(self._rng.integers(self._num_actions))


def make_agent(name: str, family: Family, task: str, seed: int) -> ScriptedAgent:
    """An agent by name."""
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    if name == "random":
        return RandomAgent(len(family.action_names(task)), seed)
    agent = family.scripted_agent(task, seed)
    if agent is None:
        raise InvalidInput(f"there is no scripted agent for {task}; use --agent random")
    return agent


@dataclass(frozen=True)
class Moment:
    """One step of an episode, whose picture is in an album under the step's number."""

    context: int
    step: int
    action: str
    """Name of the action that led here; empty at the start."""
    total_reward: float
    description: str
    """By the album."""
    outcome: str
    """How the episode ended; empty before its end."""

    def status(self) -> str:
        """The status line below the picture."""
        parts = [f"step {self.step}", f"return {self.total_reward:.2f}", self.description, self.outcome or self.action]
        return "   ".join(filter(None, parts))


def episode(
    env: Any, agent: ScriptedAgent, album: Album, actions: list[str], max_steps: int, context: int | None
) -> Iterator[Moment]:
    """Play, yielding every moment from the first observation on."""
    observation, info = env.reset(options={} if context is None else {"context": context})
    context, total = int(info["context"]), 0.0
    yield Moment(context, 0, "", total, album.add(observation, env), "")
    for step in range(1, max_steps + 1):
        action = agent(observation, env)
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        outcome = str(info["end_status"]).replace("_", " ") if terminated or truncated else ""
        yield Moment(context, step, actions[action], total, album.add(observation, env), outcome)
        if outcome:
            return


def play_episode(
    task: str,
    agent_name: str,
    context: int | None,
    contexts: str | None,
    seed: int,
    steps: int | None,
    delay: float,
    save: str | None,
) -> None:
    """Play one episode and print how it ended; everything is checked before the environment starts."""
    family, path = find(task), picture_path(save) if save else None
    count = contexts or ("inf" if family.many_contexts else "1")
    family.check_settings(task, contexts=count)
    if context is not None:
        check_integer("--context", context, 0)
    agent, album = make_agent(agent_name, family, task, seed), family.album()
    env = family.make_env(task, contexts=count, seed=seed)
    try:
        limit = MOST_STEPS if steps is None else steps
        moments = list(episode(env, agent, album, list(family.action_names(task)), limit, context))
    finally:
        env.close()
    last = moments[-1]
    if path is not None:
        video = Video(album)
        for moment in moments:
            video.add(moment.step, moment.status(), hold=moment is last)
        video.save(path, delay)
    else:
        _show(moments, album, delay)
    how = last.outcome or "unfinished"
    name = family.canonical_name(task)
    print(f"{name} context {last.context}: {how} after {last.step} steps, return {last.total_reward:.2f}")
    if path is not None:
        print(f"saved {path}")
    elif not album.text(last.step, 80, colour=False):
        print("a terminal cannot show its pictures: `--save episode.mp4` saves a video")


def _show(moments: list[Moment], album: Album, delay: float) -> None:
    """Draw every moment in place if the terminal has room for the picture, or else print the last one."""
    columns, rows = shutil.get_terminal_size()
    last = moments[-1]
    plain = album.text(last.step, columns, colour=False)
    fits = len(plain) + 2 <= rows and all(len(line) <= columns for line in plain)
    if not (plain and fits and sys.stdout.isatty()):
        print("\n".join([*plain, last.status()]))
        return
    with LiveLines() as screen:
        for moment in moments:
            screen.show([*album.text(moment.step, columns, colour=True), moment.status()[:columns]])
            if moment is not last:
                time.sleep(delay)
