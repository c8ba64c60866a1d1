"""Environments defined by the user: a name for each, so that settings stay plain text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import gymnasium as gym

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.origin import check_owner

MakeEnv = Callable[..., gym.Env[Any, Any]]
"""A class or function: keyword arguments in, environment out."""
M = TypeVar("M", bound=MakeEnv)


@dataclass(frozen=True)
class UserEnvironment:
    """A registered environment."""

    make: MakeEnv
    settings: dict[str, Any] = field(default_factory=dict)
    """Defaults that a run may change: keyword arguments of `make`, `max_episode_steps`, `won`, `stagger`."""


USER_ENVIRONMENTS: dict[str, UserEnvironment] = {}
"""By name. Workers receive a copy of it, classes and functions of a script or notebook included."""


def register_environment(name: str, make: M | None = None, **settings: Any) -> Any:
    """Make an environment known as `name`; without `make`, a decorator for a class or function.

    `settings` are defaults of the environment: keyword arguments of `make`, `max_episode_steps`, `won` and `stagger`.
    """

    def decorate(target: M) -> M:
        if not callable(target):
            raise InvalidInput(f"environment {name!r} is registered as {target!r}; pass a class or function")
        known = USER_ENVIRONMENTS.get(name)
        check_owner("environment", name, known and known.make, target)
        USER_ENVIRONMENTS[name] = UserEnvironment(target, dict(settings))
        return target

    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise InvalidInput(f"{name!r} is no name for an environment; pass a text, as in register_environment('Maze')")
    return decorate if make is None else decorate(make)


def name_of(environment: str | MakeEnv) -> str:
    """The name of an environment given as a name, class or function; the latter are registered as `module:name`."""
    if isinstance(environment, str):
        return environment.strip()
    for name, known in USER_ENVIRONMENTS.items():
        if known.make is environment:
            return name
    qualname = getattr(environment, "__qualname__", "<lambda>")
    if not callable(environment) or "<lambda>" in qualname:
        raise InvalidInput(
            f"{environment!r} has no name of its own; pass the name of an environment, a class or a function, "
            "or register it: register_environment('name', make)"
        )
    name = f"{environment.__module__}:{qualname}"
    USER_ENVIRONMENTS[name] = UserEnvironment(environment)
    return name
