"""Many envs of one game stepped together, in this process or in child processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.atari.episode import Rules
from bonuslab.envs.atari.game import game_actions
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.group import EnvGroup, GroupSpec, GroupStep, LocalGroup
from bonuslab.envs.atari.remote import RemoteGroup, SharedObservations
from bonuslab.envs.atari.seeds import CONTEXT, check_contexts, env_seed
from bonuslab.envs.atari.spaces import observation_buffers, observation_space
from bonuslab.envs.errors import InvalidInput, check_integer
from bonuslab.envs.vector_env import FinishedEpisode, Observations, VectorStep, check_action, check_actions, write_out


class AtariVectorEnv:
    """N envs of a game; see `bonuslab.envs.vector_env.VectorEnv`.

    The game itself is deterministic: envs differ only in their actions and in which of them stick, drawn by env i from
    the stream (stream, i), whatever the other envs and `processes` are. Rewards are the game's points, unclipped (see
    the algorithms' `reward_clip`). Where the game's memory is known, an episode's metrics are `rooms` (visited in this
    episode) and `level`; it has `seen` the rooms of all envs and episodes so far.
    """

    def __init__(
        self,
        name: str,
        num_envs: int,
        contexts: int | str | None = 1,
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int = 0,
        processes: int = 0,
        **rules: Any,
    ) -> None:
        """`processes` child processes share the envs (0: all run in this one); `rules` are the fields of `Rules`."""
        self.num_envs = check_integer("num_envs", num_envs, 1)
        self.game = find_game(name)
        check_contexts(contexts, self.game.name)
        self.rules = Rules(**rules)
        self.observation_space: gym.spaces.Dict = observation_space(self.game)
        self._actions = tuple(game_actions(self.game))
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(self._actions))
        self._rooms_ever: set[int] = set()
        self._started = False
        seeds = [env_seed(seed, held_out, stream, env_index) for env_index in range(self.num_envs)]
        num_children = min(check_integer("processes", processes, 0), self.num_envs)
        num_groups = max(num_children, 1)
        borders = [group * self.num_envs // num_groups for group in range(num_groups + 1)]
        self._slices = [slice(begin, end) for begin, end in pairwise(borders)]
        specs = [GroupSpec(self.game, self.rules, part.start, tuple(seeds[part])) for part in self._slices]
        self._shared = SharedObservations(self.game, self.num_envs) if num_children else None
        self._groups: list[EnvGroup] = []
        if self._shared is None:
            self._observations = observation_buffers(self.game, self.num_envs)
            self._groups.append(LocalGroup(specs[0], self._observations))
            return
        self._observations = self._shared.arrays
        try:
            for spec in specs:
                self._groups.append(RemoteGroup(spec, self._shared))
            self._answers()
        except BaseException:
            self.close()
            raise

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: always the same context, -1 before the first episode."""
        return np.full(self.num_envs, CONTEXT if self._started else -1, np.int64)

    @property
    def rooms_ever(self) -> frozenset[int]:
        """All rooms that any env has visited; none in games whose memory is not known."""
        return frozenset(self._rooms_ever)

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every env."""
        self._call("reset")
        self._started = True
        return write_out(self._observations, out)

    def step(self, actions: np.ndarray | Sequence[int], out: Observations | None = None) -> VectorStep:
        """Take one action in every env."""
        given = check_actions(actions, self.num_envs, self._started)
        chosen = [check_action(action, self._actions, self.game.name) for action in given.tolist()]
        steps: list[GroupStep] = self._call("step", [chosen[part] for part in self._slices])
        *arrays, endings = zip(*steps, strict=True)
        reward, terminated, truncated = map(np.concatenate, arrays)
        finished = [episode for episodes in endings for episode in episodes]
        self._see_rooms(finished)
        return VectorStep(write_out(self._observations, out), reward, terminated, truncated, finished)

    def get_state(self) -> dict[str, Any]:
        """Emulator state, frames and random state of every env: about 12 kB each."""
        states = [state for part in self._call("get_state") for state in part]
        rooms = sorted(self._rooms_ever)
        ours = {"game": self.game, "rules": self.rules, "rooms_ever": rooms, "started": self._started}
        return {"envs": states, **ours}

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Restore every emulator."""
        theirs = (len(state["envs"]), state["game"], state["rules"])
        if theirs != (self.num_envs, self.game, self.rules):
            raise InvalidInput(
                f"a state of {theirs[0]} envs of {theirs[1].name} with {theirs[2]} does not fit "
                f"{self.num_envs} envs of {self.game.name} with {self.rules}"
            )
        self._call("set_state", [state["envs"][part] for part in self._slices])
        self._rooms_ever, self._started = set(state["rooms_ever"]), state["started"]
        return write_out(self._observations, out)

    def close(self) -> None:
        """Release all emulators and processes; idempotent."""
        for group in self._groups:
            group.close()
        if self._shared is not None:
            self._shared.close()
        self._groups, self._shared, self._started = [], None, False

    def _see_rooms(self, finished: Sequence[FinishedEpisode]) -> None:
        if self.game.memory is None:
            return
        rooms = [*self._observations["room"].flat, *(episode.final_observation["room"][0] for episode in finished)]
        self._rooms_ever.update(int(room) for room in rooms if room < self.game.memory.num_rooms)
        for episode in finished:
            episode.seen["rooms"] = self.rooms_ever

    def _call(self, method: str, arguments: Iterable[Any] | None = None) -> list[Any]:
        for group, argument in zip(self._groups, arguments or [None] * len(self._groups), strict=True):
            group.send(method, argument)
        return self._answers()

    def _answers(self) -> list[Any]:
        return [group.receive() for group in self._groups]
