"""One episode of a random or scripted agent, shown in the terminal or saved."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import unknown
from bonuslab.envs.minihack import MiniHackEnv, Task, make, render, task
from bonuslab.envs.minihack.album import MiniHackAlbum
from bonuslab.envs.minihack.explorer import Explorer
from bonuslab.envs.minihack.randomness import check_context
from bonuslab.platform.cli.play import AGENTS
from bonuslab.platform.pictures.live_lines import LiveLines
from bonuslab.platform.pictures.video import Video, picture_path

Observation = dict[str, np.ndarray]


class Agent(Protocol):
    """Plays one episode."""

    def act(self, observation: Observation) -> int:
        """The next action."""


class RandomAgent:
    """Uniformly random actions."""

    def __init__(self, num_actions: int, seed: int) -> None:
        self._num_actions = num_actions
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> int:
        """The next action."""
        return int(self._rng.integers(self._num_actions))


def make_agent(name: str, of_task: Task, seed: int) -> Agent:
    """An agent by name."""
    if name == "random":
        return RandomAgent(len(of_task.actions), seed)
    if name == "scripted":
        return Explorer(of_task.actions, seed)
    raise unknown("agent", name, AGENTS)


@dataclass(frozen=True)
class Moment:
    """One step of an episode."""

    observation: Observation
    context: int
    step: int
    action: str
    """Name of the action that led here; empty at the start."""
    total_reward: float
    outcome: str
    """How the episode ended; empty before its end."""

    def status(self) -> str:
        """The status line below the map."""
        parts = [
            f"step {self.step}",
            f"return {self.total_reward:.2f}",
            render.status_text(self.observation["blstats"]),
        ]
        return "   ".join([*parts, self.outcome or self.action])


def episode(env: MiniHackEnv, agent: Agent, max_steps: int, context: int | None) -> Iterator[Moment]:
    """Play, yielding every moment from the first observation on."""
    observation, info = env.reset(options={"context": context})
    context = int(info["context"])
    total, outcome = 0.0, ""
    shown = observation
    yield Moment(shown, context, 0, "", total, outcome)
    for step in range(1, max_steps + 1):
        action = agent.act(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        if observation["blstats"].any():  # all zero after a death, as are the map and the message
            shown = observation
        if terminated or truncated:
            outcome = str(info["end_status"]).replace("_", " ")
        yield Moment(shown, context, step, env.task.action_names[action], total, outcome)
        if outcome:
            return


def play_episode(
    task_name: str,
    agent_name: str,
    context: int | None,
    contexts: str,
    seed: int,
    steps: int | None,
    delay: float,
    save: str | None,
) -> None:
    """Play one episode and print how it ended; everything is checked before the game starts."""
    of_task, path = task(task_name), picture_path(save) if save else None
    parse_count(contexts)
    if context is not None:
        check_context(context)
    agent = make_agent(agent_name, of_task, seed)
    env = make(of_task, contexts=contexts, seed=seed)
    try:
        moments = episode(env, agent, of_task.max_steps if steps is None else steps, context)
        if path is not None:
            last = _save(moments, path, delay)
        elif sys.stdout.isatty() and _fits():
            last = _draw_in_place(moments, delay)
        else:
            last = _print_last(moments)
    finally:
        env.close()
    how = last.outcome or "unfinished"
    print(f"{of_task.name} context {last.context}: {how} after {last.step} steps, return {last.total_reward:.2f}")
    if path is not None:
        print(f"saved {path}")


def _save(moments: Iterator[Moment], path: Path, delay: float) -> Moment:
    album = MiniHackAlbum()
    video = Video(album)
    for moment in moments:
        album.add(moment.observation)
        video.add(moment.step, moment.status())
    video.save(path, delay)
    return moment


def _fits() -> bool:
    """Whether the terminal can show the whole map with a line above and two below, as redrawing in place needs."""
    columns, lines = shutil.get_terminal_size()
    return columns >= 79 and lines >= 24


def _draw_in_place(moments: Iterator[Moment], delay: float) -> Moment:
    with LiveLines() as screen:
        for moment in moments:
            glyphs, blstats = moment.observation["glyphs"], moment.observation["blstats"]
            picture = render.text_lines(glyphs, render.agent_cell(blstats))
            screen.show([render.message_text(moment.observation["message"]), *picture, moment.status()])
            if not moment.outcome:
                time.sleep(delay)
    return moment


def _print_last(moments: Iterator[Moment]) -> Moment:
    for moment in moments:
        last = moment
    glyphs = last.observation["glyphs"]
    picture = render.text_lines(glyphs, box=render.used_part(glyphs, margin=0), colour=False)
    print("\n".join([render.message_text(last.observation["message"]), *picture, last.status()]))
    return last
