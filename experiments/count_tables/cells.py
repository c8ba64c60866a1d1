"""The outcome of a count study: for each row, number of contexts and kind of bonus the final return of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

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

    Where a study tries several coefficients, a cell holds the best of them, as the paper's do.
    """
    found = []
    for row in rows:
        for contexts in row.contexts:
            for kind in (*KINDS, ADAPTIVE):
                values = _best_variant(comparison.scores, row.task, contexts, str(parse(bonus_text(kind, row.feature))))
                if values:
                    found.append(Cell(row, contexts, kind, values, paper_cell(row, contexts, kind)))
    return found


def seeds_text(found: Sequence[Cell]) -> str:
    """`5 seeds`, or `3 to 5 seeds` where cells have different numbers of them."""
    counts = [len(cell.values) for cell in found]
    return f"{' to '.join(map(str, dict.fromkeys((min(counts), max(counts)))))} seeds"


def paper_cell(row: Row, contexts: str, kind: str) -> tuple[float, float] | None:
    """What the paper prints for the setting that a row stands for."""
    wanted = (row.paper_task, contexts, row.feature, kind)
    for result in RESULTS:
        if (result.task, result.contexts, result.feature, result.scope) == wanted:
            return result.mean, result.std
    return None


def _best_variant(scores: Sequence[Score], task: str, contexts: str, bonus: str) -> tuple[float, ...]:
    by_variant: dict[str, list[float]] = {}
    for score in scores:
        trial = score.trial
        if score.value is not None and (trial.task, trial.contexts, trial.bonus) == (task, contexts, bonus):
            by_variant.setdefault(trial.description.labels.get("variant", ""), []).append(score.value)
    return tuple(max(by_variant.values(), key=fmean)) if by_variant else ()
