"""Write the results of a count study: finding.png, table.md, trials.csv, curves.csv, and variants.md if it has any."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from bonuslab.experiments.count_tables.cells import Cell, cells, expression, seeds_text, variant_of
from bonuslab.experiments.count_tables.figure import draw_finding
from bonuslab.experiments.count_tables.rows import ALL_KINDS, Row
from bonuslab.platform.report.comparison import Comparison, Score, compare
from bonuslab.platform.report.provenance import origin
from bonuslab.platform.report.tables import csv_text
from bonuslab.platform.report.trial_results import RETURN, WIN_RATE, GridResults, contexts_text, load
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.state import write_text

CURVE_POINTS = 40
"""Points per learning curve, each the mean over an equal interval of steps."""
_MEASURE = "Return at the end of training (mean over the last tenth of the steps)"


def write_study(grid: GridFolder, rows: Sequence[Row]) -> Path | None:
    """Write the folder `study` of a grid, finished or not; return the path of the figure, None without results."""
    results, _ = load(grid, lambda columns: WIN_RATE)
    comparison = compare(results, RETURN)
    found = cells(comparison, rows)
    if not found:
        return None
    out = grid.path / "study"
    out.mkdir(exist_ok=True)
    write_text(out / "table.md", table(found, comparison))
    if _has_variants(comparison):
        write_text(out / "variants.md", variants_table(comparison, found))
    write_text(out / "trials.csv", _trials(results, comparison, rows))
    write_text(out / "curves.csv", _curves(results))
    return draw_finding(found, out)


def table(found: Sequence[Cell], comparison: Comparison) -> str:
    """A Markdown table with ours above the paper's in each cell."""
    kinds = [kind for kind in ALL_KINDS if any(cell.kind == kind for cell in found)]
    lines = [f"| environment | counts | \\|C\\| | {' | '.join(kinds)} |", f"|{'---|' * (3 + len(kinds))}"]
    for row, contexts in dict.fromkeys((cell.row, cell.contexts) for cell in found):
        here = {cell.kind: cell for cell in found if (cell.row, cell.contexts) == (row, contexts)}
        texts = [_cell_text(here[kind]) if kind in here else "" for kind in kinds]
        lines.append(f"| {row.task} | {row.feature}s | {contexts_text(contexts)} | {' | '.join(texts)} |")
    note = (
        f"{_MEASURE}, mean ± standard deviation over {seeds_text(found)}; in italics the paper's result for the "
        "full-size task."
    )
    if _has_variants(comparison):
        note += " Of several variants a cell has the best, selected on these same returns; variants.md has all."
    for unit in comparison.partial:
        note += f" {unit}: not finished, values at {comparison.steps[unit]:,} steps."
    return "\n".join([*lines, "", note, ""])


def _has_variants(comparison: Comparison) -> bool:
    return len({variant_of(score) for score in comparison.scores}) > 1


def variants_table(comparison: Comparison, found: Sequence[Cell]) -> str:
    """A Markdown table of the returns of every variant and seed in every cell."""
    reached: dict[tuple[str, str, str, str], list[str]] = {}
    for score in comparison.scores:
        if score.value is not None:
            trial = score.trial
            key = (variant_of(score), trial.task, trial.contexts, trial.bonus)
            reached.setdefault(key, []).append(f"{score.value:.2f}")
    heads = [f"{cell.kind}, {cell.row.task}, \\|C\\| = {contexts_text(cell.contexts)}" for cell in found]
    lines = [f"| variant | {' | '.join(heads)} |", f"|{'---|' * (1 + len(found))}"]
    for variant in dict.fromkeys(variant for variant, *_ in reached):
        texts = [", ".join(reached.get((variant, cell.row.task, cell.contexts, cell.bonus), [])) for cell in found]
        lines.append(f"| {variant} | {' | '.join(texts)} |")
    return "\n".join([*lines, "", f"{_MEASURE}, seed by seed.", ""])


def _cell_text(cell: Cell) -> str:
    own = f"{cell.mean:.2f} ± {cell.std:.2f}" if len(cell.values) > 1 else f"{cell.mean:.2f}"
    return own if cell.paper is None else f"{own}<br>*{cell.paper.mean:.2f} ± {cell.paper.std:.2f}*"


def _trials(results: GridResults, comparison: Comparison, rows: Sequence[Row]) -> str:
    """Every trial with its outcome and provenance."""
    come_from = origin(results.description)
    kinds = {expression(kind, row.feature): (kind, row.feature) for row in rows for kind in ALL_KINDS}
    win_rates = {score.trial.id: score.value for score in compare(results, WIN_RATE).scores}

    def row(score: Score) -> tuple[object, ...]:
        trial = score.trial
        kind, feature = kinds.get(trial.bonus, (trial.scope, ""))
        return (
            trial.id,
            trial.task,
            trial.contexts,
            trial.bonus,
            "" if kind == "none" else feature,
            kind,
            variant_of(score),
            trial.seed,
            trial.state.status,
            trial.state.env_steps,
            score.value,
            win_rates[trial.id],
            trial.state.wall_seconds,
            trial.description.hyperparameters["coefficient"],
            " ".join(f"{name}={value}" for name, value in dict(trial.description.config["env"]).items()),
            *come_from,
        )

    header = (
        *("id", "task", "contexts", "bonus", "feature", "scope", "variant", "seed", "status", "env_steps"),
        *(RETURN, WIN_RATE, "wall_seconds", "coefficient", "env", "commit", "versions"),
    )
    return csv_text(header, [row(score) for score in comparison.scores])


def _curves(results: GridResults) -> str:
    """Return and win rate of every trial over its steps."""
    rows = []
    for trial in results.trials:
        returns, wins = trial.column(RETURN), trial.column(WIN_RATE)
        if not len(returns):
            continue
        edges = np.linspace(0, returns.steps[-1], CURVE_POINTS + 1)
        for low, high in pairwise(edges):
            inside = (returns.steps > low) & (returns.steps <= high)
            if inside.any():
                rate = wins.values[(wins.steps > low) & (wins.steps <= high)]
                mean_rate = float(rate.mean()) if len(rate) else None
                rows.append((trial.id, round(high), float(returns.values[inside].mean()), mean_rate))
    return csv_text(("id", "env_steps", RETURN, WIN_RATE), rows)
