"""The outcome of a count study: for each row, number of contexts and kind of bonus the final return of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.experiments.count_tables.rows import ADAPTIVE, KINDS, Row, bonus_text
from bonuslab.platform.report.comparison import Comparison, Score
from bonuslab.platform.report.paper_numbers import RESULTS


@dataclass(frozen=True)
class Cell:
    """One kind of bonus in one setting."""

    row: Row
    contexts: str
    kind: str
    values: tuple[float, ...]
    """The final return of each seed that has one."""
    paper: tuple[float, float] | None
    """Mean and standard deviation that the paper prints."""

    @property
    def bonus(self) -> str:
        """Its expression."""
        return str(parse(bonus_text(self.kind, self.row.feature)))

    @property
    def mean(self) -> float:
        """Over seeds."""
        return fmean(self.values)

    @property
    def std(self) -> float:
        """Over seeds; 0 for a single one."""
        return stdev(self.values) if len(self.values) > 1 else 0.0


def cells(comparison: Comparison, rows: Sequence[Row]) -> list[Cell]:
    """Every cell of the tables that has a value, in the order of rows, contexts and kinds.

    Where a study tries several variants, a cell holds the best of those that play the same environment as the first, as
    the paper's cells hold the best of several coefficients.
    """
    found = []
    for row in rows:
        for contexts in row.contexts:
            for kind in (*KINDS, ADAPTIVE):
                wanted = (row.task, contexts, str(parse(bonus_text(kind, row.feature))))
                trials = [(score, score.trial) for score in comparison.scores]
                here = [score for score, trial in trials if (trial.task, trial.contexts, trial.bonus) == wanted]
                if values := _best_variant(here):
                    found.append(Cell(row, contexts, kind, values, paper_cell(row, contexts, kind)))
    return found


def seeds_text(found: Sequence[Cell]) -> str:
    """`5 seeds`, or `3 to 5 seeds` where cells have different numbers of them."""
    counts = [len(cell.values) for cell in found]
    fewest, most = min(counts), max(counts)
    return f"{fewest} to {most} seeds" if fewest < most else f"{most} seed{'s' if most > 1 else ''}"


def paper_cell(row: Row, contexts: str, kind: str) -> tuple[float, float] | None:
    """What the paper prints for the setting that a row stands for."""
    wanted = (row.paper_task, contexts, row.feature, kind)
    for result in RESULTS:
        if (result.task, result.contexts, result.feature, result.scope) == wanted:
            return result.mean, result.std
    return None


def _best_variant(scores: Sequence[Score]) -> tuple[float, ...]:
    by_variant: dict[str, list[float]] = {}
    for score in scores:
        # Returns of another environment, such as one without penalties, cannot be compared.
        if score.value is not None and _env(score) == _env(scores[0]):
            by_variant.setdefault(variant_of(score), []).append(score.value)
    return tuple(max(by_variant.values(), key=fmean)) if by_variant else ()


def _env(score: Score) -> dict[str, Any]:
    return dict(score.trial.description.config["env"])


def variant_of(score: Score) -> str:
    """The variant of a score's trial."""
    return score.trial.description.labels.get("variant", "")
