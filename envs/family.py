"""The interface of a family of environments, and of the album that draws its episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import unknown
from bonuslab.envs.vector_env import VectorEnv

COMMON_SETTINGS = ("contexts", "seed", "held_out", "stream")
"""Settings that every family has; see `Family.make_vector_env`."""


class Album(Protocol):
    """Records snapshots of one or more episodes and draws them later.

    A snapshot is taken after every reset and step; snapshots are numbered from 0 in the order added.
    """

    steps_per_frame: int
    """Episode steps per video frame."""
    colours: np.ndarray
    """[n, 3] uint8: colours that a 256-colour video must keep."""
    has_more_colours: bool
    """Whether its pictures have others too."""

    def add(self, observation: dict[str, np.ndarray], env: Any) -> str:
        """Take a snapshot of `env`, which returned `observation`, and describe it in a few words."""
        ...

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Captioned RGB pictures [H, W, 3], all of one size, of some snapshots: (number, caption), in rising order."""
        ...

    def summary(self, caption: str) -> np.ndarray:
        """Captioned RGB picture [H, W, 3] of the last episode."""
        ...

    def text(self, snapshot: int, width: int, colour: bool) -> list[str]:
        """A snapshot as text for a terminal `width` columns wide; empty if text cannot show it."""
        ...


ScriptedAgent = Callable[[dict[str, np.ndarray], Any], int]
"""(observation, environment of `Family.make_env`) -> action."""


class Family(Protocol):
    """Environments that share a naming scheme and an implementation.

    A family is one module, `envs/<family>/family.py`, with an object `FAMILY` of this type; `envs/catalogue.py` maps
    names to families. Invalid user input raises `InvalidInput` here, before anything is started.
    """

    name: str
    """`minihack`, `habitat`, `atari`, `gym`."""
    settings: tuple[str, ...]
    """Settings a run may choose, besides the `COMMON_SETTINGS`."""
    many_contexts: bool
    """Whether there is more than one context."""

    def canonical_name(self, name: str) -> str:
        """The full name of environment `name`; rejects an unknown one."""
        ...

    def check_settings(self, name: str, **settings: Any) -> None:
        """Reject invalid `contexts` (a number or `inf`) and settings, and missing data."""
        ...

    def observation_space(self, name: str, **settings: Any) -> gym.spaces.Dict | None:
        """Of one env, without making it; None if that is not known before `check_settings`."""
        ...

    def make_vector_env(self, name: str, num_envs: int, **settings: Any) -> VectorEnv:
        """A vector env with the family's own `settings` and the common ones; rejects unknown settings.

        `held_out` (for evaluation) plays only contexts that training never sees, if there are any. `stream` is a
        number that differs between runners, and between restarts of a runner.
        """
        ...

    def make_env(self, name: str, **settings: Any) -> gym.Env[Any, Any]:
        """One environment, for watching, with the same settings; `stream` may be several numbers.

        `reset(options={"context": id})` chooses the context; `info` has the `context` and the `end_status`.
        """
        ...

    def action_names(self, name: str) -> Sequence[str]:
        """The name of each action."""
        ...

    def scripted_agent(self, name: str, seed: int) -> ScriptedAgent | None:
        """An agent that explores by rules, as a reference; None if there is none."""
        ...

    def album(self) -> Album:
        """An empty album for environments of `make_env`."""
        ...


def reject_unknown_settings(settings: Iterable[str], own: Sequence[str]) -> None:
    """Reject settings that are neither common nor the family's own."""
    for setting in settings:
        if setting not in COMMON_SETTINGS and setting not in own:
            raise unknown("environment setting", setting, own)
