"""Writes the report of a grid: index.html, figures/ and tables/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.report import figure_set
from bonuslab.platform.report.analysis import Analysis, analyse
from bonuslab.platform.report.comparison import choose_metric
from bonuslab.platform.report.data_files import data_files
from bonuslab.platform.report.drawing import Styles
from bonuslab.platform.report.episodes import episodes
from bonuslab.platform.report.figures import Figure, panel_svg, save
from bonuslab.platform.report.page import Shown, render
from bonuslab.platform.report.provenance import provenance
from bonuslab.platform.report.trial_results import load
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

    `out` defaults to the grid's report folder, `metric` (the column to compare) to the experiment's or else the win
    rate; `tell` is called with a line per stage of the work.
    """
    out = folder.report if out is None else Path(out)
    with _writing(out):  # before the work, to fail early
        for part in ("figures", "tables"):
            (out / part).mkdir(parents=True, exist_ok=True)
    description = folder.description()
    tell(f"reading {len(description.trials):,} trials of {folder.path}")
    configured = description.options.get("metric")
    results, column = load(folder, lambda columns: choose_metric(metric, configured, columns))
    tell(f"comparing {column}")
    analysis = analyse(results, column)
    files = data_files(analysis)
    with _writing(out):
        for name, text in files.items():
            write_text(out / "tables" / name, text)
        shown = _draw(analysis, out / "figures", tell)
        tell("writing the page")
        write_text(out / PAGE, render(analysis, provenance(results), shown, files, episodes(folder, results)))
    return out / PAGE


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"cannot write the report to {out}: {error.strerror or error}") from error


def _draw(analysis: Analysis, folder: Path, tell: Callable[[str], None]) -> dict[str, Shown]:
    made = [
        figure_set.aggregates(analysis, scopes=False),
        figure_set.aggregates(analysis, scopes=True) if analysis.scopes_differ else None,
        figure_set.profiles(analysis),
        figure_set.improvement(analysis),
        figure_set.contexts(analysis),
        figure_set.learning_curves(analysis),
        figure_set.bonus_evolution(analysis),
    ]
    shown = {}
    for figure in made:
        if figure is not None:
            tell(f"drawing {figure.name}")
            styles = analysis.scope_styles if figure.name == "scopes" else analysis.styles
            save(figure, styles, folder)
            shown[figure.name] = Shown(figure, _svgs(figure, styles))
    return shown


def _svgs(figure: Figure, styles: Styles) -> list[str]:
    """The panels for the page, where the probabilities of improvement are a table."""
    if figure.name == "improvement":
        return []
    return [panel_svg(figure, number, styles) for number in range(len(figure.panels))]
