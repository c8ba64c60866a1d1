"""One environment with contexts behind Gymnasium's API."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextSampler
from bonuslab.envs.errors import InvalidInput, unknown

Observation = dict[str, np.ndarray]


class EpisodeEnv(gym.Env[Observation, int]):
    """Plays a `ReplayableEpisode`. `info` has the `context` id and the `end_status` of the episode."""

    contexts: ContextSampler
    _name: str
    _episode: Any

    def __init__(self, render_mode: str | None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise unknown("render mode", render_mode, modes)
        self.render_mode = render_mode

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
        context = None if chosen is None else self._check_context(chosen)
        self._begin(context, seed)
        super().reset(seed=seed)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        checked = self._check_action(action)
        if self._episode.status != "running":
            state = "before the first reset" if self._episode.context is None else "after the end of the episode"
            raise InvalidInput(f"step {state}: call reset() first")
        reward = self._episode.step(checked)
        truncated = self._is_truncated()
        ended = self._episode.status != "running"
        return self._observation(), reward, ended and not truncated, truncated, self._info()

    def get_state(self) -> dict[str, Any]:
        """Picklable state from which `set_state` resumes exactly."""
        return {"name": self._name, "episode": self._episode.get_state(), "contexts": self.contexts.get_state()}

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Resume from `get_state` and return the observation at that point."""
        if state["name"] != self._name:
            raise InvalidInput(f"a state of {state['name']} does not fit {self._name}")
        self.contexts.set_state(state["contexts"])
        self._episode.set_state(state["episode"])
        return self._observation()

    def close(self) -> None:
        """Release all resources; idempotent."""
        if hasattr(self, "_episode"):
            self._episode.close()

    @abstractmethod
    def _check_context(self, context: object) -> int:
        """`context` as an int; rejects what is no context id."""

    @abstractmethod
    def _check_action(self, action: object) -> Any:
        """`action` as the episode takes it; rejects invalid ones."""

    def _is_truncated(self) -> bool:
        return self._episode.status == "step_limit"

    def _begin(self, context: int | None, seed: int | None) -> None:
        if seed is not None:
            self.contexts.reseed(seed)
        self._episode.begin(self.contexts.draw() if context is None else context)

    def _observation(self) -> Observation:
        return {key: array.copy() for key, array in self._episode.observation.items()}

    def _info(self) -> dict[str, Any]:
        return {"context": self._episode.context, "end_status": self._episode.status}
