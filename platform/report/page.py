"""The page: one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.report import paper_numbers
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import final_value
from bonuslab.platform.report.drawing import Figure, variable
from bonuslab.platform.report.provenance import provenance
from bonuslab.platform.report.statistics import (
    CONFIDENCE,
    FEWEST_RUNS,
    FEWEST_RUNS_TO_COMPARE,
    RESAMPLES,
    RESAMPLES_OF_CURVES,
    SEED,
)
from bonuslab.platform.report.tables import interval, mean_and_runs, mean_and_std, number
from bonuslab.platform.report.trial_map import SILENT_SECONDS, trial_map
from bonuslab.platform.report.trial_results import RETURN, GridResults, Trial, contexts_text
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.results import FEWEST_EPISODES, LAST_SHARE

HERE = Path(__file__).parent
MOST_COLUMNS = 6
"""Tasks with a column of their own in the first table; more are averaged."""
MOST_EPISODES = 12
"""Pictures of episodes on the page; every trial's own is in its folder."""
MOST_BYTES_INSIDE = 100_000
"""Longer tables are not embedded in the page, which links to the files beside it."""
_STATUSES = {"finished": "finished", "running": "running", "failed": "failed", "waiting": "not started"}
_KINDS = {".csv": ("text/csv;charset=utf-8", "CSV"), ".tex": ("application/x-tex;charset=utf-8", "LaTeX")}


def render(folder: GridFolder, analysis: Analysis, figures: Mapping[str, Figure], files: Mapping[str, str]) -> str:
    """The page's HTML. `files` are the tables, which are embedded for download."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "interval": interval,
        "mean_and_std": mean_and_std,
        "contexts": contexts_text,
        "variable": variable,
        "redacted": redacted,
        "thousands": lambda value: f"{value:,}",
    }
    values = _facts(analysis) | {
        "figures": figures,
        "opening": next((name for name in ("contexts", "headline") if name in figures), ""),
        "opening_is_mean": "headline" not in figures or len(analysis.headline) < len(analysis.curves),
        "downloads": lambda *names: [_download(name, files[name]) for name in names],
        "provenance": provenance(analysis.results),
        "episodes": _episodes(folder, analysis.results),
        "most_episodes": MOST_EPISODES,
        "paper": paper_numbers,
        "css": Markup((HERE / "page.css").read_text()),
        "method_text": {
            "confidence": f"{CONFIDENCE:.0%}",
            "resamples": RESAMPLES,
            "resamples_of_curves": RESAMPLES_OF_CURVES,
            "seed": SEED,
            "last_share": f"{LAST_SHARE:.0%}",
            "fewest_runs": FEWEST_RUNS,
            "fewest_to_compare": FEWEST_RUNS_TO_COMPARE,
            "fewest_episodes": FEWEST_EPISODES,
        },
    }
    return environment.get_template("page.html").render(values).lstrip()


def _facts(analysis: Analysis) -> dict[str, Any]:
    """Values for the template."""
    results, comparison, compared = analysis.results, analysis.comparison, analysis.compared
    about = find(comparison.metric)
    trials, scores = results.trials, comparison.scores
    counts = [cell.runs for cells in analysis.tasks.values() for cell in cells.values() if cell]
    unused = [score for score in scores if score.value is None]
    tasks = [trial.task.lower() for trial in trials]
    return {
        "analysis": analysis,
        "comparison": comparison,
        "description": results.description,
        "metric": comparison.metric,
        "about": about,
        "num_trials": len(trials),
        "statuses": {status: sum(trial.state.status == status for trial in trials) for status in _STATUSES},
        "status_words": _STATUSES,
        "num_used": len(scores) - len(unused),
        "unused": unused,
        "full_steps": _span([steps for unit, steps in comparison.steps.items() if unit not in comparison.partial]),
        "partial_steps": _span([comparison.steps[unit] for unit in comparison.partial]),
        "left_out_methods": [name for name in analysis.methods if name not in compared],
        "left_out_units": [unit for unit in results.units if unit not in comparison.common_units],
        "few_seeds": min(counts) if counts and min(counts) < FEWEST_RUNS else 0,
        "ranking": sorted(
            analysis.by_bonus.items(), key=lambda item: item[1]["IQM"].value, reverse=not comparison.lower_is_better
        ),
        "first_table": _first_table(analysis),
        "curve_caption": _curve_caption(analysis),
        "returns": {
            trial.id: final_value(trial.column(RETURN), float(trial.column(RETURN).steps[-1]), evaluation=False)
            for trial in trials
            if len(trial.column(RETURN))
        },
        "map": trial_map(analysis),
        "silent_minutes": SILENT_SECONDS // 60,
        "failures": [score for score in scores if score.trial.state.status == "failed"],
        "seeds": sorted({trial.seed for trial in trials}, key=lambda seed: (len(seed), seed)),
        "compared_scopes": [results.scopes[name] for name in compared],
        # As discussed in the paper: each bonus that contains E3B or NGU against E3B alone.
        "like_e3b": [name for name in compared if "e3b" in name or "ngu" in name] if "e3b" in compared else [],
        "has_ngu": any("ngu" in name for name in compared),
        "colours": analysis.scope_styles | analysis.styles,
        "has_habitat": any(task.startswith(("hm3d", "apartment")) for task in tasks),
        "has_montezuma": any(task.startswith("montezuma") for task in tasks),
    }


def _first_table(analysis: Analysis) -> dict[str, Any]:
    """Titles of its columns, and its cells by method: the tasks', or the mean over tasks and where it is the best."""
    comparison, units = analysis.comparison, [unit for unit in analysis.results.units if analysis.estimates[unit]]
    if len(units) <= MOST_COLUMNS:
        rows: dict[str, list[Any]] = {}
        for name in analysis.methods:
            rows[name] = [_cell(analysis, name, unit) for unit in units]
        return {"titles": units if len(units) > 1 else [find(comparison.metric).axis], "rows": rows}
    means = {name: of["mean"] for name, of in analysis.by_bonus.items()}
    best = (min if comparison.lower_is_better else max)(one.value for one in means.values())
    common = comparison.common_units
    rows = {name: [None, None] for name in analysis.methods}
    for name, mean in means.items():
        firsts = sum(bool((cell := analysis.tasks[unit][name]) and cell.best) for unit in common)
        whole = {"mean": number(mean.value), "runs": interval(mean), "best": mean.value == best}
        rows[name] = [whole, {"mean": firsts, "runs": f"of {len(common)} tasks", "best": False}]
    return {"titles": [f"mean over {len(common)} tasks", "best on"], "rows": rows}


