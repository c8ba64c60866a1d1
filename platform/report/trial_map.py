"""Every trial of a grid at a glance: task × bonus × seed, with status and value."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import Score
from bonuslab.platform.report.tables import number

SILENT_SECONDS = 600
"""A running trial without an update for this long has probably stopped."""
MOST_IN_A_ROW = 16
"""A row with more trials is compact."""


@dataclass(frozen=True)
class Box:
    """One trial."""

    status: str
    text: str
    title: str
    """Tooltip."""
    level: float
    """Strength of the shading from 0 to 1."""
    silent: bool


@dataclass(frozen=True)
class TrialMap:
    """Boxes by task and method, one per seed; none where the grid has no such trial."""

    rows: list[tuple[str, list[list[Box]]]]
    compact: bool

    @property
    def any_silent(self) -> bool:
        """Whether some running trial has had no update for long."""
        return any(box.silent for _, row in self.rows for boxes in row for box in boxes)


def trial_map(analysis: Analysis) -> TrialMap:
    """The map of all trials."""
    units, methods = analysis.results.units, analysis.methods
    scores: dict[tuple[str, str], list[Score]] = {}
    for score in analysis.comparison.scores:
        scores.setdefault((score.trial.unit, score.trial.method), []).append(score)
    widest = max((sum(len(scores.get((unit, method), [])) for method in methods) for unit in units), default=0)
    compact = widest > MOST_IN_A_ROW
    values = [score.value for score in analysis.comparison.scores if score.value is not None]
    lowest, highest = min([0.0, *values]), max([1.0, *values])

    def boxes(unit: str, method: str) -> list[Box]:
        found = scores.get((unit, method), [])
        return [_box(score, analysis.comparison.metric, (lowest, highest), compact) for score in found]

    return TrialMap([(unit, [boxes(unit, method) for method in methods]) for unit in units], compact)


def _box(score: Score, metric: str, shades: tuple[float, float], compact: bool) -> Box:
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
        words += f", no update for {duration(silence)}"
    if value is not None:
        words += f", {find(metric).label} {number(value)}"
    lowest, highest = shades
    level = 0.0 if value is None else round((value - lowest) / (highest - lowest), 2)
    return Box(state.status, text, f"seed {score.trial.seed}: {words}", level, silence > SILENT_SECONDS)


def duration(seconds: float) -> str:
    """In the largest unit that fits."""
    for size, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} s"


def _short(value: float) -> str:
    """.87 for 0.87, and 1.0 for 1.00."""
    text = number(value)
    return text[1:] if text.startswith("0.") else text.removesuffix("0") if text.endswith(".00") else text
