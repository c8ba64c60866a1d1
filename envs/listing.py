"""Every kind of environment in one line: what its names look like, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import gymnasium as gym

from bonuslab.envs.errors import unknown
from bonuslab.envs.gym.making import known_names

_GRIDS = ("MiniGrid-", "BabyAI-")
_OTHERS = (
    *("ale_py.", "minihack.", "nle.", "bonuslab.envs.atari", "bonuslab.envs.habitat", "bonuslab.envs.minihack"),
    # Continuous actions:
    *("gymnasium.envs.mujoco", "<function _raise_mujoco", "gymnasium.envs.box2d.bipedal", "gymnasium.envs.box2d.car"),
    *("gymnasium.envs.classic_control.pendulum", "gymnasium.envs.phys2d.pendulum"),
    "<function _raise_shimmy",  # wrappers of older versions
)
"""Modules of environments in Gymnasium's registry that are of another kind, or that we cannot play."""


@dataclass(frozen=True)
class Kind:
    """A row of `bonuslab tasks`."""

    name: str
    example: str
    """An environment that is quick to try."""
    names: str
    """What its names look like."""
    get: str
    """How to install it."""
    packages: tuple[str, ...] = ()
    """Modules it needs besides bonuslab's own."""

    @property
    def installed(self) -> bool:
        """Whether its packages are there; HM3D also needs data (`bonuslab doctor HM3D`)."""
        return all(find_spec(package) is not None for package in self.packages)


KINDS = (
    Kind(
        "MiniHack",
        "MultiRoom-N2-S4",
        "the tasks above, and other sizes: MultiRoom-N4-S5, KeyRoom-S7",
        'pip install "bonuslab[minihack]"',
        ("nle", "minihack"),
    ),
    Kind(
        "Apartments",
        "Apartments-64",
        "Apartments-64, -128, ...: pixels of an image",
        'pip install "bonuslab[fast]"',
        ("numba", "scipy"),
    ),
    Kind("HM3D", "HM3D", "HM3D, HM3D-128, ...", "habitat-sim and the scenes: docs/habitat.md", ("habitat_sim",)),
    Kind(
        "Atari",
        "MontezumaRevenge",
        "MontezumaRevenge, Pong, ALE/Breakout-v5, ...",
        'pip install "bonuslab[atari]"',
        ("ale_py",),
    ),
    Kind(
        "MiniGrid",
        "MiniGrid-MultiRoom-N6-v0",
        "MiniGrid-MultiRoom-N6-v0, BabyAI-GoToObj-v0, ...",
        'pip install "bonuslab[minigrid]"',
        ("minigrid",),
    ),
    Kind("Gymnasium", "CartPole-v1", "any id, class, or package.module:make_env", "included; others by their package"),
)


def find_kind(name: str) -> Kind:
    """The kind called `name`, or the only one with such names, in any case."""
    text = name.strip().lower()
    exact = [kind for kind in KINDS if kind.name.lower() == text]
    found = exact or [kind for kind in KINDS if len(text) > 2 and text in kind.names.lower()]
    if len(found) == 1:
        return found[0]
    raise unknown("family", name, [kind.name for kind in KINDS])


def names_of(kind: Kind) -> list[str]:
    """The names of a kind that is installed."""
    return sorted(_names(kind.name))


def all_names() -> list[str]:
    """All names that can be listed, for completion; HM3D's also without habitat-sim, since its plans need none."""
    return [name for kind in KINDS if kind.installed or kind.name == "HM3D" for name in names_of(kind)]


def _names(kind: str) -> Iterator[str]:
    if kind == "MiniHack":
        for task in import_module("bonuslab.envs.minihack.tasks").TASKS:
            yield task.removeprefix("MiniHack-").removesuffix("-v0")
    elif kind in ("Apartments", "HM3D"):
        yield from (f"{kind}-{size}" for size in (64, 128, 256))
    elif kind == "Atari":
        yield from (game.name for game in import_module("bonuslab.envs.atari.games").all_games())
    else:
        for name in known_names():
            entry = str(getattr(gym.registry.get(name), "entry_point", ""))
            other = entry.startswith(_OTHERS) or "Continuous" in name
            if name.startswith(_GRIDS) == (kind == "MiniGrid") and not other:
                yield name
