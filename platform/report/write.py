"""Writes the report of a grid: index.html, figures/ and tables/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import choose_metric
from bonuslab.platform.report.data_files import data_files
from bonuslab.platform.report.figures import figures
from bonuslab.platform.report.page import render
from bonuslab.platform.report.search_page import write_search_report
from bonuslab.platform.report.search_records import is_search
from bonuslab.platform.report.trial_results import RETURN, WIN_RATE, has_wins, load
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.state import write_text

PAGE = "index.html"


def write_report(
    folder: GridFolder,
    out: Path | None = None,
    metric: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write the report of a grid, finished or not, and return the path of its page.

    `out` defaults to the grid's report folder. `metric`, the column to compare, defaults to the experiment's or else
    the win rate, which also takes the return's place where some episode was won: its scale is the same on every task.
    `tell` is called with a line per stage of the work.
    """
    out = folder.report if out is None else Path(out)
    with _writing(out):  # before the work, to fail early
        for part in ("figures", "tables"):
            (out / part).mkdir(parents=True, exist_ok=True)
    description = folder.description()
    tell(f"reading {len(description.trials):,} trials of {folder.path}")
    if is_search(description):  # its samples have different settings and lengths, so there is nothing to compare
        with _writing(out):
            write_text(out / PAGE, write_search_report(folder, out, tell))
        return out / PAGE
    configured = description.options.get("metric")
    results, column = load(folder, lambda columns: choose_metric(metric, configured, columns))
    if metric is None and column == RETURN and has_wins(results):
        column = WIN_RATE
    tell(f"comparing {column}")
    analysis = Analysis(results, column)
    files = data_files(analysis)
    drawn = {figure.name: figure for figure in figures(analysis)}
    with _writing(out):
        for name, text in files.items():
            write_text(out / "tables" / name, text)
        for name, figure in drawn.items():
            tell(f"drawing {name}")
            figure.save(out / "figures")
        tell("writing the page")
        write_text(out / PAGE, render(folder, analysis, drawn, files))
    return out / PAGE


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {out}: {error.strerror or error}") from error
