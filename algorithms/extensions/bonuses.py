"""`@bonus("name", scope=…)`: an exploration bonus from a function of a step, or from a class with `compute`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from types import FunctionType
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.registry import check_name, register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.mistakes import named
from bonuslab.algorithms.extensions.step import Step
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.origin import origin_of

D = TypeVar("D", bound=Callable[..., Any])
_TYPES = (bool, int, float, str)
_RESERVED = {*dir(Bonus), *Bonus.__annotations__, "setting", "function"}


def bonus(
    name: str, scope: Scope | None = None, *, equation: str | None = None, when: str | None = None
) -> Callable[[D], D]:
    """Register the decorated function or class as the bonus `name` of expressions.

    A function takes a `Step` and returns [T, N]; its further parameters, which need defaults, become parameters of the
    bonus. A class has `compute(self, fragment)`, which returns [T, N], and may have `setup(self, setting)`,
    `learn(self, fragment)`, `state_dict` and `load_state_dict`; its annotated attributes are its parameters.
    `equation` and `when` describe the bonus in lists; by default the first line of the docstring, and file and line.
    """
    check_name(name)

    def decorate(definition: D) -> D:
        if not isinstance(definition, FunctionType | type):
            raise InvalidInput(f"bonus {name!r} must be a function or a class, not {definition!r}")
        given = {"scope": scope, "equation": equation, "when": when}
        described = {
            "equation": inspect.cleandoc(definition.__doc__ or f"{name}(s_t, a_t, s_{{t+1}})").splitlines()[0],
            "when": f"Defined in {origin_of(definition).place}.",
        }
        described = {key: text for key, text in described.items() if not hasattr(definition, key)}
        described |= {key: text for key, text in given.items() if text is not None}
        if "scope" not in described and not hasattr(definition, "scope"):
            allowed = ", ".join(get_args(Scope))
            raise InvalidInput(f"bonus {name!r} ({origin_of(definition).place}) needs a scope; allowed: {allowed}")
        if isinstance(definition, type):
            return register(name)(_from_class(definition, name, described))  # type: ignore[return-value]
        register(name)(_from_function(definition, name, described))
        return definition  # still a function: other bonuses and tests can call it

    return decorate


class FunctionBonus(Bonus):
    """A bonus whose values a function of the step gives."""

    function: ClassVar[Callable[..., Any]]

    def compute(self, fragment: Fragment) -> torch.Tensor:
        """[T, N]: the function's result."""
        what = _what(self.name, self.function)
        with torch.no_grad(), named(what, self.function):
            value = self.function(Step(fragment, self.setting.device), **self.parameters())
        return _values(value, fragment, self.setting.device, what)


def _from_function(function: FunctionType, name: str, described: dict[str, str]) -> type[Bonus]:
    types, defaults = _parameters(function, _what(name, function))
    body = {
        "__module__": function.__module__,
        "__qualname__": function.__qualname__,
        "__doc__": function.__doc__,
        "__annotations__": types,
        "function": staticmethod(function),
        **defaults,
        **described,
    }
    return type(function.__name__, (FunctionBonus,), body)


def _parameters(function: FunctionType, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Types and defaults of the function's parameters after the first, the step."""
    try:
        types = get_type_hints(function)
    except NameError as error:
        raise InvalidInput(f"{what}: the type of a parameter is unknown: {error}") from error
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        raise InvalidInput(f"{what} must take a step as its first argument")
    defaults = {}
    for item in parameters[1:]:
        if item.default is item.empty or item.kind not in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY):
            raise InvalidInput(f"{what}: parameter {item.name!r} needs a name and a default")
        if item.name in _RESERVED:
            raise InvalidInput(f"{what}: a parameter cannot be called {item.name!r}; choose another name")
        kind = types.setdefault(item.name, type(item.default))
        if kind not in _TYPES and get_origin(kind) is not Literal:
            allowed = "bool, int, float, str or Literal"
            raise InvalidInput(f"{what}: parameter {item.name!r} has type {kind}; allowed: {allowed}")
        if kind in _TYPES and not isinstance(item.default, (int, float) if kind is float else kind):
            raise InvalidInput(f"{what}: the default of {item.name!r} is {item.default!r}, not of type {kind.__name__}")
        defaults[item.name] = float(item.default) if kind is float else item.default
    return {name: types[name] for name in defaults}, defaults


def _from_class(cls: type, name: str, described: dict[str, str]) -> type[Bonus]:
    what = _what(name, cls)
    if getattr(cls, "compute", Bonus.compute) is Bonus.compute:
        raise InvalidInput(f"{what} must define compute(self, fragment)")
    if ("state_dict" in vars(cls)) != ("load_state_dict" in vars(cls)):
        raise InvalidInput(f"{what} must define both state_dict and load_state_dict, or neither")
    for base in cls.__mro__[:-1]:
        if "__init__" in vars(base) and "__dataclass_fields__" not in vars(base):
            raise InvalidInput(
                f"{what} must not define __init__: declare parameters as attributes, such as `scale: float = 1.0`, "
                "and create what it needs in setup(self, setting)"
            )
    made = cls
    if not issubclass(cls, Bonus):  # a subclass, not a copy, so that super() in its methods works
        kept = {key: getattr(cls, key) for key in ("__module__", "__qualname__", "__doc__")}
        made = type(cls.__name__, (cls, Bonus), {**kept, "__annotations__": vars(cls).get("__annotations__", {})})
    for key, text in described.items():
        setattr(made, key, text)
    setup, compute, learn = made.setup, made.compute, made.learn  # type: ignore[attr-defined]

    @wraps(setup)
    def named_setup(self: Bonus, setting: Setting) -> None:
        with named(what, cls):
            setup(self, setting)

    @wraps(compute)
    def checked_compute(self: Bonus, fragment: Fragment) -> torch.Tensor:
        with named(what, cls):
            value = compute(self, fragment)
        return _values(value, fragment, self.setting.device, what)

    @wraps(learn)
    def named_learn(self: Bonus, fragment: Fragment) -> Metrics:
        with named(what, cls):
            return learn(self, fragment) or {}  # a method that returns nothing has no metrics

    made.setup, made.compute, made.learn = named_setup, checked_compute, named_learn  # type: ignore[attr-defined]
    return made


def _what(name: str, definition: Any) -> str:
    return f"bonus {name!r} ({origin_of(definition).place})"


def _values(value: Any, fragment: Fragment, device: str, what: str) -> torch.Tensor:
    """[T, N]: what a user's bonus returned, if it can be used."""
    expected = list(fragment.action.shape)
    found = type(value).__name__
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        usable = value.device.type in ("cpu", torch.device(device).type)
        if list(value.shape) == expected and usable and not value.is_complex():
            return value
        found = f"{value.dtype} {list(value.shape)} on {value.device}".removeprefix("torch.")
    elif isinstance(value, np.ndarray):
        found = f"an array of {value.dtype}"
    hint = "; is a `return` missing?" if value is None else ""
    raise InvalidInput(f"{what} must return a tensor [T, N] = {expected}, not {found}{hint}")
