"""Final returns of a count study by row, number of contexts and kind of bonus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.experiments.count_tables.rows import ALL_KINDS, Row, bonus_text
from bonuslab.platform.report.comparison import Comparison, Score
from bonuslab.platform.report.paper_numbers import PaperResult, paper_cell


@dataclass(frozen=True)
class Cell:
    """One kind of bonus in one setting."""

    row: Row
    contexts: str
    kind: str
    values: tuple[float, ...]
    """Final returns, one per seed that has results."""
    paper: PaperResult | None
    """For the setting that the row stands for."""

    @property
    def bonus(self) -> str:
        """The bonus as an expression."""
        return expression(self.kind, self.row.feature)

    @property
    def mean(self) -> float:
        """Over seeds."""
        return fmean(self.values)

    @property
    def std(self) -> float:
        """Over seeds; 0 for a single seed."""
        return stdev(self.values) if len(self.values) > 1 else 0.0


def cells(comparison: Comparison, rows: Sequence[Row]) -> list[Cell]:
    """All table cells with a value, ordered by row, contexts and kind.

    Of several variants a cell has the best one that uses the same environment as the first, as the paper's cells have
    the best of several coefficients.
    """
    scores: dict[tuple[str, str, str], list[Score]] = {}
    for score in comparison.scores:
        scores.setdefault((score.trial.task, score.trial.contexts, score.trial.bonus), []).append(score)
    found = []
    for row in rows:
        for contexts, kind in product(row.contexts, ALL_KINDS):
            if values := _best_variant(scores.get((row.task, contexts, expression(kind, row.feature)), [])):
                paper = paper_cell(row.paper_task, contexts, row.feature, kind)
                found.append(Cell(row, contexts, kind, values, paper))
    return found


def expression(kind: str, feature: str) -> str:
    """The canonical text of a kind of bonus, as trials have it."""
    return str(parse(bonus_text(kind, feature)))


def seeds_text(found: Sequence[Cell]) -> str:
    """`5 seeds`, or `3 to 5 seeds` if cells differ."""
    counts = [len(cell.values) for cell in found]
    fewest, most = min(counts), max(counts)
    return f"{fewest} to {most} seeds" if fewest < most else f"{most} seed{'s' if most > 1 else ''}"


def _best_variant(scores: Sequence[Score]) -> tuple[float, ...]:
    by_variant: dict[str, list[float]] = {}
    for score in scores:
        # Returns in another environment, such as one without penalties, are not comparable.
        if score.value is not None and _env(score) == _env(scores[0]):
            by_variant.setdefault(variant_of(score), []).append(score.value)
    return tuple(max(by_variant.values(), key=fmean)) if by_variant else ()


def _env(score: Score) -> dict[str, Any]:
    return dict(score.trial.description.config["env"])


def variant_of(score: Score) -> str:
    """The variant of the score's trial."""
    return score.trial.description.labels.get("variant", "")
