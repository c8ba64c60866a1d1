"""A MiniHack task as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.episode import MiniHackEpisode
from bonuslab.envs.minihack.levels import Level
from bonuslab.envs.minihack.randomness import check_context
from bonuslab.envs.minihack.spaces import observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task
from bonuslab.envs.vector_env import check_action

Observation = dict[str, np.ndarray]


class MiniHackEnv(gym.Env[Observation, int]):
    """A task with its contexts. `info` has the `context` id and the `end_status` of the episode."""

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
        render_mode: str | None = None,
    ) -> None:
        """`task` with `contexts` contexts drawn from `seed`; see `ContextSampler` for `stream`."""
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise unknown("render mode", render_mode, self.metadata["render_modes"])
        self.task = find_task(task)
        self.contexts = MiniHackContexts(contexts, seed, held_out=held_out, stream=stream)
        self.observation_space = observation_space()
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(self.task.keys))  # type: ignore[assignment]
        self.render_mode = render_mode
        self._episode = MiniHackEpisode(self.task, max_steps, penalty_step=penalty_step)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode on the next context, or on that of `options={"context": id}`.

        `seed` restarts the sequence of contexts. It does not change a finite set, which depends on the constructor's
        seed.
        """
        for key in options or {}:
            if key != "context":
                raise unknown("reset option", key, ["context"])
        chosen = options.get("context") if options else None
        context = None if chosen is None else check_context(chosen)
        if seed is not None:
            self.contexts.reseed(seed)
        super().reset(seed=seed)
        self._episode.begin(self.contexts.draw() if context is None else context)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        index = check_action(action, self.task.action_names, self.task.name)
        if self._episode.status != "running":
            state = "before the first reset" if self._episode.context is None else "after the end of the episode"
            raise InvalidInput(f"step {state}: call reset() first")
        reward = self._episode.step(index)
        status = self._episode.status
        truncated = status == "step_limit"
        return self._observation(), reward, status != "running" and not truncated, truncated, self._info()

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

    def get_state(self) -> dict[str, Any]:
        """Picklable state from which `set_state` resumes exactly."""
        return {"task": self.task.name, "episode": self._episode.get_state(), "contexts": self.contexts.get_state()}

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Replay the episode up to where `get_state` was called and return the observation at that point."""
        if state["task"] != self.task.name:
            raise InvalidInput(f"a state of {state['task']} does not fit {self.task.name}")
        self.contexts.set_state(state["contexts"])
        self._episode.set_state(state["episode"])
        return self._observation()

    def close(self) -> None:
        """Release memory, file and directory; idempotent."""
        if hasattr(self, "_episode"):
            self._episode.close()

    def _observation(self) -> Observation:
        return {key: array.copy() for key, array in self._episode.observation.items()}

    def _info(self) -> dict[str, Any]:
        return {"context": self._episode.context, "end_status": self._episode.status}


def make(task: str | Task, contexts: ContextCount = "inf", seed: int = 0, **settings: Any) -> MiniHackEnv:
    """An environment of `task`; see `MiniHackEnv` for `settings`."""
    return MiniHackEnv(task, contexts, seed, **settings)
