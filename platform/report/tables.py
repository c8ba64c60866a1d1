"""Cells of tables, number formats, and tables as CSV and LaTeX."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import StringIO

import numpy as np

from bonuslab.platform.report.comparison import Comparison
from bonuslab.platform.report.statistics import Estimate
from bonuslab.platform.report.trial_results import GridResults

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|C| = ∞": r"$|\mathcal{C}| = \infty$",
    "|C|": r"$|\mathcal{C}|$",
    "∞": r"$\infty$",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "ψ": r"$\psi$",
    "−": "$-$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_LATEX_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(_LATEX, key=len, reverse=True)))


@dataclass(frozen=True)
class Cell:
    """Mean ± standard deviation over the runs of one method on one task."""

    mean: float
    std: float | None
    """Sample standard deviation (n − 1); None with one run."""
    runs: int
    planned: int
    """Trials in the grid."""
    best: bool = False
    """The best mean of its row."""


def cell_of(values: np.ndarray, planned: int) -> Cell | None:
    """Mean ± std of the runs; None without any."""
    if not len(values):
        return None
    return Cell(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None, len(values), planned)


def task_table(
    results: GridResults, comparison: Comparison, methods: Iterable[str]
) -> dict[str, dict[str, Cell | None]]:
    """By task and method; the best mean of each row is marked where means differ."""
    table = {}
    best = min if comparison.lower_is_better else max
    for unit in results.units:
        planned = [trial.method for trial in results.trials if trial.unit == unit]
        row = {method: cell_of(comparison.runs(method, unit), planned.count(method)) for method in methods}
        means = [cell.mean for cell in row.values() if cell]
        differ = len(set(means)) > 1
        table[unit] = {
            method: cell and replace(cell, best=differ and cell.mean == best(means)) for method, cell in row.items()
        }
    return table


def number(value: float) -> str:
    """Two decimals, or three digits from 10; with a true minus sign."""
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return ("0.00" if text == "-0.00" else text).replace("-", "−")


def mean_and_std(mean: float, std: float | None) -> str:
    """`0.83 ± 0.04`, or the mean alone."""
    return number(mean) if std is None else f"{number(mean)} ± {number(std)}"


def interval(estimate: Estimate) -> str:
    """`[0.75, 0.90]`, or nothing."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV with floats in eight digits; None is an empty cell."""
    written = StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{item:.8g}" if isinstance(item, float) else item for item in row] for row in rows)
    return written.getvalue()


def latex_table(header: Sequence[str], rows: Iterable[Sequence[str]], note: str) -> str:
    """A booktabs table of plain texts, bold where a text is between `**`; `note` is its caption."""
    lines = [
        f"% {note}",
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'c' * (len(header) - 1)}}}",
        r"\toprule",
        " & ".join(latex(text) for text in header) + r" \\",
        r"\midrule",
        *(" & ".join(latex(text) for text in row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def latex(text: str) -> str:
    """Plain text with LaTeX's special characters escaped."""
    bold = len(text) > 4 and text.startswith("**") and text.endswith("**")
    escaped = _LATEX_SIGN.sub(lambda found: _LATEX[found[0]], text[2:-2] if bold else text)
    return rf"\textbf{{{escaped}}}" if bold else escaped
