"""The progress of a grid in the terminal: a table redrawn in place, or a line now and then when piped."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, product
from statistics import fmean
from typing import TextIO

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.pictures.live_lines import LiveLines
from bonuslab.platform.pictures.palette import ANSI_COLOURS, shown_scope
from bonuslab.platform.run.folder import TrialDescription
from bonuslab.platform.run.progress import duration, progress_bar
from bonuslab.platform.run.remaining import seconds_left
from bonuslab.platform.run.results import EPISODES, RETURN, WIN_RATE, fewest_episodes
from bonuslab.platform.run.state import Status, TrialState

SECONDS_BETWEEN_LINES = 30.0
"""If the output is not a terminal."""
SECONDS_BETWEEN_REDRAWS = 1.0
_SIGNS: dict[Status, str] = {"finished": "✓", "running": "▶", "waiting": "·", "failed": "✗"}
_TITLES: dict[Status, str] = {"finished": "finished", "running": "so far"}
"""Of the columns with the mean over finished trials, and over those still running."""

Group = tuple[str, ...]


class GridTable:
    """Shows a recorder's trials on a stream."""

    def __init__(
        self,
        trials: Sequence[TrialDescription],
        recorder: Recorder,
        metric: str,
        slots: int,
        file: TextIO | None = None,
    ) -> None:
        self._trials = trials
        self._by_id = {trial.id: trial for trial in trials}
        self._bonuses = {trial.id: trial.labels.get("bonus", "") for trial in trials}
        self._recorder = recorder
        self._metric = metric
        self._slots = slots
        self._file = file or sys.stdout
        self._live = LiveLines(self._file) if self._file.isatty() else None
        self._shown_at = -SECONDS_BETWEEN_LINES
        self._announced = {trial for trial, state in recorder.states().items() if state.status == "finished"}

    def refresh(self) -> None:
        """Redraw if it is due."""
        now = time.monotonic()
        interval = SECONDS_BETWEEN_LINES if self._live is None else SECONDS_BETWEEN_REDRAWS
        if now - self._shown_at >= interval:
            self._shown_at = now
            self.draw()

    def draw(self) -> None:
        """Show the trials' progress."""
        self._announce()
        states = self._recorder.states()
        summary = summary_line(states, self._bonuses, self._slots)
        if self._live is None:
            print(summary, file=self._file, flush=True)
            return
        columns, rows = shutil.get_terminal_size()
        lines = table_lines(self._trials, self._recorder, self._metric, columns - 1, rows - 3)
        self._live.show([*lines, summary])

    def note(self, text: str) -> None:
        """Print a line that stays."""
        if self._live is not None:
            self._live.note(text)
        else:
            print(text, file=self._file, flush=True)

    def _announce(self) -> None:
        """Print a line for each newly finished trial, unless the table shows it."""
        for trial, state in self._recorder.states().items():
            if state.status == "finished" and trial not in self._announced:
                self._announced.add(trial)
                if self._live is None:
                    named = dict.fromkeys((self._metric, WIN_RATE))
                    found = {name: _value(self._by_id[trial], self._recorder, name) for name in named}
                    shown = "".join(f", {name} {value:.2f}" for name, value in found.items() if value is not None)
                    self.note(f"{trial} finished in {duration(state.wall_seconds)} of training{shown}")


def table_lines(
    trials: Sequence[TrialDescription], recorder: Recorder, metric: str, columns: int, height: int
) -> list[str]:
    """A row per bonus and task; with too little room, percentages instead of bars, or a row per bonus."""
    rows: list[list[str]] = []
    widths: list[int] = []
    labels: list[Mapping[str, str]] = []
    for names, bars in product((("bonus", "variant", "task", "contexts"), ("bonus", "variant")), (True, False)):
        groups = _grouped(trials, names)
        rows, widths = _cells(groups, recorder, metric, bars)
        labels = [members[0].labels for members in groups.values()]
        if len(rows) <= height and sum(widths) + 2 * (len(widths) - 1) <= columns:
            break
    lines = [_joined(row, widths)[:columns] for row in rows[: max(3, height)]]
    return [*lines[:2], *(_coloured(line, label) for line, label in zip(lines[2:], labels, strict=False))]


