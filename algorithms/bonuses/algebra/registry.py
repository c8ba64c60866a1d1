"""Bonuses by name. `@register("name")` on a class is all it takes to use it in expressions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from bonuslab.algorithms.bonuses.algebra.base import Bonus
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
        cls.__post_init__ = _check_choices_first(getattr(cls, "__post_init__", None))  # type: ignore[attr-defined]
        dataclasses.dataclass(repr=False)(cls)
        cls.__hash__ = lambda self: hash(str(self))  # type: ignore[method-assign]
        _BONUSES[name] = cls
        return cls

    return decorate


def _check_choices_first(then: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """A `__post_init__` that refuses values outside a field's `Literal` before the bonus's own checks."""

    @wraps(then or _check_choices_first)
    def check(self: Bonus) -> None:
        types = get_type_hints(type(self))
        for field, value in self.parameters().items():
            if get_origin(types[field]) is Literal and value not in get_args(types[field]):
                raise unknown(f"{field} of {self.name}", value, map(str, get_args(types[field])))
        if then is not None:
            then(self)

    return check


def bonus_class(name: str) -> type[Bonus]:
    """The class registered under `name`."""
    if name not in _BONUSES:
        raise unknown("bonus", name, _BONUSES)
    return _BONUSES[name]


def registered() -> dict[str, type[Bonus]]:
    """All registered bonuses, by name."""
    return dict(sorted(_BONUSES.items()))
