"""The trials of a grid as the report reads them: labels, state, and the columns that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bonuslab.platform.pictures.palette import shown_scope
from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.results import EPISODES, EVALUATION_MODES, RETURN, WIN_RATE, fewest_episodes
from bonuslab.platform.run.rows import STEPS, RowReader, columns_of, number
from bonuslab.platform.run.state import TrialState

EPISODIC_BONUS = "bonus_episodic/mean"
GLOBAL_BONUS = "bonus_global/mean"
INVERSE_LOSS = "inverse_dynamics_loss"
"""The last part of `learn/<term>/inverse_dynamics_loss`, whichever term learns the features."""
MOST_POINTS = 2_000
"""A longer column is averaged in blocks of rows: the eye cannot tell, and 640 long trials fit in memory."""
_INFINITE = ("inf", "infinite", "∞")
_LABELS = {"task": "?", "contexts": "inf", "bonus": "?", "scope": "none", "seed": "?", "variant": ""}
"""Where a description has no such label."""


@dataclass(frozen=True)
class Series:
    """One column of one trial: the rows that have a value."""

    steps: np.ndarray  # [n]
    values: np.ndarray  # [n]

    def __len__(self) -> int:
        return len(self.steps)


EMPTY = Series(np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Trial:
    """One trial with its labels."""

    id: str
    task: str
    contexts: str
    """The number of contexts, or `inf`."""
    bonus: str
    scope: str
    """The bonus's scope: none, global, episodic, combined or adaptive."""
    seed: str
    unit: str
    """The task, with its number of contexts where the grid varies it; results are averaged over seeds within it."""
    method: str
    """What is compared: the bonus, with its variant where the grid has several."""
    description: TrialDescription
    state: TrialState
    series: dict[str, Series]

    def column(self, name: str) -> Series:
        """One column; empty where the trial has none."""
        return self.series.get(name, EMPTY)


@dataclass(frozen=True)
class GridResults:
    """All trials of a grid."""

    description: GridDescription
    trials: list[Trial]

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

    def of(self, unit: str, method: str | None = None) -> list[Trial]:
        """The trials on one task, of one method or of all."""
        return [trial for trial in self.trials if trial.unit == unit and method in (None, trial.method)]


def load(folder: GridFolder, chosen: Callable[[Iterable[str]], str]) -> tuple[GridResults, str]:
    """The grid, and the headline column that `chosen` picks from all columns of the trials."""
    description = folder.description()
    places = [folder.trial(trial.id) for trial in description.trials]
    metric = chosen(list(dict.fromkeys(name for place in places for name in columns_of(place.progress))))
    labels = [_LABELS | trial.labels for trial in description.trials]
    varies_contexts, has_variants = (len({of[name] for of in labels}) > 1 for name in ("contexts", "variant"))
    trials = [
        Trial(
            trial.id,
            **{name: of[name] for name in ("task", "contexts", "bonus", "seed")},
            scope=shown_scope(of["bonus"], of["scope"]),
            unit=f"{of['task']}, |C| = {contexts_text(of['contexts'])}" if varies_contexts else of["task"],
            method=f"{of['bonus']} ({of['variant']})" if has_variants and of["variant"] else of["bonus"],
            description=trial,
            state=place.state(),
            series=_read(place.progress, metric, fewest_episodes(trial.hyperparameters)),
        )
        for trial, place, of in zip(description.trials, places, labels, strict=True)
    ]
    return GridResults(description, trials), metric


def has_wins(results: GridResults) -> bool:
    """Whether some episode of some trial was won."""
    return any(len(trial.column(WIN_RATE)) and trial.column(WIN_RATE).values.max() > 0 for trial in results.trials)


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


def held_out_columns(metric: str) -> dict[str, str]:
    """By mode, the evaluation's column that corresponds to a training column or to another evaluation's."""
    own = training_column(metric)
    name = own if own == WIN_RATE else f"{own}_mean" if own == RETURN else own.removeprefix("episode_")
    return {mode: f"evaluation/{mode}/{name}" for mode in EVALUATION_MODES}


def _read(path: Path, metric: str, fewest: int) -> dict[str, Series]:
    """The columns of progress.csv that are drawn, without values that are not finite.

    Episode metrics begin where `fewest` episodes have ended: the first to end are the shortest, often the won ones.
    """
    held_out = (column for one in (metric, WIN_RATE) for column in held_out_columns(one).values())
    bonuses = (EPISODIC_BONUS, GLOBAL_BONUS)
    drawn = {STEPS, EPISODES, RETURN, WIN_RATE, *bonuses, metric, training_column(metric), *held_out}
    reader = RowReader(path)
    rows, _ = reader.read()
    columns = {
        name: np.array([number(row[place]) for row in rows])
        for place, name in enumerate(reader.columns)
        if name in drawn or name.rsplit("/", 1)[-1] == INVERSE_LOSS
    }
    steps = columns.pop(STEPS, np.full(len(rows), np.nan))
    too_few = columns.pop(EPISODES, np.full(len(rows), np.inf)) < fewest
    there = {name: np.isfinite(values) & np.isfinite(steps) for name, values in columns.items()}
    for name in there:
        if name == WIN_RATE or name.startswith("episode_"):
            there[name] &= ~too_few
    return {name: _thinned(steps[of], columns[name][of]) for name, of in there.items() if of.any()}


def _thinned(steps: np.ndarray, values: np.ndarray) -> Series:
    """At most `MOST_POINTS` points: the mean of each block of rows, at the block's last step."""
    rows = -(-len(steps) // MOST_POINTS)
    if rows == 1:
        return Series(steps, values)
    first = np.arange(0, len(steps), rows)
    lengths = np.diff(np.append(first, len(steps)))
    return Series(steps[first + lengths - 1], np.add.reduceat(values, first) / lengths)