def _cells(
    groups: Mapping[Group, Sequence[TrialDescription]], recorder: Recorder, metric: str, bars: bool
) -> tuple[list[list[str]], list[int]]:
    """Two rows of titles and a row per group, and the widths of their columns."""
    shown = [(name, status) for name in dict.fromkeys((metric, WIN_RATE)) for status in _TITLES]
    labels = [find(name).label if status == next(iter(_TITLES)) else "" for name, status in shown]
    keys = [""] * len(next(iter(groups)))
    rows = [[*keys, "", "", *labels], [*keys, "", "trials", *(_TITLES[status] for _, status in shown)]]
    for key, members in groups.items():
        states = [recorder[trial.id].state for trial in members]
        counts = Counter(state.status for state in states)
        signs = " ".join(f"{sign}{counts[status]}" for status, sign in _SIGNS.items() if counts[status])
        done = fmean(state.fraction_done for state in states)
        bar = progress_bar(done) if bars else f"{done:4.0%}"
        rows.append([*key, bar, signs, *(_mean(members, recorder, name, status) for name, status in shown)])
    widths = [max(map(len, column)) for column in zip(*rows[1:], strict=True)]
    for column, label in enumerate(labels, len(keys) + 2):
        if label:  # it may reach over both columns of its metric
            widths[column + 1] = max(widths[column + 1], len(label) - widths[column] - 2)
    return rows, widths


def summary_line(states: Mapping[str, TrialState], bonuses: Mapping[str, str], slots: int) -> str:
    """Counts, progress and time left of the whole grid."""
    counts = Counter(state.status for state in states.values())
    parts = [f"{counts['finished']} of {len(states)} trials finished"]
    parts += [f"{counts[status]} {status}" for status in ("running", "failed") if counts[status]]
    done = fmean(state.fraction_done for state in states.values()) if states else 1.0
    left = seconds_left(((bonuses[trial], state) for trial, state in states.items()), slots)
    parts += [f"{done:.0%}", *([] if left is None else [f"{duration(left)} of wall time left"])]
    return ", ".join(parts)


def _mean(trials: Sequence[TrialDescription], recorder: Recorder, name: str, status: Status) -> str:
    """Of the trials with this status, the mean of their newest values; a dash without any."""
    there = [trial for trial in trials if recorder[trial.id].state.status == status]
    values = [value for trial in there if (value := _value(trial, recorder, name)) is not None]
    return f"{fmean(values):.2f}" if values else "-"


def _value(trial: TrialDescription, recorder: Recorder, name: str) -> float | None:
    """A trial's newest value, or that of its training until it is evaluated; None before enough episodes have ended."""
    row = recorder[trial.id].last_row
    few = row.get(EPISODES, math.inf) < fewest_episodes(trial.hyperparameters)
    for column in (name, WIN_RATE, RETURN) if name != WIN_RATE else (WIN_RATE,):
        if column in row:
            return None if few and not column.startswith("evaluation/") else row[column]
    return None


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells in columns; one that is too long for its own takes the empty one behind it."""
    line = ""
    for place, cell in zip(accumulate((width + 2 for width in widths), initial=0), cells, strict=False):
        line = line.ljust(place) + cell
    return line


def _grouped(trials: Sequence[TrialDescription], names: Sequence[str]) -> dict[Group, list[TrialDescription]]:
    """Trials by their labels, without labels that are the same everywhere."""
    varying = [name for name in names if len({trial.labels.get(name, "") for trial in trials}) > 1] or [names[0]]
    groups: dict[Group, list[TrialDescription]] = {}
    for trial in trials:
        groups.setdefault(tuple(trial.labels.get(name, "") for name in varying), []).append(trial)
    return groups


def _coloured(line: str, labels: Mapping[str, str]) -> str:
    scope = shown_scope(labels.get("bonus", ""), labels.get("scope", "none"))
    return f"\033[{ANSI_COLOURS.get(scope, '0')}m{line}\033[0m"
