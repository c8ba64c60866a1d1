"""A MiniHack task as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.episode_env import EpisodeEnv
from bonuslab.envs.minihack.contexts import make_contexts
from bonuslab.envs.minihack.episode import MiniHackEpisode
from bonuslab.envs.minihack.levels import Level
from bonuslab.envs.minihack.randomness import check_context
from bonuslab.envs.minihack.spaces import observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task
from bonuslab.envs.vector_env import check_action


class MiniHackEnv(EpisodeEnv):
    """A task with its contexts."""

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        task: str | Task,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int | Sequence[int] = 0,
        max_steps: int | None = None,
        penalty_step: float | None = None,
        winnable_within: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """`task` with `contexts` contexts drawn from `seed`; see `ContextSampler` for `stream`.

        `winnable_within`: a finite set has only maps that the scripted explorer wins within so many steps.
        """
        super().__init__(render_mode)
        self.task = find_task(task)
        self._name = self.task.name
        self.contexts = make_contexts(self.task, contexts, seed, winnable_within, held_out=held_out, stream=stream)
        self.observation_space = observation_space()
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(self.task.keys))  # type: ignore[assignment]
        self._episode = MiniHackEpisode(self.task, max_steps, penalty_step=penalty_step)

    @property
    def level(self) -> Level | None:
        """The level of the current episode."""
        return self._episode.level

    @property
    def max_steps(self) -> int:
        """The step limit."""
        return self._episode.max_steps

    def render(self) -> Any:
        """The map as coloured text or as a picture [H, W, 3], depending on `render_mode`."""
        from bonuslab.envs.minihack import render  # loads fonts and tiles, which few users need

        shown = self._episode.observation
        message = render.message_text(shown["message"])
        if self.render_mode == "ansi":
            return "\n".join([message, *render.text_lines(shown["glyphs"], render.agent_cell(shown["blstats"]))])
        if self.render_mode == "rgb_array":
            return render.frame(shown["glyphs"], shown["blstats"], message, render.status_text(shown["blstats"]))
        return None

    def _check_context(self, context: object) -> int:
        return check_context(context)

    def _check_action(self, action: object) -> int:
        return check_action(action, self.task.action_names, self.task.name)


def make(task: str | Task, contexts: ContextCount = "inf", seed: int = 0, **settings: Any) -> MiniHackEnv:
    """An environment of `task`; see `MiniHackEnv` for `settings`."""
    return MiniHackEnv(task, contexts, seed, **settings)
