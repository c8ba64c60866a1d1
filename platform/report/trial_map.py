"""Every trial of a grid at a glance: task × bonus × seed, with status and value."""

from __future__ import annotations

import time
from typing import Any

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import Score
from bonuslab.platform.report.tables import number

SILENT_SECONDS = 600
"""A running trial without an update for this long has probably stopped."""
MOST_IN_A_ROW = 16
"""A row with more trials is compact."""


def trial_map(analysis: Analysis) -> dict[str, Any]:
    """Boxes by task and method, one per seed, as the page shows them; none where the grid has no such trial."""
    comparison, units = analysis.comparison, analysis.results.units
    compact = max((len(analysis.results.of(unit)) for unit in units), default=0) > MOST_IN_A_ROW
    values = [score.value for score in comparison.scores if score.value is not None]
    shades = min([0.0, *values]), max([1.0, *values])
    boxes: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for score in comparison.scores:
        here = boxes.setdefault((score.trial.unit, score.trial.method), [])
        here.append(_box(score, find(comparison.metric).label, shades, compact))
    return {
        "rows": [(unit, [boxes.get((unit, method), []) for method in analysis.methods]) for unit in units],
        "compact": compact,
        "any_silent": any(box["silent"] for of in boxes.values() for box in of),
    }


def _box(score: Score, label: str, shades: tuple[float, float], compact: bool) -> dict[str, Any]:
    """One trial: its text and tooltip, and the strength of its shading from 0 to 1."""
    state, value = score.trial.state, score.value
    silence = time.time() - state.updated if state.status == "running" and state.updated else 0.0
    done = f"{state.fraction_done:.0%}"
    text, words = {
        "waiting": ("·", "not started"),
        "running": (done, f"running, {done} done"),
        "failed": ("✗", f"failed at {state.env_steps:,} steps"),
        "finished": ("✓" if value is None else _short(value) if compact else number(value), "finished"),
    }[state.status]
    if silence > SILENT_SECONDS:
        words += f", no update for {_duration(silence)}"
    level = 0.0
    if value is not None:
        words += f", {label} {number(value)}"
        level = round((value - shades[0]) / (shades[1] - shades[0]), 2)
    title = f"seed {score.trial.seed}: {words}"
    return {"status": state.status, "text": text, "title": title, "level": level, "silent": silence > SILENT_SECONDS}


def _duration(seconds: float) -> str:
    """At least a minute, in the largest unit that fits."""
    size, word = next(unit for unit in ((86400, "d"), (3600, "h"), (60, "min")) if seconds >= unit[0])
    return f"{seconds / size:.0f} {word}"


def _short(value: float) -> str:
    """.87 for 0.87, and 1.0 for 1.00."""
    text = number(value)
    return text[1:] if text.startswith("0.") else text.removesuffix("0") if text.endswith(".00") else text
