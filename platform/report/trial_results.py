"""The trials of a grid as the report reads them: labels, state, and the columns that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.rows import STEPS, RowReader, columns_of, number
from bonuslab.platform.run.state import TrialState

RETURN = "episode_return"
WIN_RATE = "win_rate"
EPISODIC_BONUS = "bonus_episodic/mean"
GLOBAL_BONUS = "bonus_global/mean"
INVERSE_LOSS = "inverse_dynamics_loss"
"""The last part of `learn/<term>/inverse_dynamics_loss`, whichever term learns the features."""
MOST_POINTS = 2_000
"""A longer column is averaged in blocks of rows: the eye cannot tell, and 640 long trials fit in memory."""
_INFINITE = ("inf", "infinite", "∞")


@dataclass(frozen=True)
class Series:
    """One column of one trial: the rows that have a value."""

    steps: np.ndarray  # [n]
    values: np.ndarray  # [n]

    def __len__(self) -> int:
        return len(self.steps)


_EMPTY = Series(np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Trial:
    """One trial."""

    id: str
    unit: str
    """The task, with its number of contexts where the grid varies it; results are averaged over seeds within it."""
    method: str
    """What is compared: the bonus, with its variant where the grid has several."""
    description: TrialDescription
    state: TrialState
    series: dict[str, Series] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The environment."""
        return self.description.labels.get("task", "?")

    @property
    def contexts(self) -> str:
        """The number of contexts, or `inf`."""
        return self.description.labels.get("contexts", "inf")

    @property
    def bonus(self) -> str:
        """The bonus expression."""
        return self.description.labels.get("bonus", "?")

    @property
    def scope(self) -> str:
        """The bonus's scope: none, global, episodic or combined."""
        return self.description.labels.get("scope", "none")

    @property
    def seed(self) -> str:
        """The run's seed."""
        return self.description.labels.get("seed", "?")

    def column(self, name: str) -> Series:
        """One column; empty where the trial has none."""
        return self.series.get(name, _EMPTY)


@dataclass(frozen=True)
class GridResults:
    """All trials of a grid."""

    description: GridDescription
    trials: list[Trial]
    columns: list[str]
    """Every column that some trial has."""

    @property
    def units(self) -> list[str]:
        """Tasks in the grid's order; within a task, the fewest contexts first."""
        tasks = list(dict.fromkeys(trial.task for trial in self.trials))
        order = {trial.unit: (tasks.index(trial.task), contexts_order(trial.contexts)) for trial in self.trials}
        return sorted(order, key=lambda unit: order[unit])

    @property
    def scopes(self) -> dict[str, str]:
        """The scope of each method, in the grid's order."""
        return {trial.method: trial.scope for trial in self.trials}

    @property
    def varies_contexts(self) -> bool:
        """Whether the grid varies the number of contexts."""
        return len({trial.contexts for trial in self.trials}) > 1


def load(folder: GridFolder, chosen: Callable[[Iterable[str]], str]) -> tuple[GridResults, str]:
    """The grid, and the headline column that `chosen` picks from all columns of the trials."""
    description = folder.description()
    headers = {trial.id: columns_of(folder.trial(trial.id).progress) for trial in description.trials}
    columns = list(dict.fromkeys(name for header in headers.values() for name in header))
    metric = chosen(columns)
    method, unit = _namers(description.trials)
    trials = [
        Trial(
            trial.id,
            unit(trial),
            method(trial),
            trial,
            folder.trial(trial.id).state(),
            _read(folder.trial(trial.id).progress, metric),
        )
        for trial in description.trials
    ]
    return GridResults(description, trials, columns), metric


def contexts_order(contexts: str) -> tuple[float, str]:
    """Sort key of a number of contexts; other names of contexts come last."""
    if contexts.lower() in _INFINITE:
        return math.inf, ""
    return (float(contexts), "") if contexts.isdecimal() else (math.inf, contexts)


def contexts_text(contexts: str) -> str:
    """A number of contexts as printed."""
    return "∞" if contexts.lower() in _INFINITE else contexts


def training_column(metric: str) -> str:
    """The training column that corresponds to an evaluation's: `episode_coverage` to its `coverage`."""
    name = metric.rsplit("/", 1)[-1].removesuffix("_mean")
    return name if name == WIN_RATE or name.startswith("episode_") else f"episode_{name}"


def _namers(
    trials: list[TrialDescription],
) -> tuple[Callable[[TrialDescription], str], Callable[[TrialDescription], str]]:
    variants = {trial.labels.get("variant", "") for trial in trials}
    counts = {trial.labels.get("contexts", "inf") for trial in trials}

    def method(trial: TrialDescription) -> str:
        bonus, variant = trial.labels.get("bonus", "?"), trial.labels.get("variant", "")
        return f"{bonus} ({variant})" if variant and len(variants) > 1 else bonus

    def unit(trial: TrialDescription) -> str:
        task, contexts = trial.labels.get("task", "?"), trial.labels.get("contexts", "inf")
        return f"{task}, |C| = {contexts_text(contexts)}" if len(counts) > 1 else task

    return method, unit


def _is_drawn(column: str, metric: str) -> bool:
    fixed = (STEPS, RETURN, EPISODIC_BONUS, GLOBAL_BONUS, metric, training_column(metric))
    return column in fixed or column.rsplit("/", 1)[-1] == INVERSE_LOSS


def _read(path: Path, metric: str) -> dict[str, Series]:
    """The columns of progress.csv that are drawn; values that are not finite are left out."""
    reader = RowReader(path)
    rows, _ = reader.read()
    columns = {
        name: np.array([number(row[place]) for row in rows])
        for place, name in enumerate(reader.columns)
        if _is_drawn(name, metric)
    }
    steps = columns.pop(STEPS, np.zeros(0))
    found = {}
    for name, values in columns.items() if len(steps) else ():
        there = np.isfinite(values) & np.isfinite(steps)
        if there.any():
            found[name] = _thinned(steps[there], values[there])
    return found


def _thinned(steps: np.ndarray, values: np.ndarray) -> Series:
    """At most `MOST_POINTS` points: the mean of each block of rows, at the block's last step."""
    rows = -(-len(steps) // MOST_POINTS)
    if rows == 1:
        return Series(steps, values)
    first = np.arange(0, len(steps), rows)
    lengths = np.diff(np.append(first, len(steps)))
    return Series(steps[first + lengths - 1], np.add.reduceat(values, first) / lengths)