def _cell(analysis: Analysis, method: str, unit: str) -> dict[str, Any] | None:
    estimate, cell = analysis.estimates[unit].get(method), analysis.tasks[unit][method]
    if estimate is None or cell is None:
        return None
    mean, runs = mean_and_runs(estimate, analysis.comparison.runs(method, unit).tolist())
    if cell.runs < cell.planned:
        runs = f"{runs if cell.runs > 1 else ''} {cell.runs} of {cell.planned} runs".lstrip()
    return {"mean": mean, "runs": runs, "best": cell.best}


def _curve_caption(analysis: Analysis) -> str:
    """What the curves show."""
    column, metric = analysis.curve_column, analysis.comparison.metric
    label = find(column).axis
    where = "on held-out contexts" if column.startswith("evaluation/") else "in training"
    few = f" (evaluations of {find(metric).axis} are too few for a curve)" if column != metric else ""
    return (
        f"{label[0].upper()}{label[1:]} {where}{few}: mean over seeds; band: its {CONFIDENCE:.0%} bootstrap interval, "
        "with two seeds their range. Fainter: some seeds have no value yet."
    )


def _span(steps: list[int]) -> str:
    """`1,000`, or `1,000 to 2,000`, or nothing."""
    return " to ".join(dict.fromkeys(f"{one:,}" for one in (min(steps), max(steps)))) if steps else ""


def _episodes(folder: GridFolder, results: GridResults) -> list[tuple[Trial, str]]:
    """The first trial with a picture of each bonus on each task, in the grid's order, and the picture's address."""
    chosen: dict[tuple[str, str], Trial] = {}
    for trial in (trial for unit in results.units for trial in results.of(unit)):
        if (trial.unit, trial.method) not in chosen and folder.trial(trial.id).summary.is_file():
            chosen[trial.unit, trial.method] = trial
    first = list(chosen.values())[:MOST_EPISODES]
    return [(trial, _data_url("image/png", folder.trial(trial.id).summary.read_bytes())) for trial in first]


def _download(name: str, text: str) -> tuple[str, str, str]:
    """Label, file name and address of a table; a data URL unless it is long."""
    kind, label = _KINDS[Path(name).suffix]
    return label, name, f"tables/{name}" if len(text) > MOST_BYTES_INSIDE else _data_url(kind, text.encode())


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
