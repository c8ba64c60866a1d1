"""The one training loop, wherever a trial runs: rows, evaluations and checkpoints."""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bonuslab.algorithms.learning.checkpoint import seal
from bonuslab.algorithms.rllib.hyperparameters import Hyperparameters
from bonuslab.platform.run.checkpoints import Checkpoints
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.results import evaluation_columns, row_of
from bonuslab.platform.run.rows import Row

ROWS_FILE = "grid_rows.json"
"""All rows so far, in each checkpoint: a table that was lost or cut short can be written again from it."""
ROWS = 100
"""Rows of a short trial; a long one has more."""
MOST_UPDATES_PER_ROW = 20
SECONDS_BETWEEN_CHECKPOINTS = 300.0
"""Where the settings do not say after how many steps one is wanted."""
SECONDS_BETWEEN_QUESTIONS = 1.0
"""Between two looks at whether the grid is to stop."""


@dataclass
class Report:
    """What a trial tells the driver after each row."""

    row: Row | None = None
    beginning: list[Row] | None = None
    """In the first report of an attempt: the rows before it, from the checkpoint it goes on from."""
    checkpoints: list[str] = field(default_factory=list)
    """Places of those that are kept, oldest first; empty: as before."""
    notes: list[str] = field(default_factory=list)
    """What went wrong without stopping the trial."""
    done: bool = False
    """The attempt has ended: at the last step, or because the grid is stopping."""
    finished: bool = False
    """The last step was reached."""

    def as_text(self) -> str:
        """JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Report:
        """The inverse of `as_text`."""
        return cls(**json.loads(text))


class Training:
    """The state of one attempt."""

    def __init__(
        self, config: Config, rllib_config: Any, checkpoints: Checkpoints, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._config = config
        self._checkpoints = checkpoints
        self._stopping = stopping
        self._asked_at = -math.inf
        self._steps_per_row = steps_per_row(config.values)
        self._rows: list[Row] = []
        self._report = Report(beginning=[])
        self.algorithm = rllib_config.build_algo()
        self._restore()
        self._steps = self._saved_steps = int(self.algorithm.env_steps)
        self._seconds_before = self._rows[-1]["wall_seconds"] if self._rows else 0.0
        self._started = self._saved_at = time.perf_counter()

    def next_report(self) -> Report:
        """Train until the next row, or only until now if the grid is stopping."""
        report, self._report = self._report, Report()
        total = self._config.steps
        if self._steps < total and not self._is_stopping():
            report.row = self._train_a_row()
            self._rows.append(report.row)
        report.finished = self._steps >= total
        report.done = report.finished or self._is_stopping()
        if self._steps > self._saved_steps and (report.done or self._checkpoint_due()):
            self._save(report)
        return report

    def close(self) -> None:
        """Stop everything that was started."""
        self.algorithm.stop()

    def _restore(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder, self._report.notes = self._checkpoints.newest(Path(scratch))
            if folder is not None:
                self.algorithm.restore_from_path(folder.resolve())
                self._rows = json.loads((folder / ROWS_FILE).read_text())
                self._report.beginning = list(self._rows)

    def _train_a_row(self) -> Row:
        """A number of steps that depends on nothing but the settings, so that the same seed gives the same rows."""
        before, learnt, started = self._steps, 0.0, time.perf_counter()
        end = min(self._config.steps, before + self._steps_per_row)
        while self._steps < end and not (self._steps > before and self._is_stopping()):
            at, steps = time.perf_counter(), self._steps
            results: dict[str, Any] = self.algorithm.train()
            self._steps = int(self.algorithm.env_steps)
            seconds = time.perf_counter() - at
            row = row_of(results, seconds, self._steps, self._steps - steps)
            learnt += row["learnt_steps_per_second"] * seconds
        seconds = time.perf_counter() - started
        row["env_steps_per_second"] = (self._steps - before) / seconds
        row["learnt_steps_per_second"] = learnt / seconds
        if self._evaluation_due(before):
            row |= evaluation_columns(self.algorithm.evaluate())
        row["wall_seconds"] = self._seconds_before + time.perf_counter() - self._started
        return row

    def _is_stopping(self) -> bool:
        now = time.monotonic()
        if now - self._asked_at >= SECONDS_BETWEEN_QUESTIONS:
            self._asked_at = now
            self._stop = self._stopping()
        return self._stop

    def _evaluation_due(self, before: int) -> bool:
        every = self._config.evaluate_every_steps
        if every == 0:
            return False
        at_the_end = self._steps >= self._config.steps
        return at_the_end or (every is not None and before // every < self._steps // every)

    def _checkpoint_due(self) -> bool:
        every = self._config.checkpoint_every_steps
        if every is None:
            return time.perf_counter() - self._saved_at >= SECONDS_BETWEEN_CHECKPOINTS
        return self._saved_steps // every < self._steps // every

    def _save(self, report: Report) -> None:
        """Write a checkpoint. Where that fails the previous one stays and, but for the last, training goes on."""
        try:
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch).resolve() / "checkpoint"
                self.algorithm.save_to_path(folder)
                (folder / ROWS_FILE).write_text(json.dumps(self._rows))
                seal(folder)
                report.checkpoints = self._checkpoints.save(self._steps, folder, last=report.finished)
        except OSError as error:
            if report.done:
                raise
            report.notes.append(f"no checkpoint at {self._steps:,} steps: {error}; training goes on")
        self._saved_steps, self._saved_at = self._steps, time.perf_counter()


def steps_per_row(values: Hyperparameters) -> int:
    """Environment steps between two rows: about a hundred rows per trial, and never a long time without one."""
    update = values.rollout_fragment_length * values.num_envs_per_env_runner
    return update * max(1, min(MOST_UPDATES_PER_ROW, round(values.total_env_steps / (ROWS * update))))
