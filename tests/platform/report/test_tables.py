"""Tables in LaTeX: escaped, without repeated rows, and typeset without a complaint where there is a TeX."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bonuslab.platform.report.tables import latex, latex_table

needs_tex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")


def test_latex_is_escaped() -> None:
    assert latex("a_b & 50% of e3b * rnd") == r"a\_b \& 50\% of e3b * rnd"
    assert latex("|C| = ∞, 0.5 ± −0.1") == r"$|\mathcal{C}| = \infty$, 0.5 $\pm$ $-$0.1"
    assert latex("**0.9**") == r"\textbf{0.9}"
    lines = latex_table(("task", "e3b"), [("x", "1")], "note").splitlines()
    assert lines[2:] == [
        r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        r"\begin{tabular}{@{}lc@{}}",
        r"\toprule",
        r"task & e3b \\",
        r"\midrule",
        r"x & 1 \\",
        r"\bottomrule",
        r"\end{tabular}}",
    ]


def test_latex_has_no_row_twice(rich_page: Path) -> None:
    lines = (rich_page.parent / "tables" / "aggregates.tex").read_text().splitlines()
    rows = [line for line in lines if line.endswith(r"\\")]
    assert len(rows) == len(set(rows)) == 1 + 5 + 1  # a header, five bonuses, and the scope that has two of them
    assert any(line.startswith("all episodic &") for line in rows)


def typeset(folder: Path, options: str, tables: list[Path]) -> str:
    """What pdflatex says about an article with these tables in running text and in floats."""
    inputs = (rf"\input{{{table}}}" for table in tables)
    body = "\n\n".join(rf"Text.\par{one}\par\begin{{table}}\centering{one}\caption{{c}}\end{{table}}" for one in inputs)
    article = rf"\documentclass[{options}]{{article}}\usepackage{{booktabs,graphicx}}"
    (folder / "article.tex").write_text(rf"{article}\begin{{document}}{body}\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "article.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_tex
@pytest.mark.parametrize("options", ["onecolumn", "twocolumn"])
def test_tables_of_a_report_fit_their_line(tmp_path: Path, rich_page: Path, options: str) -> None:
    tables = sorted((rich_page.parent / "tables").glob("*.tex"))
    assert {table.name for table in tables} >= {"aggregates.tex", "contexts.tex", "tasks.tex"}
    said = typeset(tmp_path, options, tables)
    assert "Overfull" not in said, said


@needs_tex
def test_long_names_take_lines_instead_of_small_letters(tmp_path: Path) -> None:
    nested = "adaptive(first=count.episodic(feature=message), second=count.global(feature=message))"
    table = tmp_path / "long.tex"
    table.write_text(
        latex_table(("bonus", "return_é & 50 %"), [(nested, "0.90 ± 0.01"), ("e3b", "−1.00 … |C|")], "a_b")
    )
    assert table.read_text().count(r"\begin{tabular}[t]") == 1
    assert "Overfull" not in typeset(tmp_path, "onecolumn", [table])
