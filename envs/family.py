"""What a family of environments offers to everything that knows environments by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import unknown
from bonuslab.envs.vector_env import VectorEnv

COMMON_SETTINGS = ("contexts", "seed", "held_out", "stream")
"""Of environments and environments of every family; see `Family.make_vector_env`."""


class Album(Protocol):
    """Keeps the moments of one or more episodes, and draws them when they are over.

    A moment is what an environment is like after a reset or a step. Moments are numbered from 0 in the order added.
    """

    steps_a_frame: int
    """How many steps of an episode one picture of a video stands for."""
    colours: np.ndarray
    """[n, 3] uint8: those that a video in 256 colours must not lose."""
    has_more_colours: bool
    """Whether its pictures have further ones."""

    def add(self, observation: dict[str, np.ndarray], env: Any) -> str:
        """Keep the moment that `env` is in and has shown as `observation`; a few words about it."""
        ...

    def pictures(self, lines: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """RGB pictures [H, W, 3] of some moments, all of one size, with a line of text below each.

        `lines` are numbers of moments, in rising order, and their texts.
        """
        ...

    def summary(self, line: str) -> np.ndarray:
        """RGB picture [H, W, 3] of the last episode, with a line of text below."""
        ...

    def text(self, moment: int, width: int, colour: bool) -> list[str]:
        """A moment in letters for a terminal of so many columns; nothing where letters cannot show it."""
        ...


class Family(Protocol):
    """Environments that share a naming scheme and an implementation.

    A family is one module, `envs/<family>/family.py`, with an object `FAMILY` of this kind; `envs/catalogue.py` says
    which names are its own. Everything a user can get wrong raises `InvalidInput` here, before anything is started.
    """

    name: str
    """`minihack`, `habitat`, `montezuma`."""
    settings: tuple[str, ...]
    """Those of its environments that a run may choose, besides the `COMMON_SETTINGS`."""
    many_contexts: bool
    """Whether there is more than one context."""

    def canonical_name(self, name: str) -> str:
        """The full name of the environment meant by `name`; an unknown one is refused."""
        ...

    def check_settings(self, name: str, **settings: Any) -> None:
        """Refuse `contexts` (a number or `inf`) and settings that this environment does not have, and missing data."""
        ...

    def make_vector_env(self, name: str, num_envs: int, **settings: Any) -> VectorEnv:
        """N environments.

        Every family understands `contexts`, `seed`, `held_out` (evaluation: only contexts that training never meets,
        if there are any) and `stream` (a number that differs between runners, and between lives of a runner), and its
        own `settings`. An unknown setting is refused.
        """
        ...

    def make_env(self, name: str, **settings: Any) -> gym.Env[Any, Any]:
        """One environment with the settings of environments, to be watched; `stream` may be several numbers.

        `reset(options={"context": id})` starts on a context; `info` has the `context`, and at the end `end_status`.
        """
        ...

    def action_names(self, name: str) -> Sequence[str]:
        """What each action is called."""
        ...

    def album(self) -> Album:
        """An empty album for environments of `make_env`."""
        ...


def refuse_unknown_settings(settings: Iterable[str], own: Sequence[str]) -> None:
    """Refuse settings that are neither common ones nor a family's own."""
    for setting in settings:
        if setting not in COMMON_SETTINGS and setting not in own:
            raise unknown("environment setting", setting, own)
