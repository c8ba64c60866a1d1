"""Environments by name: which family a name belongs to, and the environments it stands for.

A family is imported when one of its names is first asked for, so that nobody needs the simulators of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.family import Family
from bonuslab.envs.vector_env import VectorEnv

_BEGINNINGS = {"apartments": "habitat", "hm3d": "habitat", "montezuma": "montezuma"}
"""Family by how a name begins, in small letters; every other name is a MiniHack task."""
_OTHERWISE = "minihack"


def find(name: str) -> Family:
    """The family that the environment called `name` belongs to."""
    text = str(name).strip().lower()
    family = next((family for start, family in _BEGINNINGS.items() if text.startswith(start)), _OTHERWISE)
    module = f"bonuslab.envs.{family}.family"
    try:
        return import_module(module).FAMILY
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise InvalidInput(f"{name!r} is a {family} environment, and this installation has none of them") from error
        raise InvalidInput(f"{name!r} needs the Python package {error.name!r}, which is not installed") from error


def canonical_name(name: str) -> str:
    """The full name of the environment meant by `name`; an unknown one raises `InvalidInput`."""
    return find(name).canonical_name(name)


def check_settings(name: str, **settings: Any) -> None:
    """Refuse contexts and settings that the environment called `name` does not have, and missing data."""
    find(name).check_settings(name, **settings)


def make_held_out_vector_env(name: str, num_envs: int, **settings: Any) -> VectorEnv:
    """VectorEnv that play what training never meets: of as many contexts as there are, if there is more than one."""
    if find(name).many_contexts:
        settings["contexts"] = "inf"
    return make_vector_env(name, num_envs, held_out=True, **settings)  # of a single context: with luck of their own


def make_vector_env(name: str, num_envs: int, **settings: Any) -> VectorEnv:
    """N environments of the environment called `name`; a bad name or setting raises `InvalidInput`."""
    return find(name).make_vector_env(name, num_envs, **settings)
