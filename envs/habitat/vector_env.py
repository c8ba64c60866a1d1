"""Steps N environments in one process."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.errors import check_integer
from bonuslab.envs.habitat.backends import find_scenes
from bonuslab.envs.habitat.contexts import HabitatContexts, choose_scene_steps
from bonuslab.envs.habitat.coverage import COVERAGES
from bonuslab.envs.habitat.episode import HabitatEpisode
from bonuslab.envs.habitat.simulator import Action, Scenes, SimulatorDied
from bonuslab.envs.habitat.spaces import (
    action_space,
    check_action,
    check_flag,
    check_size,
    observation_buffers,
    observation_space,
)
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv
from bonuslab.envs.vector_env import TRUNCATIONS, FinishedEpisode, Observations, VectorStep, write_out

MOST_DEATHS: Final = 3
"""Deaths of an env's simulator without a whole episode in between, after which the env gives up."""


class HabitatVectorEnv(ReplayedVectorEnv):
    """N environments of one back end; see `bonuslab.envs.vector_env.VectorEnv`.

    Env i draws its contexts from the stream (stream, i), so it plays the same episodes as a single env with that
    stream. Simulators write directly into the arrays [N, ...]; `out` costs one copy. Scenes load in parallel. `metrics`
    has the coverage, and `seen` one number for each time a simulator died and was restarted.
    """

    _episodes: list[HabitatEpisode]  # type: ignore[assignment]

    def __init__(
        self,
        backend: str | Scenes,
        num_envs: int,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        size: int = 128,
        held_out: bool = False,
        split: str | None = None,
        stream: int = 0,
        max_steps: int | None = None,
        stop_ends_episode: bool = False,
        coverage: str = COVERAGES[0],
        scene_steps: int | None = None,
        stagger: bool | None = None,
        **data: Any,
    ) -> None:
        """See `HabitatEnv`.

        `stagger` shortens the first episode of all envs but the last, so that they do not all end, and load scenes, on
        the same step; by default where scenes are slow to load, but not on held-out contexts.
        """
        envs = check_integer("num_envs", num_envs, 1)
        self.scenes = find_scenes(backend, **data)
        self.size = check_size(size)
        self.observation_space: gym.spaces.Dict = observation_space(self.size)
        self.action_space: gym.spaces.Discrete = action_space()
        steps_in_scene = choose_scene_steps(scene_steps, self.scenes, held_out)
        default = self.scenes.scene_steps > 0 and not held_out
        self._stagger = default if stagger is None else check_flag("stagger", stagger)
        self._beginning: dict[int, int] = {}
        """Env index -> context of an episode whose scene is loading."""
        self._deaths = [0] * envs
        self._restarts: set[int] = set()
        samplers = [
            HabitatContexts(
                self.scenes,
                contexts,
                seed,
                held_out=held_out,
                split=split,
                stream=(stream, env_index),
                scene_steps=steps_in_scene,
            )
            for env_index in range(envs)
        ]
        super().__init__(
            self.scenes.name,
            samplers,
            observation_buffers(envs, self.size),
            lambda buffers: HabitatEpisode(self.scenes, self.size, max_steps, stop_ends_episode, buffers, coverage),
        )

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every env."""
        super().reset()
        self._finish_beginning(staggered=self._stagger)
        return write_out(self._observations, out)

    def step(self, actions: np.ndarray | Sequence[int], out: Observations | None = None) -> VectorStep:
        """Take one action in every env; an env whose simulator has died begins a new episode."""
        step = super().step(actions)
        self._finish_beginning()
        return replace(step, observations=write_out(self._observations, out))

    def _check_actions(self, actions: np.ndarray) -> list[Action]:
        return [check_action(action) for action in actions.tolist()]

    def _prefetch(self, actions: list[Action]) -> None:
        for episode, action in zip(self._episodes, actions, strict=True):
            episode.prefetch(action)

    def _begin(self, env_index: int) -> None:
        """Start to load the next scene; `_finish_beginning` waits for it."""
        sampler, episode = cast(HabitatContexts, self._samplers[env_index]), self._episodes[env_index]
        with self._locating_errors(env_index):
            if episode.status == "simulator_died":
                self._count_death(env_index, episode.death)
            elif episode.status != "running":
                self._deaths[env_index] = 0
            sampler.spend(episode.length)
            self._beginning[env_index] = context = sampler.draw()
            episode.prefetch_begin(context)

    def _finish_beginning(self, staggered: bool = False) -> None:
        while self._beginning:
            env_index, context = self._beginning.popitem()
            episode, sampler = self._episodes[env_index], cast(HabitatContexts, self._samplers[env_index])
            limit = -(-episode.max_steps * (env_index + 1) // self.num_envs) if staggered else None
            with self._locating_errors(env_index):
                try:
                    episode.begin(context, limit)
                except SimulatorDied as death:  # perhaps of this scene: try another
                    self._count_death(env_index, str(death))
                    sampler.leave_scene()
                    self._beginning[env_index] = sampler.draw()

    def _count_death(self, env_index: int, message: str) -> None:
        """Give up if the simulator dies again and again."""
        self._deaths[env_index] += 1
        if self._deaths[env_index] >= MOST_DEATHS:
            raise SimulatorDied(message)
        self._restarts.add(secrets.randbits(62))

    def _is_truncated(self, episode: HabitatEpisode) -> bool:
        return episode.status in TRUNCATIONS

    def _finished(self, env_index: int) -> FinishedEpisode:
        finished = super()._finished(env_index)
        if self.scenes.name == "hm3d":
            finished.seen = {"simulator_restarts": frozenset(self._restarts)}
        return finished

    def _metrics(self, episode: HabitatEpisode) -> dict[str, float]:
        return {"coverage": episode.coverage}
