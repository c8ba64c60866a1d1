"""Reward-free exploration of houses as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.episode_env import EpisodeEnv
from bonuslab.envs.habitat.backends import find_scenes
from bonuslab.envs.habitat.contexts import HabitatContexts, check_context, choose_scene_steps, scene_and_start
from bonuslab.envs.habitat.coverage import COVERAGES
from bonuslab.envs.habitat.episode import HabitatEpisode
from bonuslab.envs.habitat.simulator import Action, NavigableMap, Pose, Scenes
from bonuslab.envs.habitat.spaces import action_space, check_action, check_size, observation_space
from bonuslab.envs.vector_env import TRUNCATIONS


class HabitatEnv(EpisodeEnv):
    """Episodes in the scenes of one back end.

    The reward is always 0. `info` also has the scene and the coverage so far.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        backend: str | Scenes = "apartments",
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        size: int = 128,
        held_out: bool = False,
        split: str | None = None,
        stream: int | Sequence[int] = 0,
        max_steps: int | None = None,
        stop_ends_episode: bool = False,
        coverage: str = COVERAGES[0],
        scene_steps: int | None = None,
        render_mode: str | None = None,
        **data: Any,
    ) -> None:
        """Contexts are drawn from `seed`; see `HabitatContexts`. `data` locates HM3D; see `HM3DScenes`.

        `stop_ends_episode`: see `HabitatEpisode`. `coverage`: `sight` or `released`. `scene_steps`: None for the back
        end's own, and 0, a new scene every episode, on held-out contexts.
        """
        super().__init__(render_mode)
        self.scenes = find_scenes(backend, **data)
        self._name = self.scenes.name
        self.contexts: HabitatContexts = HabitatContexts(
            self.scenes,
            contexts,
            seed,
            held_out=held_out,
            split=split,
            stream=stream,
            scene_steps=choose_scene_steps(scene_steps, self.scenes, held_out),
        )
        self.observation_space = observation_space(check_size(size))
        self.action_space: gym.spaces.Discrete = action_space()  # type: ignore[assignment]
        self._episode = HabitatEpisode(self.scenes, size, max_steps, stop_ends_episode, coverage=coverage)

    @property
    def coverage(self) -> float:
        """Revealed area over total navigable area, in this episode so far."""
        return self._episode.coverage

    @property
    def map(self) -> NavigableMap:
        """The navigable floor of the current episode."""
        return self._episode.map

    def from_above(self) -> np.ndarray | None:
        """Top view [H, W, 3] of the house without its ceiling, to the extent of `map`; None if there is none."""
        assert self._episode.context is not None
        return self.scenes.from_above(scene_and_start(self._episode.context)[0])

    @property
    def revealed(self) -> np.ndarray:
        """[rows, columns] bool: the cells of `map` that have been seen."""
        return self._episode.revealed

    @property
    def path(self) -> list[Pose]:
        """The agent's poses in this episode, from the start."""
        return list(self._episode.path)

    @property
    def max_steps(self) -> int:
        """The step limit."""
        return self._episode.max_steps

    def render(self) -> Any:
        """The agent's view next to the map of what it has seen [H, W, 3]."""
        from bonuslab.envs.habitat.render import depth_picture, frame  # rarely used: saves importing PIL

        if self.render_mode != "rgb_array":
            return None
        shown = self._episode.observation
        views = [shown["rgb"], depth_picture(shown["depth"])]
        return frame(views, self.map, self.revealed, self.path, self.coverage, background=self.from_above())

    def _is_truncated(self) -> bool:
        return self._episode.status in TRUNCATIONS

    def _begin(self, context: int | None, seed: int | None) -> None:
        self.contexts.spend(self._episode.length)
        super()._begin(context, seed)

    def _check_context(self, context: object) -> int:
        return check_context(context, self.scenes)

    def _check_action(self, action: object) -> Action:
        return check_action(action)

    def _info(self) -> dict[str, Any]:
        context = self._episode.context
        assert context is not None
        return {
            "context": context,
            "scene": self.scenes.scene_name(scene_and_start(context)[0]),
            "coverage": self._episode.coverage,
            "end_status": self._episode.status,
        }
