"""The comparison at the top of the board: a metric by bonus over the steps, mean and range over seeds."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bonuslab.algorithms.rllib.metrics import EVALUATION, RESULTS, SHARE, find, rank
from bonuslab.platform.board.curves import Curves, plain
from bonuslab.platform.board.trial_watch import Stamp, TrialWatch, stamp
from bonuslab.platform.run.rows import STEPS

SPANS = 100
"""Points of a curve: each is the mean over an equal span of steps."""
READ_SECONDS = 0.5
"""CPU time of one answer; what is left of a large grid is read for the next one."""
COST_SHARE = 0.01
PAUSE_SECONDS = (4.0, 60.0)
"""Shortest and longest time between two reads."""

Spans = dict[str, np.ndarray]
"""[SPANS] by metric: the mean of each span, interpolated inside, NaN before the first value and after the last."""


class Comparison:
    """Reads the tables of a grid's trials as they grow, and compares them by one metric."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[Stamp, Spans]] = {}
        self._total = 0
        self._unread = 0
        """Tables that changed since, for which there was no time yet."""
        self._next_read_at = 0.0

    def refresh(self, trials: Mapping[str, TrialWatch], fewest: Mapping[str, int]) -> None:
        """Read the tables that changed, as far as the time allows; see `spans_of` for `fewest`."""
        with self._lock:
            if time.monotonic() < self._next_read_at:
                return
            began = time.thread_time()
            states = [trial.state for trial in trials.values()]
            # The last batch goes beyond the end; more only if a run was extended.
            total = max((max(state.total_env_steps, state.env_steps) for state in states), default=0)
            if total > self._total:
                self._total, self._seen = total, {}
            self._unread = 0
            for identifier, trial in trials.items():
                now = None if trial.is_linked() else stamp(trial.folder.progress)
                if now == self._seen.get(identifier, (None,))[0]:
                    continue
                if time.thread_time() - began >= READ_SECONDS:
                    self._unread += 1
                    continue
                table = trial.folder.progress
                self._seen[identifier] = (now, spans_of(table, total, fewest[identifier]) if now and total else {})
            shortest, longest = PAUSE_SECONDS
            pause = min(longest, max(shortest, (time.thread_time() - began) / COST_SHARE)) if not self._unread else 0.0
            self._next_read_at = time.monotonic() + pause

    def tag(self, metric: str) -> str:
        """Changes whenever the answer for a metric does."""
        with self._lock:
            seen = [(identifier, when) for identifier, (when, _) in self._seen.items()]
        return hashlib.sha1(repr((metric, seen)).encode()).hexdigest()[:16]

    def as_data(self, layout: Mapping[str, Any], metric: str, first: str) -> dict[str, Any]:
        """The curves of `metric`, or of the grid's own, `first`, if no trial has it; and all metrics to choose from."""
        with self._lock:
            seen = {identifier: spans for identifier, (_, spans) in self._seen.items()}
            total = self._total
        names = sorted(
            {name for spans in seen.values() for name in spans}, key=lambda name: (name != first, rank(name))
        )
        chosen = metric if metric in names else next(iter(names), first)
        cells: dict[tuple[int, int], dict[int, np.ndarray]] = {}
        for place in layout["trials"]:
            if (values := seen.get(place["id"], {}).get(chosen)) is not None:
                cells.setdefault((place["row"], place["panel"]), {})[place["seed"]] = values
        rows, panels = range(len(layout["rows"])), range(len(layout["panels"]))
        charts = [
            {
                "row": row,
                "curves": [_curve(panel, cells[row, panel].values()) for panel in panels if (row, panel) in cells],
            }
            for row in rows
        ]
        about = find(chosen)
        together = None
        if len(rows) > 1 and about.unit == SHARE:  # returns of different tasks have no common scale
            together = [
                curve for panel in panels if (curve := _together(panel, [cells.get((row, panel)) for row in rows]))
            ]
        return {
            "metric": chosen,
            "share": about.unit == SHARE,
            "dots": about.group == EVALUATION,
            "metrics": [{"name": name, "label": _label(name), "meaning": find(name).meaning} for name in names],
            "steps": [round(total * (span + 1) / SPANS) for span in range(SPANS)],
            "charts": [chart for chart in charts if chart["curves"]],
            "together": together,
            "unread": self._unread,
        }


def spans_of(table: Path, total: int, fewest: int) -> Spans:
    """The metrics of one progress.csv that say how well a policy does; of training, once `fewest` episodes ended."""
    curves = Curves(table)
    curves.refresh()
    steps = curves.column(STEPS)
    if not len(steps):
        return {}
    span = np.clip(np.ceil(steps * SPANS / total).astype(int) - 1, 0, SPANS - 1)
    found = {}
    for name in filter(_is_result, curves.names):
        values = curves.result(name, fewest)
        there = np.isfinite(values)
        if there.any():
            counts = np.bincount(span[there], minlength=SPANS)
            known = np.flatnonzero(counts)
            means = np.bincount(span[there], values[there], SPANS)[known] / counts[known]
            found[name] = np.interp(np.arange(SPANS), known, means, left=np.nan, right=np.nan)
    return found


def _is_result(name: str) -> bool:
    about = find(name)
    return about.group in (RESULTS, EVALUATION) and about.higher_is_better is True


def _label(name: str) -> str:
    about = find(name)
    return f"evaluation: {about.label}" if about.group == EVALUATION else about.label


def _curve(panel: int, seeds: Iterable[np.ndarray]) -> dict[str, Any]:
    """Mean and range over seeds, from where all have begun; from the span `complete` on, some are not there yet."""
    values = np.stack(list(seeds))  # [S, SPANS]
    there = ~np.isnan(values)
    begun = np.logical_or.accumulate(there, axis=1).all(axis=0)
    counts = np.where(begun, there.sum(axis=0), 0)
    drawn: dict[str, Any] = {"panel": panel, "seeds": len(values)}
    with np.errstate(invalid="ignore"):
        drawn["mean"] = plain(np.where(there & begun, values, 0.0).sum(axis=0) / np.where(counts, counts, np.nan))
    drawn["complete"] = int((there.all(axis=0) & begun).nonzero()[0].max(initial=-1)) + 1
    if len(values) > 1:
        shown = np.where(begun, values, np.nan)
        drawn |= {"low": plain(np.fmin.reduce(shown)), "high": plain(np.fmax.reduce(shown))}
    return drawn


def _together(panel: int, rows: Sequence[dict[int, np.ndarray] | None]) -> dict[str, Any] | None:
    """The mean over all tasks, up to where all have come, with the range over the seeds that every task has."""
    seeds = set.intersection(*(set(row or ()) for row in rows))
    if not seeds:
        return None
    curve = _curve(panel, [np.mean([row[seed] for row in rows if row], axis=0) for seed in sorted(seeds)])
    return curve if any(value is not None for value in curve["mean"]) else None
