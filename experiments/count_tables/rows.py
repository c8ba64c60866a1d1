"""The rows of the paper's count tables, and the smaller tasks that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bonuslab.platform.report.paper_numbers import RESULTS, Feature

KINDS = ("none", "global", "episodic", "combined")
"""The bonuses of the paper's tables, by scope."""
ADAPTIVE = "adaptive"
_TEXTS = {
    "none": "none",
    "global": "count.global({0})",
    "episodic": "count.episodic({0})",
    "combined": "count.episodic({0}) * count.global({0})",
    ADAPTIVE: "adaptive(count.episodic({0}), count.global({0}))",
}


@dataclass(frozen=True)
class Row:
    """One environment with one feature that is counted."""

    task: str
    contexts: tuple[str, ...]
    feature: Feature
    paper_task: str
    """The paper's task that this one is or stands for."""
    kinds: tuple[str, ...] = KINDS
    """The bonuses that are compared."""
    coefficients: tuple[tuple[str, float], ...] = ()
    """By kind of bonus, where it is not the preset's."""
    steps: tuple[tuple[str, int], ...] = ()
    """Length of a trial by number of contexts, where it is not the scale's."""
    env: tuple[tuple[str, Any], ...] = ()
    """Settings of its environment."""

    @property
    def name(self) -> str:
        """As tables print it."""
        return f"{self.task}, {self.feature}s"

    def settings(self, contexts: str, kind: str) -> dict[str, Any]:
        """What differs from the scale's settings in one cell."""
        coefficient, steps = dict(self.coefficients).get(kind), dict(self.steps).get(contexts)
        return {
            "env": dict(self.env),
            **({} if coefficient is None else {"coefficient": coefficient}),
            **({} if steps is None else {"total_env_steps": steps}),
        }


def bonus_text(kind: str, feature: Feature) -> str:
    """The expression of one kind of bonus on counts of `feature`."""
    return _TEXTS[kind].format(feature)


def _paper_rows() -> tuple[Row, ...]:
    """Every environment and feature of the paper's tables with its numbers of contexts."""
    found: dict[tuple[str, Feature], list[str]] = {}
    for result in RESULTS:
        contexts = found.setdefault((result.task, result.feature), [])
        if result.contexts not in contexts:
            contexts.append(result.contexts)
    return tuple(Row(task, tuple(contexts), feature, task) for (task, feature), contexts in found.items())


PAPER_ROWS = _paper_rows()
