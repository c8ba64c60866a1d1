"""The base class of bonuses: parameters that print and parse, a scope, `compute` and `learn`."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, ClassVar, Literal, Self

import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.stateful import Stateful
from bonuslab.algorithms.bonuses.algebra.variants import Varying
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput

Scope = Literal["global", "episodic", "combined", "none"]
Metrics = dict[str, float]
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class Bonus(Stateful):
    """An exploration bonus b(s_t, a_t, s_{t+1}).

    A subclass is a dataclass whose fields are the parameters of the bonus, decorated with `@register("name")`.
    Bonuses with equal parameters are equal. `str()` gives the expression, which parses back to an equal bonus, `repr()`
    the same as Python. `a * b` and `a + 0.5 * b` build products and sums. Networks are created by `build`, which also
    gives parameters declared with `varies` their value in the setting's variant.
    """

    name: ClassVar[str]
    """The name in expressions; set by `register`."""
    scope: Scope
    """Episodic (forgets at the end of an episode), global (never forgets), or a combination of both."""
    equation: ClassVar[str]
    """One line of mathematics for `bonuslab bonuses`."""
    when: ClassVar[str]
    """One line: when to use it."""
    needs_policy_features: bool = False
    """Whether fragments must carry the policy's features."""
    learns_from_compute: ClassVar[bool] = False
    """Whether `learn` uses what `compute` kept of the same fragment, so that both must see the same one."""
    _positive: ClassVar[tuple[str, ...]] = ()
    """Parameters that must be above 0."""
    _non_negative: ClassVar[tuple[str, ...]] = ("learning_rate",)
    """Parameters that must be 0 or more."""

    def build(self, setting: Setting) -> Self:
        """Allocate networks and memory for one environment and one network family."""
        self.setting = setting
        self._expression = str(self)
        for name, value in self.parameters().items():
            if isinstance(value, Varying):
                setattr(self, name, value.of(setting.variant))
        self.setup(setting)
        return self

    def setup(self, setting: Setting) -> None:
        """Allocate the networks and memory of this bonus; nothing by default."""

    def compute(self, fragment: Fragment) -> torch.Tensor:
        """[T, N]: the bonus of each step. Advances episodic memory, so call it once per fragment, in order."""
        raise TypeError(f"{type(self).__name__} must define compute(fragment)")

    def learn(self, fragment: Fragment) -> Metrics:
        """Train the bonus's models on the fragment after `compute`; returns losses by name."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The expression, and the state of every attribute that has one; the setting saves shared models."""
        return {"bonus": str(self), **super().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; rejects the state of another bonus."""
        if state.get("bonus") != str(self):
            raise InvalidInput(f"saved state is of {state.get('bonus')!r}, this bonus is {str(self)!r}")
        super().load_state_dict(state)

    def parameters(self) -> dict[str, Any]:
        """Parameters by name."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}  # type: ignore[arg-type]

    def __str__(self) -> str:
        if "_expression" in vars(self):
            return self._expression
        changed = [f"{name}={value_text(value)}" for name, value in self._changed()]
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._changed())})"

    def _changed(self) -> list[tuple[str, Any]]:
        """Parameters that differ from their defaults."""
        defaults = {item.name: item.default for item in dataclasses.fields(self)}  # type: ignore[arg-type]
        return [(name, value) for name, value in self.parameters().items() if value != defaults[name]]

    def __mul__(self, other: Bonus | float) -> Bonus:
        from bonuslab.algorithms.bonuses.algebra.combinators import multiply

        return multiply(self, other)

    __rmul__ = __mul__

    def __add__(self, other: Bonus) -> Bonus:
        from bonuslab.algorithms.bonuses.algebra.combinators import add

        return add(self, other)

    def __radd__(self, other: int) -> Bonus:
        return self if type(other) is int and other == 0 else NotImplemented  # `sum` starts from 0


def value_text(value: Any) -> str:
    """A parameter's value as written in an expression."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    return str(value)
