"""Many games of Montezuma's Revenge stepped together, in this process or in several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.montezuma.episode import Rules
from bonuslab.envs.montezuma.game import NUM_ROOMS
from bonuslab.envs.montezuma.group import Group, GroupPlan, GroupStep, LocalGroup
from bonuslab.envs.montezuma.remote import RemoteGroup, SharedObservations
from bonuslab.envs.montezuma.seeds import CONTEXT, check_contexts, env_seed
from bonuslab.envs.montezuma.spaces import action_space, check_action, observation_buffers, observation_space
from bonuslab.envs.vector_env import Observations, VectorStep, actions_of_all, check_num_envs, hand_out


class MontezumaVectorEnv:
    """N environments of the game; see `bonuslab.envs.vector_env.VectorEnv`.

    The game itself has no randomness: envs differ by their actions and by which of them stick, which env i takes from
    the stream (stream, i), whatever the other envs and `processes` are. Rewards are the game's points; clipping them
    is the algorithm's business (`reward_clip`). An episode's metrics are `rooms` (visited in this episode),
    `rooms_ever` (in all episodes of these environments; of several workers results have the largest) and `level`.
    """

    def __init__(
        self,
        num_envs: int,
        contexts: int | str | None = 1,
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int = 0,
        processes: int = 0,
        **rules: Any,
    ) -> None:
        """`processes` more of them share the environments (0: all in this one); `rules` are the fields of `Rules`."""
        self.num_envs = check_num_envs(num_envs)
        check_contexts(contexts)
        self.rules = Rules(**rules)
        self.observation_space: gym.spaces.Dict = observation_space()
        self.action_space: gym.spaces.Discrete = action_space()
        self._rooms_ever: set[int] = set()
        self._started = False
        seeds = [env_seed(seed, held_out, stream, env_index) for env_index in range(self.num_envs)]
        count = min(check_processes(processes), self.num_envs)
        borders = [env_index * self.num_envs // max(count, 1) for env_index in range(max(count, 1) + 1)]
        self._slices = [slice(begin, end) for begin, end in pairwise(borders)]
        plans = [GroupPlan(self.rules, part.start, tuple(seeds[part])) for part in self._slices]
        self._shared = SharedObservations(self.num_envs) if count else None
        self._groups: list[Group] = []
        if self._shared is None:
            self._observations = observation_buffers(self.num_envs)
            self._groups.append(LocalGroup(plans[0], self._observations))
            return
        self._observations = self._shared.arrays
        try:
            for plan in plans:
                self._groups.append(RemoteGroup(plan, self._shared))
            self._answers()
        except BaseException:
            self.close()
            raise

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the one context there is, -1 before the first episode."""
        return np.full(self.num_envs, CONTEXT if self._started else -1, np.int64)

    @property
    def rooms_ever(self) -> frozenset[int]:
        """Numbers of all rooms that any environment has visited."""
        return frozenset(self._rooms_ever)

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every environment."""
        self._ask("reset")
        self._started = True
        return hand_out(self._observations, out)

    def step(self, actions: np.ndarray | Sequence[int], out: Observations | None = None) -> VectorStep:
        """Take one action in every environment."""
        asked = actions_of_all(actions, self.num_envs, self._started)
        chosen = [check_action(action) for action in asked.tolist()]
        parts: list[GroupStep] = self._ask("step", [chosen[part] for part in self._slices])
        finished = [episode for part in parts for episode in part.finished]
        rooms = [*self._observations["room"].flat, *(episode.final_observation["room"][0] for episode in finished)]
        self._rooms_ever.update(int(room) for room in rooms if room < NUM_ROOMS)
        for episode in finished:
            episode.metrics["rooms_ever"] = float(len(self._rooms_ever))
        return VectorStep(
            hand_out(self._observations, out),
            np.concatenate([part.reward for part in parts]),
            np.concatenate([part.terminated for part in parts]),
            np.concatenate([part.truncated for part in parts]),
            finished,
        )

    def get_state(self) -> dict[str, Any]:
        """The emulator's state, the frames and the random numbers of every environment: about 12 kB each."""
        states = [state for part in self._ask("get_state") for state in part]
        return {"envs": states, "rules": self.rules, "rooms_ever": sorted(self._rooms_ever), "started": self._started}

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Put every emulator where it was."""
        if len(state["envs"]) != self.num_envs or state["rules"] != self.rules:
            raise InvalidInput(
                f"a state of {len(state['envs'])} environments with {state['rules']} does not fit "
                f"{self.num_envs} environments with {self.rules}"
            )
        self._ask("set_state", [state["envs"][part] for part in self._slices])
        self._rooms_ever, self._started = set(state["rooms_ever"]), state["started"]
        return hand_out(self._observations, out)

    def close(self) -> None:
        """End all emulators and processes. A second call does nothing."""
        for group in self._groups:
            group.close()
        if self._shared is not None:
            self._shared.close()
        self._groups, self._shared, self._started = [], None, False

    def _ask(self, method: str, arguments: Iterable[Any] | None = None) -> list[Any]:
        for group, argument in zip(self._groups, arguments or [None] * len(self._groups), strict=True):
            group.send(method, argument)
        return self._answers()

    def _answers(self) -> list[Any]:
        return [group.receive() for group in self._groups]


def check_processes(processes: object) -> int:
    """`processes` as a number."""
    if isinstance(processes, bool) or not isinstance(processes, int | np.integer) or processes < 0:
        raise InvalidInput(f"processes {processes!r} cannot be used; allowed: whole numbers from 0")
    return int(processes)
