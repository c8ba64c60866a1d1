"""Number formats, and tables as CSV and LaTeX."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO

from bonuslab.platform.report.comparison import Cell
from bonuslab.platform.report.drawing import wrapped
from bonuslab.platform.report.paper_numbers import PaperResult
from bonuslab.platform.report.statistics import Estimate

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
    "<": "$<$",
    ">": "$>$",
    "β": r"$\beta$",
    "·": r"$\cdot$",
    "–": "--",
    "…": r"\dots{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_LATEX_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(_LATEX, key=len, reverse=True)))


def number(value: float) -> str:
    """Two decimals, or three digits from 10; with a true minus sign."""
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return ("0.00" if text == "-0.00" else text).replace("-", "−")


def mean_and_std(of: Cell | PaperResult) -> str:
    """`0.83 ± 0.04`, or the mean alone."""
    return number(of.mean) if of.std is None else f"{number(of.mean)} ± {number(of.std)}"


def interval(estimate: Estimate) -> str:
    """`[0.75, 0.90]`, or nothing."""
    if estimate.low is None or estimate.high is None:
        return ""
    if estimate.low == estimate.high:  # resampling equal values says nothing about the next one
        return "no spread"
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def mean_and_runs(estimate: Estimate, runs: Sequence[float]) -> tuple[str, str]:
    """The mean, and its interval, or the runs themselves where they are too few for one."""
    if estimate.low is not None:
        return number(estimate.value), interval(estimate)
    return number(estimate.value), "one run" if len(runs) == 1 else f"({', '.join(map(number, runs))})"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV with floats in eight digits; None is an empty cell."""
    written = StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{item:.8g}" if isinstance(item, float) else item for item in row] for row in rows)
    return written.getvalue()


def latex_table(header: Sequence[str], rows: Iterable[Sequence[str]], note: str) -> str:
    """A booktabs table of plain texts, bold where a text is between `**`; `note` is its caption.

    Long names take several lines; a table that is still wider than the line is scaled down to it.
    """
    head, *body = (" & ".join(map(_cell, row)) + r" \\" for row in (header, *rows))
    before = [
        f"% {note}",
        r"% needs \usepackage{booktabs,graphicx}",
        r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{@{{}}l{'c' * (len(header) - 1)}@{{}}}}",
    ]
    lines = [*before, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}}"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    lines = [latex(line) for line in wrapped(text).split("\n")]
    stacked = r" \\ ".join(lines)
    return rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{stacked}\end{{tabular}}" if len(lines) > 1 else stacked


def latex(text: str) -> str:
    """Plain text with LaTeX's special characters escaped."""
    bold = len(text) > 4 and text.startswith("**") and text.endswith("**")
    escaped = _LATEX_SIGN.sub(lambda found: _LATEX[found[0]], text[2:-2] if bold else text)
    return rf"\textbf{{{escaped}}}" if bold else escaped
