"""Environments by name: which family a name belongs to, and the vector envs it stands for.

A family is imported when one of its names is first asked for, so that nobody needs the simulators of the others.
Wherever a name is taken, a Gymnasium class or a function that makes an environment is too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from itertools import permutations, product
from typing import Any

import gymnasium as gym

from bonuslab.envs.errors import InvalidInput, Unavailable, unknown
from bonuslab.envs.extras import missing
from bonuslab.envs.family import Family
from bonuslab.envs.gym.family import FAMILY as GYM
from bonuslab.envs.gym.making import find_maker, find_rllib, known_names
from bonuslab.envs.gym.registry import USER_ENVIRONMENTS, MakeEnv, name_of, register_environment
from bonuslab.envs.vector_env import VectorEnv

__all__ = [
    "canonical_name",
    "check_settings",
    "collecting_missing",
    "default_preset",
    "find",
    "is_missing",
    "make_held_out_vector_env",
    "make_vector_env",
    "observation_space",
    "register_environment",
]

_PREFIXES = {"apartments": "habitat", "hm3d": "habitat", "montezuma": "atari", "ale/": "atari"}
"""Family by how a name begins, in lower case."""
_EXAMPLES = ("Apartments", "HM3D")
_missing: ContextVar[Any] = ContextVar("missing", default=None)
_HINT = "see `bonuslab tasks`, or use a Gymnasium id such as CartPole-v1, or 'package.module:make_env'"


def find(name: str | MakeEnv) -> Family:
    """The family of an environment: users' names come first, then those of other families, then Gymnasium's."""
    text = name_of(name)
    if text in USER_ENVIRONMENTS:
        return GYM
    for prefix, family in _PREFIXES.items():
        if text.lower().startswith(prefix):
            return _import(family, text)
    if text.isidentifier() and find_rllib(text) is None and _is_game(text):
        return _import("atari", text)
    try:
        minihack = _import("minihack", text)
    except InvalidInput as error:  # not installed: only its own names need it
        if find_maker(text) is None:
            raise InvalidInput(f"{_unknown(text)} (as a MiniHack task, {error})") from error
        return GYM
    try:
        minihack.canonical_name(text)
    except InvalidInput as error:
        if find_maker(text) is None:
            raise _unknown(text) from error
        return GYM
    return minihack


def canonical_name(name: str | MakeEnv) -> str:
    """The full name of an environment; an unknown one raises `InvalidInput`."""
    return find(name).canonical_name(name_of(name))


def check_settings(name: str | MakeEnv, **settings: Any) -> None:
    """Refuse contexts and settings that the environment does not have, and a missing simulator or data."""
    try:
        find(name).check_settings(name_of(name), **settings)
    except Unavailable as error:
        if _missing.get() is None:
            raise
        _missing.get()[str(error)] = None


def observation_space(name: str | MakeEnv, **settings: Any) -> gym.spaces.Dict | None:
    """Of one env; None if it is not known before `check_settings`."""
    return find(name).observation_space(name_of(name), **settings)


@contextmanager
def collecting_missing() -> Iterator[dict[str, None]]:
    """Within this context, `check_settings` collects what is missing instead of refusing: a plan needs none of it."""
    token = _missing.set({})
    try:
        yield _missing.get()
    finally:
        _missing.reset(token)


def is_missing() -> bool:
    """Whether something was found missing in the context of `collecting_missing`."""
    return bool(_missing.get())


def default_preset(name: str | MakeEnv) -> str:
    """The preset of runs on this environment that choose none."""
    return GYM.default_preset(name) if find(name) is GYM else "laptop"


def make_held_out_vector_env(name: str | MakeEnv, num_envs: int, **settings: Any) -> VectorEnv:
    """A vector env for evaluation: all held-out contexts, or independent randomness on an only context."""
    if find(name).many_contexts:
        settings["contexts"] = "inf"
    return make_vector_env(name, num_envs, held_out=True, **settings)


def make_vector_env(name: str | MakeEnv, num_envs: int, **settings: Any) -> VectorEnv:
    """A vector env of N envs; a bad name or setting raises `InvalidInput`."""
    return find(name).make_vector_env(name_of(name), num_envs, **settings)


def _import(family: str, name: str) -> Family:
    module = f"bonuslab.envs.{family}.family"
    try:
        return import_module(module).FAMILY
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise InvalidInput(f"{name!r} is a {family} environment, and this installation has none of them") from error
        raise InvalidInput(missing(repr(name), error)) from error


def _is_game(name: str) -> bool:
    """Whether the name, which might be MiniHack's or Gymnasium's too, is that of an Atari game."""
    try:
        return import_module("bonuslab.envs.atari.games").is_game(name)
    except ModuleNotFoundError:  # only `ALE/` and Montezuma's Revenge are known without ale-py
        return False


def _unknown(name: str) -> InvalidInput:
    try:
        tasks = import_module("bonuslab.envs.minihack.tasks").TASKS
    except ModuleNotFoundError:
        tasks = ()
    short = [task.removeprefix("MiniHack-").removesuffix("-v0") for task in tasks]
    try:
        games = [game.name for game in import_module("bonuslab.envs.atari.games").all_games()]
    except ModuleNotFoundError as error:
        if name.isidentifier():  # it may be a game
            return InvalidInput(f"unknown environment {name!r}; {_HINT} ({missing('an Atari game', error)})")
        games = []
    # Our families' names are not repeated as Gymnasium's.
    others = [known for known in known_names() if not _entry_point(known).startswith(("bonuslab.", "ale_py."))]
    return unknown("environment", name, {*short, *_generated(name), *games, *_EXAMPLES, *others}, _HINT)


def _generated(name: str) -> Iterator[str]:
    """Names that MiniHack's grammar makes of the numbers in `name`, as candidates for what was meant."""
    numbers = re.findall(r"\d{1,3}", name)[:3]
    yield from (f"KeyRoom-S{number}" for number in numbers)
    sizes = [f"MultiRoom-N{rooms}" for rooms in numbers]
    sizes += [f"MultiRoom-N{rooms}-S{size}" for rooms, size in permutations(numbers, 2)]
    monsters = ["", *(f"-Monsters{number}" for number in numbers)]
    for parts in product(sizes, ("", "-Lava"), ("", "-OpenDoor", "-Locked"), monsters):
        yield "".join(parts)


def _entry_point(name: str) -> str:
    return str(getattr(gym.registry.get(name), "entry_point", ""))
