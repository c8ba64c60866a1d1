"""The place of each trial in the heat map: a panel per bonus, a row per task, a column per seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bonuslab.platform.pictures.palette import bonus_styles, shown_scope
from bonuslab.platform.run.folder import GridDescription, TrialDescription
from bonuslab.platform.run.results import WIN_RATE

Place = tuple[str, str]
"""A name along the map, and a note where the grid varies something else."""


def metric_of(description: GridDescription) -> str:
    """The column that a grid is judged by."""
    metric = description.options.get("metric")
    return metric if isinstance(metric, str) and metric else WIN_RATE


def layout_of(description: GridDescription) -> dict[str, Any]:
    """Panels ordered by scope as in the report, rows and seeds as the grid names them, and the place of every trial."""
    trials = description.trials
    scopes = {_label(trial, "bonus"): _label(trial, "scope") or "none" for trial in trials}
    styles = bonus_styles(scopes)
    order = list(styles)
    rows = _places(trials, "task", "contexts")
    panels = _places(trials, "bonus", "variant")
    kept_rows = list(dict.fromkeys(rows))
    kept_panels = sorted(dict.fromkeys(panels), key=lambda panel: order.index(panel[0]))
    seeds = list(dict.fromkeys(_label(trial, "seed") for trial in trials))
    return {
        "rows": [{"label": label, "note": _contexts(note)} for label, note in kept_rows],
        "panels": [
            {
                "label": label,
                "note": note,
                "scope": shown_scope(label, scopes[label]),
                "colour": styles[label].colour,
                "darkColour": styles[label].dark_colour,
                "dash": list(styles[label].dash),
            }
            for label, note in kept_panels
        ],
        "seeds": seeds,
        "trials": [
            {
                "id": trial.id,
                "row": kept_rows.index(row),
                "panel": kept_panels.index(panel),
                "seed": seeds.index(_label(trial, "seed")),
            }
            for trial, row, panel in zip(trials, rows, panels, strict=True)
        ],
    }


def _places(trials: Sequence[TrialDescription], name: str, note: str) -> list[Place]:
    """The place of every trial along one axis; with the note only where the grid varies it."""
    varies = len({_label(trial, note) for trial in trials}) > 1
    return [(_label(trial, name), _label(trial, note) if varies else "") for trial in trials]


def _contexts(count: str) -> str:
    return f"{count} context{'' if count == '1' else 's'}" if count else ""


def _label(trial: TrialDescription, name: str) -> str:
    return str(trial.labels.get(name, ""))
