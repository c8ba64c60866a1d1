"""Bonuses by name: `@register("name")` on a class makes it usable in expressions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Scope
from bonuslab.algorithms.bonuses.algebra.presets import PRESETS
from bonuslab.algorithms.bonuses.algebra.variants import Varying
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.origin import check_owner

B = TypeVar("B", bound=type[Bonus])
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_BONUSES: dict[str, type[Bonus]] = {}


def register(name: str) -> Callable[[B], B]:
    """Make the decorated class a dataclass of its parameters and register it as `name`."""

    def decorate(cls: B) -> B:
        check_name(name)
        check_owner("bonus", name, _BONUSES.get(name), cls)
        for attribute in ("scope", "equation", "when"):
            if not hasattr(cls, attribute):
                raise TypeError(f"bonus {name!r} must define `{attribute}`")
        if isinstance(cls.scope, str) and cls.scope not in get_args(Scope):  # a property depends on the parameters
            raise unknown(f"scope of bonus {name!r}:", cls.scope, get_args(Scope))
        cls.name = name
        cls.__post_init__ = _check_values_first(getattr(cls, "__post_init__", None))  # type: ignore[attr-defined]
        dataclasses.dataclass(repr=False)(cls)
        cls.__hash__ = lambda self: hash(str(self))  # type: ignore[method-assign]
        _resolve_types(cls)
        _BONUSES[name] = cls
        return cls

    return decorate


def check_name(name: object) -> None:
    """Refuse a name that no expression could hold or that a preset has."""
    if not isinstance(name, str):
        raise InvalidInput(f'a bonus needs a name, as in @bonus("speed", scope="episodic"), not {name!r}')
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"bonus name {name!r} must be lower-case words joined by dots")
    if name in PRESETS:
        raise InvalidInput(f"bonus name {name!r} is the name of a preset; choose another")


def _resolve_types(cls: type[Bonus]) -> None:
    """Evaluate annotations now: where the class is sent, the names of its module are not known."""
    try:
        types = get_type_hints(cls)
    except NameError as error:
        raise InvalidInput(f"bonus {cls.name!r}: the type of a parameter is unknown: {error}") from error
    for item in dataclasses.fields(cls):  # type: ignore[arg-type]
        item.type = types[item.name]


def _check_values_first(then: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """A `__post_init__` that checks choices and bounds before the bonus's own checks."""

    @wraps(then or _check_values_first)
    def check(self: Bonus) -> None:
        for item in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if isinstance(value, Varying):
                continue
            if get_origin(item.type) is Literal and value not in get_args(item.type):
                raise unknown(f"{item.name} of {self.name}", value, map(str, get_args(item.type)))
            if item.name in self._positive and not value > 0:
                raise InvalidInput(f"{self.name}: {item.name} must be positive, not {value:g}")
            if item.name in self._non_negative and not value >= 0:
                raise InvalidInput(f"{self.name}: {item.name} must be 0 or more, not {value:g}")
        if then is not None:
            then(self)

    return check


def registered() -> dict[str, type[Bonus]]:
    """All registered bonuses, by name."""
    return dict(sorted(_BONUSES.items()))
