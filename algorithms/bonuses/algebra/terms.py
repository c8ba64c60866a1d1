"""The elementary bonuses of an expression, each built once however often it appears."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


class Terms:
    """The built terms of an expression.

    Terms are identified by their parameters, not by object: `e3b + e3b * rnd` has one E3B with one episodic memory,
    whose value enters twice. Building copies, so one bonus object may appear in several expressions, each with its own
    networks and memory; within an expression the setting shares networks.
    """

    def __init__(self, expression: Bonus, setting: Setting) -> None:
        self._built: dict[Bonus, Bonus] = {}
        for term in elementary(expression):
            if term not in self._built:
                self._built[term] = dataclasses.replace(term).build(setting)  # type: ignore[type-var]
        self.labels = _labels(self._built)
        """A short label of each term for metrics: its name, numbered if several terms share it."""

    def compute(self, fragment: Fragment) -> dict[Bonus, torch.Tensor]:
        """[T, N] float64 of every term. Advances episodic memory."""
        return {term: self._checked(term, built.compute(fragment), fragment) for term, built in self._built.items()}

    def learn(self, fragment: Fragment) -> Metrics:
        """Train every term, after all are computed; metrics as `term/metric`."""
        return {
            f"{self.labels[term]}/{key}": value
            for term, built in self._built.items()
            for key, value in built.learn(fragment).items()
        }

    def state_dict(self) -> dict[str, Any]:
        """State of every term, by expression."""
        return {str(term): built.state_dict() for term, built in self._built.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; the terms must be the same."""
        expected = {str(term) for term in self._built}
        if state.keys() != expected:
            raise InvalidInput(f"saved terms {sorted(state)} do not match this bonus's {sorted(expected)}")
        for term, built in self._built.items():
            built.load_state_dict(state[str(term)])

    def __iter__(self) -> Iterator[Bonus]:
        return iter(self._built)

    @staticmethod
    def _checked(term: Bonus, value: torch.Tensor, fragment: Fragment) -> torch.Tensor:
        expected = fragment.action.shape
        if tuple(value.shape) != expected:
            raise ValueError(f"bonus '{term}' returned shape {list(value.shape)}, not [T, N] = {list(expected)}")
        return require_finite(f"bonus '{term}'", value.detach().to("cpu", torch.float64))


def elementary(expression: Bonus) -> Iterator[Bonus]:
    """The elementary bonuses of products and sums, left to right, with repetitions."""
    from bonuslab.algorithms.bonuses.algebra.combinators import Composite

    if not isinstance(expression, Composite):
        yield expression
        return
    for child in expression.children:
        yield from elementary(child)


def _labels(terms: dict[Bonus, Bonus]) -> dict[Bonus, str]:
    seen: dict[str, int] = {}
    labels = {}
    for term in terms:
        seen[term.name] = seen.get(term.name, 0) + 1
        labels[term] = term.name if seen[term.name] == 1 else f"{term.name}_{seen[term.name]}"
    return labels
