"""Bonuses by name. `@register("name")` on a class is all it takes to use it in expressions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import TypeVar

from bonuslab.algorithms.bonuses.base import Bonus
from bonuslab.envs.errors import unknown

B = TypeVar("B", bound=type[Bonus])
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_BONUSES: dict[str, type[Bonus]] = {}


def register(name: str) -> Callable[[B], B]:
    """Make the decorated class a dataclass of its parameters and known by `name`."""

    def decorate(cls: B) -> B:
        if not _NAME.fullmatch(name):
            raise ValueError(f"bonus name {name!r} must be lower-case words joined by dots")
        known = _BONUSES.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"bonus name {name!r} is taken by {known.__module__}.{known.__qualname__}")
        for attribute in ("scope", "equation", "when"):
            if not hasattr(cls, attribute):
                raise TypeError(f"bonus {name!r} must define `{attribute}`")
        cls.name = name
        made = dataclasses.dataclass(repr=False)(cls)
        made.__hash__ = lambda self: hash(str(self))  # type: ignore[method-assign,assignment]
        _BONUSES[name] = made
        return made

    return decorate


def bonus_class(name: str) -> type[Bonus]:
    """The class registered under `name`."""
    if name not in _BONUSES:
        raise unknown("bonus", name, _BONUSES)
    return _BONUSES[name]


def registered() -> dict[str, type[Bonus]]:
    """All registered bonuses, by name."""
    return dict(sorted(_BONUSES.items()))
