"""Products and weighted sums of bonuses, in one canonical form that prints and parses back.

A product is `scale * factor * factor ...` and never holds another product; a sum is `term + term ...` and never
holds another sum; a weight of a sum's term is the scale of that term. So `2 * e3b * 3` and `6 * e3b` are the same
object, and `str()` needs parentheses only around a sum inside a product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any, Self

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope, value_text
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


class Composite(Bonus):
    """A bonus made of others. Equal terms are built, computed and trained once, wherever they appear."""

    name = "composite"

    def __post_init__(self) -> None:
        self.scope = joint_scope([child.scope for child in self.children])
        self.needs_policy_features = any(child.needs_policy_features for child in self.children)

    def build(self, setting: Setting) -> Self:
        """Build each distinct term once, all for the same setting."""
        self.setting = setting
        self._terms = Terms(self, setting)
        return self

    def compute(self, fragment: Fragment) -> torch.Tensor:
        """[T, N] float64: the combination of the terms' bonuses."""
        return combine(self, self._terms.compute(fragment))

    def learn(self, fragment: Fragment) -> Metrics:
        """Train every term; metrics as `term/metric`."""
        return self._terms.learn(fragment)

    def state_dict(self) -> dict[str, Any]:
        """The expression and the state of its terms."""
        return {"expression": str(self), "terms": self._terms.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; the state of another expression is refused."""
        if state.get("expression") != str(self):
            raise InvalidInput(f"this state belongs to {state.get('expression')!r} and cannot be loaded into '{self}'")
        self._terms.load_state_dict(state["terms"])

    def __hash__(self) -> int:
        return hash(str(self))


@dataclass(repr=False)
class Product(Composite):
    """scale · Π factors."""

    scale: float
    factors: tuple[Bonus, ...]

    __hash__ = Composite.__hash__

    @property
    def children(self) -> tuple[Bonus, ...]:
        """The factors."""
        return self.factors

    def __str__(self) -> str:
        texts = [f"({factor})" if isinstance(factor, Sum) else str(factor) for factor in self.factors]
        return " * ".join(texts if self.scale == 1 else [value_text(self.scale), *texts])


@dataclass(repr=False)
class Sum(Composite):
    """Σ terms; a term's weight is its scale."""

    terms: tuple[Bonus, ...]

    __hash__ = Composite.__hash__

    @property
    def children(self) -> tuple[Bonus, ...]:
        """The terms."""
        return self.terms

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms)


def multiply(left: Bonus, right: Bonus | float) -> Bonus:
    """`left * right` in canonical form."""
    scale = 1.0
    factors: list[Bonus] = []
    for part in (left, right):
        if isinstance(part, Product):
            scale *= part.scale
            factors += part.factors
        elif isinstance(part, Bonus):
            factors.append(part)
        elif isinstance(part, Real) and not isinstance(part, bool):
            scale *= float(part)
        else:
            return NotImplemented
    if not math.isfinite(scale):
        raise InvalidInput(f"the weight of a bonus must be finite; this one is {scale}")
    return factors[0] if len(factors) == 1 and scale == 1 else Product(scale, tuple(factors))


def add(left: Bonus, right: Bonus) -> Bonus:
    """`left + right` in canonical form."""
    terms: list[Bonus] = []
    for part in (left, right):
        if not isinstance(part, Bonus):
            return NotImplemented
        terms += part.terms if isinstance(part, Sum) else (part,)
    return Sum(tuple(terms))


def joint_scope(scopes: list[Scope]) -> Scope:
    """The scope of a combination: what its parts agree on, else `combined`; parts without a scope do not count."""
    distinct = {scope for scope in scopes if scope != "none"}
    if not distinct:
        return "none"
    return distinct.pop() if len(distinct) == 1 else "combined"


def combine(expression: Bonus, values: Mapping[Bonus, torch.Tensor]) -> torch.Tensor:
    """[T, N]: the expression evaluated with the given values of its terms."""
    if isinstance(expression, Product):
        parts = [combine(factor, values) for factor in expression.factors]
        product = reduce(torch.mul, parts)
        return product if expression.scale == 1 else expression.scale * product
    if isinstance(expression, Sum):
        return reduce(torch.add, [combine(term, values) for term in expression.terms])
    return values[expression]


def restrict(expression: Bonus, scope: Scope) -> Bonus | None:
    """The expression with only its terms of one scope, or None where it has none.

    A product loses its other factors and keeps its scale; a sum loses its other terms. What is left without any
    factor or term disappears. A term that itself mixes both scopes (`scope == "combined"`, such as NovelD with its
    episodic indicator) is neither episodic nor global and disappears from both. Examples, with e3b and ngu episodic
    and rnd global: the episodic part of `e3b * rnd` is `e3b`, of `2 * (e3b + rnd) * ngu` it is `2 * e3b * ngu`;
    the global part of the latter is `2 * rnd`.
    """
    if isinstance(expression, Product | Sum):
        kept = [part for part in (restrict(child, scope) for child in expression.children) if part is not None]
        if not kept:
            return None
        if isinstance(expression, Sum):
            return reduce(add, kept)
        return multiply(reduce(multiply, kept), expression.scale)
    return expression if expression.scope == scope else None
