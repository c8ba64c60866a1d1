"""What a bonus is: parameters that print and parse, a scope, `compute` and `learn`."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.fragment import Fragment

Scope = Literal["global", "episodic", "combined", "none"]
Metrics = dict[str, float]
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class Bonus:
    """An exploration bonus b(s_t, a_t, s_{t+1}).

    A subclass is a dataclass whose fields are the parameters of the bonus, decorated with `@register("name")`.
    Two bonuses are equal when their parameters are; `str()` gives the text that parses back to an equal one.
    `a * b`, `a + 0.5 * b` build products and sums. A bonus holds no networks until `build`.
    """

    name: ClassVar[str]
    """The name in expressions; set by `register`."""
    scope: Scope
    """Whether it forgets at the end of an episode, never forgets, or combines both."""
    equation: ClassVar[str]
    """One line of mathematics for `bonuslab bonuses`."""
    when: ClassVar[str]
    """One line: when to use it."""
    needs_policy_features: bool = False
    """Whether fragments must carry the policy's own encoding."""

    def build(self, setting: Setting) -> Self:
        """Allocate networks and memory for one environment and one network family."""
        self.setting = setting
        self.setup(setting)
        return self

    def setup(self, setting: Setting) -> None:
        """Allocate what this bonus alone needs; nothing by default."""

    def compute(self, fragment: Fragment) -> torch.Tensor:
        """[T, N]: the bonus of each step. Advances episodic memory, so call it once a fragment, in order."""
        raise TypeError(f"{type(self).__name__} does not say how to compute its bonus: define compute(fragment)")

    def learn(self, fragment: Fragment) -> Metrics:
        """Improve the bonus's own models on the fragment after `compute`; losses by name."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """All that this bonus itself has learnt and remembers (networks it shares are saved by the setting)."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""

    @property
    def children(self) -> tuple[Bonus, ...]:
        """The bonuses this one is made of."""
        return ()

    def leaves(self) -> Iterator[Bonus]:
        """The elementary bonuses of the expression, left to right."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def parameters(self) -> dict[str, Any]:
        """Parameters by name."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}  # type: ignore[arg-type]

    def __str__(self) -> str:
        changed = [
            f"{item.name}={value_text(getattr(self, item.name))}"
            for item in dataclasses.fields(self)  # type: ignore[arg-type]
            if getattr(self, item.name) != item.default
        ]
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    def __mul__(self, other: Bonus | float) -> Bonus:
        from bonuslab.algorithms.bonuses.algebra.combinators import multiply

        return multiply(self, other)

    __rmul__ = __mul__

    def __add__(self, other: Bonus) -> Bonus:
        from bonuslab.algorithms.bonuses.algebra.combinators import add

        return add(self, other)


def value_text(value: Any) -> str:
    """A parameter's value as an expression writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    return str(value)
