"""Products and weighted sums of bonuses, in one canonical form that prints and parses back.

A product is `scale * factor * factor ...` and never contains a product; a sum is `term + term ...` and never contains a
sum; the weight of a term is the scale of its product. So `2 * e3b * 3` and `6 * e3b` are equal, and only a sum inside a
product needs parentheses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Self

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope, value_text
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


class Composite(Bonus):
    """A bonus made of others. Equal terms are built, computed and trained once, wherever they appear."""

    name = "composite"
    children: tuple[Bonus, ...]
    """Factors or terms, left to right."""

    def __post_init__(self) -> None:
        self.scope = joint_scope([child.scope for child in self.children])
        self.needs_policy_features = any(child.needs_policy_features for child in self.children)

    def build(self, setting: Setting) -> Self:
        """Build each distinct term once, all with the same setting."""
        self.setting = setting
        self._terms = Terms(self, setting)
        return self

    def compute(self, fragment: Fragment) -> torch.Tensor:
        """[T, N] float64: the combined bonus of the terms."""
        return combine(self, self._terms.compute(fragment))

    def learn(self, fragment: Fragment) -> Metrics:
        """Train every term; metrics as `term/metric`."""
        return self._terms.learn(fragment)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def _text(self, show: Callable[[Bonus], str]) -> str:
        raise TypeError(f"{type(self).__name__} must define _text(show)")


@dataclass(repr=False)
class Product(Composite):
    """scale · Π children."""

    scale: float
    children: tuple[Bonus, ...]

    __hash__ = Composite.__hash__

    def _text(self, show: Callable[[Bonus], str]) -> str:
        factors = [f"({show(child)})" if isinstance(child, Sum) else show(child) for child in self.children]
        return " * ".join(factors if self.scale == 1 else [value_text(self.scale), *factors])


@dataclass(repr=False)
class Sum(Composite):
    """Σ children; the weight of a term is the scale of its product."""

    children: tuple[Bonus, ...]

    __hash__ = Composite.__hash__

    def _text(self, show: Callable[[Bonus], str]) -> str:
        return " + ".join(map(show, self.children))


def multiply(*parts: Bonus | float) -> Bonus:
    """The product of bonuses and numbers, at least one of them a bonus, in canonical form."""
    scale = 1.0
    factors: list[Bonus] = []
    for part in parts:
        if isinstance(part, Product):
            scale *= part.scale
            factors += part.children
        elif isinstance(part, Bonus):
            factors.append(part)
        elif isinstance(part, Real) and not isinstance(part, bool):
            scale *= float(part)
        else:
            return NotImplemented
    if not math.isfinite(scale):
        raise InvalidInput(f"the weight of a bonus must be finite, not {scale}")
    return factors[0] if len(factors) == 1 and scale == 1 else Product(scale, tuple(factors))


def add(*parts: Bonus) -> Bonus:
    """The sum of bonuses in canonical form."""
    terms: list[Bonus] = []
    for part in parts:
        if not isinstance(part, Bonus):
            return NotImplemented
        terms += part.children if isinstance(part, Sum) else (part,)
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def joint_scope(scopes: list[Scope]) -> Scope:
    """The scope of a combination: the common scope of its parts, else `combined`; `none` does not count."""
    distinct = {scope for scope in scopes if scope != "none"}
    if not distinct:
        return "none"
    return distinct.pop() if len(distinct) == 1 else "combined"


def combine(expression: Bonus, values: Mapping[Bonus, torch.Tensor]) -> torch.Tensor:
    """[T, N]: evaluate the expression, given the values of its terms."""
    if isinstance(expression, Product):
        product = reduce(torch.mul, [combine(child, values) for child in expression.children])
        return product if expression.scale == 1 else expression.scale * product
    if isinstance(expression, Sum):
        return reduce(torch.add, [combine(child, values) for child in expression.children])
    return values[expression]


def restrict(expression: Bonus, scope: Scope) -> Bonus | None:
    """The expression with only its terms of one scope, or None if it has none.

    A product drops its other factors and keeps its scale; a sum drops its other terms; an empty product or sum
    disappears. A term that itself mixes both scopes (`scope == "combined"`, such as NovelD with its episodic indicator)
    is in neither part. Examples, with e3b and ngu episodic and rnd global: the episodic part of `e3b * rnd` is `e3b`,
    that of `2 * (e3b + rnd) * ngu` is `2 * e3b * ngu`; the global part of the latter is `2 * rnd`.
    """
    if isinstance(expression, Product | Sum):
        kept = [part for part in (restrict(child, scope) for child in expression.children) if part is not None]
        if not kept:
            return None
        if isinstance(expression, Sum):
            return add(*kept)
        return multiply(*kept, expression.scale)
    return expression if expression.scope == scope else None
