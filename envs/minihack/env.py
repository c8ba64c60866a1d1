"""One MiniHack task as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack.contexts import ContextCount, Contexts, check_context
from bonuslab.envs.minihack.episode import Episode
from bonuslab.envs.minihack.levels import Level
from bonuslab.envs.minihack.spaces import action_space, check_action, observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task

Observation = dict[str, np.ndarray]


class MiniHackEnv(gym.Env[Observation, int]):
    """A task with its contexts. `info` carries the context's id and the end status of the episode."""

    metadata = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 8,
    }

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
        """`task` with so many `contexts`, drawn from `seed`; see `Contexts` for `held_out` and `stream`."""
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise unknown("render mode", render_mode, modes)
        self.task = find_task(task)
        self.contexts = Contexts(contexts, seed, held_out=held_out, stream=stream)
        self.observation_space = observation_space()
        self.action_space: gym.spaces.Discrete = action_space(self.task)  # type: ignore[assignment]
        self.render_mode = render_mode
        self._episode = Episode(self.task, max_steps, penalty_step=penalty_step)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode on the next context, or on the one of `options={"context": id}`.

        `seed` restarts the sequence of contexts: the same seed gives the same sequence. It does not change which
        contexts a finite set holds; that is a matter of the constructor's seed.
        """
        for key in options or {}:
            if key != "context":
                raise unknown("reset option", key, ["context"])
        wanted = None if not options or options["context"] is None else check_context(options["context"])
        if seed is not None:
            self.contexts.reseed(seed)
        super().reset(seed=seed)
        self._episode.begin(self.contexts.draw() if wanted is None else wanted)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        number = check_action(action, self.task)
        if self._episode.status != "running":
            state = "before the first reset" if self._episode.context is None else "after the end of the episode"
            raise InvalidInput(f"step {state}: call reset() first")
        reward = self._episode.step(number)
        status = self._episode.status
        truncated = status == "step_limit"
        return self._observation(), reward, status != "running" and not truncated, truncated, self._info()

    @property
    def level(self) -> Level | None:
        """The level of the running episode, with its map where that is fixed."""
        return self._episode.level

    @property
    def max_steps(self) -> int:
        """The step limit."""
        return self._episode.max_steps

    def render(self) -> Any:
        """The map as coloured text or as a picture [H, W, 3], by `render_mode`."""
        from bonuslab.envs.minihack import render  # pictures need fonts and tiles, which few users of the env do

        shown = self._episode.observation
        message = render.message_text(shown["message"])
        if self.render_mode == "ansi":
            return "\n".join([message, *render.text_lines(shown["glyphs"], render.agent_cell(shown["blstats"]))])
        if self.render_mode == "rgb_array":
            return render.frame(shown["glyphs"], shown["blstats"], message, render.status_text(shown["blstats"]))
        return None

    def get_state(self) -> dict[str, Any]:
        """Everything `set_state` needs to go on exactly; can be pickled."""
        return {"task": self.task.name, "episode": self._episode.get_state(), "contexts": self.contexts.get_state()}

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Go on where `get_state` was called, by playing the episode again; the observation of that moment."""
        if state["task"] != self.task.name:
            raise InvalidInput(f"a state of {state['task']} does not fit {self.task.name}")
        self.contexts.set_state(state["contexts"])
        self._episode.set_state(state["episode"])
        return self._observation()

    def close(self) -> None:
        """Give back memory, file and directory. A second call does nothing."""
        if hasattr(self, "_episode"):
            self._episode.close()

    def _observation(self) -> Observation:
        return {key: array.copy() for key, array in self._episode.observation.items()}

    def _info(self) -> dict[str, Any]:
        return {"context": self._episode.context, "end_status": self._episode.status}


def make(task: str | Task, contexts: ContextCount = "inf", seed: int = 0, **settings: Any) -> MiniHackEnv:
    """An environment of `task`; `settings` are those of `MiniHackEnv`."""
    return MiniHackEnv(task, contexts, seed, **settings)
