"""Rows of the paper's count tables, and the smaller tasks that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bonuslab.platform.report.paper_numbers import RESULTS, Feature

KINDS = ("none", "global", "episodic", "combined")
"""The bonuses of the paper's tables, by scope."""
ADAPTIVE, BANDIT = "adaptive", "bandit"
"""Both rules of `adaptive`: correlations with the return, and a bandit."""
ALL_KINDS = (*KINDS, ADAPTIVE, BANDIT)
_TEXTS = {
    "none": "none",
    "global": "count.global({0})",
    "episodic": "count.episodic({0})",
    "combined": "count.episodic({0}) * count.global({0})",
    ADAPTIVE: "adaptive(count.episodic({0}), count.global({0}))",
    BANDIT: "adaptive(count.episodic({0}), count.global({0}), rule=bandit)",
}


@dataclass(frozen=True)
class Row:
    """One environment and one counted feature."""

    task: str
    contexts: tuple[str, ...]
    feature: Feature
    paper_task: str
    """The paper's task that this one stands for."""
    kinds: tuple[str, ...] = KINDS
    """The bonuses to compare."""
    coefficients: tuple[tuple[str, float], ...] = ()
    """By kind of bonus; the preset's for the others."""
    steps: tuple[tuple[str, int], ...] = ()
    """Environment steps of a trial by number of contexts; the scale's for the others."""
    env: tuple[tuple[str, Any], ...] = ()
    """Environment settings."""

    @property
    def name(self) -> str:
        """The row's label."""
        return f"{self.task}, {self.feature}s"

    def settings(self, contexts: str, kind: str) -> dict[str, Any]:
        """Settings of one cell that differ from the scale's."""
        coefficient, steps = dict(self.coefficients).get(kind), dict(self.steps).get(contexts)
        return {
            "env": dict(self.env),
            **({} if coefficient is None else {"coefficient": coefficient}),
            **({} if steps is None else {"total_env_steps": steps}),
        }


def bonus_text(kind: str, feature: str) -> str:
    """The expression of one kind of bonus that counts `feature`."""
    return _TEXTS[kind].format(feature)


def _paper_rows() -> tuple[Row, ...]:
    """Every environment and feature of the paper's tables, with its numbers of contexts."""
    found: dict[tuple[str, Feature], list[str]] = {}
    for result in RESULTS:
        contexts = found.setdefault((result.task, result.feature), [])
        if result.contexts not in contexts:
            contexts.append(result.contexts)
    return tuple(Row(task, tuple(contexts), feature, task) for (task, feature), contexts in found.items())


PAPER_ROWS = _paper_rows()
