"""The page: one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.report import paper_numbers
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import LAST_SHARE, Score
from bonuslab.platform.report.episodes import MOST, Episode
from bonuslab.platform.report.figures import FILE_TYPES, Figure, variable
from bonuslab.platform.report.provenance import Provenance
from bonuslab.platform.report.statistics import CONFIDENCE, RESAMPLES, RESAMPLES_OF_CURVES, SEED
from bonuslab.platform.report.tables import interval, mean_and_std, number
from bonuslab.platform.report.trial_map import SILENT_SECONDS, trial_map
from bonuslab.platform.report.trial_results import contexts_text
from bonuslab.platform.run.redaction import redacted

HERE = Path(__file__).parent
FEW_SEEDS = 3
MOST_BYTES_INSIDE = 100_000
"""Longer tables are not embedded in the page, which links to the files beside it."""
_STATUSES = {"finished": "finished", "running": "running", "failed": "failed", "waiting": "not started"}
_KINDS = {".csv": ("text/csv", "CSV"), ".tex": ("application/x-tex", "LaTeX")}


@dataclass(frozen=True)
class Shown:
    """A figure on the page: its panels as SVG, and its files."""

    figure: Figure
    svgs: list[str]

    @property
    def groups(self) -> dict[str, list[tuple[str, Markup]]]:
        """Title and picture of each panel by heading."""
        groups: dict[str, list[tuple[str, Markup]]] = {}
        for panel, svg in zip(self.figure.panels, self.svgs, strict=False):
            group, title = (panel.group, panel.row) if panel.group else ("", panel.title)
            groups.setdefault(group, []).append((title, Markup(svg)))
        return groups

    @property
    def files(self) -> list[tuple[str, str]]:
        """Name and address of each file."""
        return [(kind.upper(), f"figures/{self.figure.name}.{kind}") for kind in FILE_TYPES]


def render(
    analysis: Analysis,
    provenance: Provenance,
    figures: Mapping[str, Shown],
    files: Mapping[str, str],
    episodes: Sequence[Episode] = (),
) -> str:
    """The page's HTML. `files` are the tables, which are embedded for download."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "number": number,
        "interval": interval,
        "contexts": contexts_text,
        "variable": variable,
        "thousands": lambda value: f"{value:,}",
    }
    environment.globals |= {"mean_and_std": mean_and_std, "downloads": lambda *names: _downloads(files, names)}
    return (
        environment.get_template("page.html")
        .render(
            **_facts(analysis),
            analysis=analysis,
            provenance=provenance,
            figures=figures,
            episodes=episodes,
            most_episodes=MOST,
            paper=paper_numbers,
            css=Markup((HERE / "page.css").read_text()),
            method_text={
                "confidence": f"{CONFIDENCE:.0%}",
                "resamples": RESAMPLES,
                "resamples_of_curves": RESAMPLES_OF_CURVES,
                "seed": SEED,
                "last_share": f"{LAST_SHARE:.0%}",
            },
        )
        .lstrip()
    )


def _facts(analysis: Analysis) -> dict[str, Any]:
    """Values for the template."""
    results, comparison = analysis.results, analysis.comparison
    about = find(comparison.metric)
    trials = results.trials
    statuses = {status: sum(trial.state.status == status for trial in trials) for status in _STATUSES}
    used = [score for score in comparison.scores if score.value is not None]
    counts = [cell.runs for cells in analysis.tasks.values() for cell in cells.values() if cell]
    return {
        "description": results.description,
        "metric": comparison.metric,
        "is_evaluation": comparison.metric.startswith("evaluation/"),
        "num_trials": len(trials),
        "statuses": statuses,
        "status_words": _STATUSES,
        "num_used": len(used),
        "full_steps": _span([steps for unit, steps in comparison.steps.items() if unit not in comparison.partial]),
        "partial_steps": _span([comparison.steps[unit] for unit in comparison.partial]),
        "left_out_methods": [name for name in analysis.methods if name not in analysis.compared],
        "left_out_units": [unit for unit in results.units if unit not in comparison.common_units],
        "few_seeds": min(counts) if counts and min(counts) < FEW_SEEDS else 0,
        "ranking": sorted(
            analysis.by_bonus.items(), key=lambda item: item[1]["IQM"].value, reverse=not comparison.lower_is_better
        ),
        "direction": {True: "Higher is better.", False: "Lower is better.", None: ""}[about.higher_is_better],
        "meaning": about.meaning,
        "map": trial_map(analysis),
        "silent_minutes": SILENT_SECONDS // 60,
        "failures": [_failure(score) for score in comparison.scores if score.trial.state.status == "failed"],
        "seeds": sorted({trial.seed for trial in trials}, key=lambda seed: (len(seed), seed)),
        "several_in_scope": {
            scope: sum(analysis.results.scopes[name] == scope for name in analysis.compared) > 1
            for scope in analysis.by_scope
        },
        "against_e3b": _against_e3b(analysis),
        "has_ngu": any("ngu" in name for name in analysis.compared),
        "unused": [score for score in comparison.scores if score.value is None],
        "paper_in_contexts": any(study.paper for study in analysis.contexts),
        "colours": analysis.scope_styles | analysis.styles,
        "families": {
            "habitat": _any_task(analysis, "hm3d", "apartment"),
            "montezuma": _any_task(analysis, "montezuma"),
        },
    }


def _span(steps: list[int]) -> str:
    """`1,000`, or `1,000 to 2,000`, or nothing."""
    return " to ".join(dict.fromkeys(f"{one:,}" for one in (min(steps), max(steps)))) if steps else ""


def _failure(score: Score) -> dict[str, Any]:
    state = score.trial.state
    return {
        "id": score.trial.id,
        "error": redacted(state.error) or "no reason recorded",
        "attempts": state.attempts,
        "steps": state.env_steps,
        "total": state.total_env_steps,
        "used": score.value is not None,
    }


def _against_e3b(analysis: Analysis) -> list[dict[str, Any]]:
    """Each bonus that contains E3B or NGU against E3B alone, as discussed in the paper."""
    alone = "e3b"
    if alone not in analysis.compared:
        return []
    return [
        {
            "name": name,
            "IQM": analysis.by_bonus[name]["IQM"],
            "median": analysis.by_bonus[name]["median"],
            "chance": analysis.improvement.get((name, alone)),
        }
        for name in analysis.compared
        if "e3b" in name or "ngu" in name
    ]


def _any_task(analysis: Analysis, *beginnings: str) -> bool:
    return any(trial.task.lower().startswith(beginnings) for trial in analysis.results.trials)


def _downloads(files: Mapping[str, str], names: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Label, file name and address; a data URL unless the file is long."""
    found = []
    for name in names:
        kind, label = _KINDS[Path(name).suffix]
        if len(files[name]) > MOST_BYTES_INSIDE:
            found.append((label, name, f"tables/{name}"))
            continue
        data = base64.b64encode(files[name].encode()).decode()
        found.append((label, name, f"data:{kind};charset=utf-8;base64,{data}"))
    return found
