"""The training loop of every trial: rows, evaluations and checkpoints."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bonuslab.algorithms.data.small_files import DamagedFile, fits, read_json
from bonuslab.algorithms.learning.checkpoint import seal
from bonuslab.algorithms.rllib.hyperparameters import Hyperparameters
from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.run.checkpoints import Checkpoints
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.results import evaluation_columns, row_of
from bonuslab.platform.run.rows import STEPS, Row

ROWS_FILE = "grid_rows.json"
"""In every checkpoint, all rows so far: progress.csv can be restored from it."""
ROWS = 100
"""Of a short trial; a long one has more."""
MAX_UPDATES_PER_ROW = 20
SECONDS_BETWEEN_CHECKPOINTS = 300.0
"""Unless `checkpoint_every_steps` is set."""
STOP_POLL_SECONDS = 1.0
"""Between checks for a stop request."""


@dataclass
class TrialReport:
    """What a trial sends to the driver after each row."""

    row: Row | None = None
    restored_rows: list[Row] | None = None
    """In the first report of an attempt: the rows of the checkpoint it resumes from."""
    checkpoints: list[str] = field(default_factory=list)
    """Paths or URIs, oldest first; empty if unchanged since the report before."""
    resumed: str = ""
    """In the first report of an attempt that resumes: where, and whether episodes in progress continue."""
    notes: list[str] = field(default_factory=list)
    """Problems that did not stop the trial."""
    done: bool = False
    """The attempt has ended: it reached the last step, or the grid is stopping."""
    finished: bool = False
    """The trial has reached its last step."""

    def as_text(self) -> str:
        """JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> TrialReport:
        """The inverse of `as_text`."""
        return cls(**json.loads(text))


class Training:
    """One attempt to train a trial, from its newest checkpoint on."""

    def __init__(
        self,
        config: Config,
        rllib_config: Any,
        checkpoints: Checkpoints,
        stopping: Callable[[], bool] = lambda: False,
        trust: bool = False,
    ) -> None:
        self._config = config
        self._checkpoints = checkpoints
        self._stopping = stopping
        self._trust = trust
        self._polled_at = -math.inf
        self._steps_per_row = steps_per_row(config.values)
        self._rows: list[Row] = []
        self._report = TrialReport(restored_rows=[])
        self.algorithm = rllib_config.build_algo()
        self._restore()
        self._steps = self._saved_steps = int(self.algorithm.env_steps)
        self._seconds_before = self._rows[-1]["wall_seconds"] if self._rows else 0.0
        self._saved_at = time.perf_counter()

    def next_report(self) -> TrialReport:
        """Train until the next row, or stop early if the grid is stopping."""
        report, self._report = self._report, TrialReport()
        self._began = time.perf_counter()  # only this counts: between reports, a search trains other seeds
        total = self._config.steps
        if self._steps < total and not self._is_stopping():
            report.row = self._train_row()
            self._rows.append(report.row)
        report.finished = self._steps >= total
        report.done = report.finished or self._is_stopping()
        if self._steps > self._saved_steps and (report.done or self._checkpoint_due()):
            self._save(report)
        self._seconds_before += time.perf_counter() - self._began
        return report

    def close(self) -> None:
        """Stop the algorithm and its workers."""
        self.algorithm.stop()

    def _restore(self) -> None:
        with scratch_folder() as scratch:
            folder, self._report.notes = self._checkpoints.newest(scratch, owned=True)
            if folder is not None:
                self.algorithm.restore_from_path(folder.resolve(), trust=self._trust)
                self._rows = read_checkpoint_rows(folder)
                self._report.restored_rows = list(self._rows)
                # The driver may have died before it heard of the last ones.
                self._report.checkpoints = [one for one in self._checkpoints.kept() if Path(one).name <= folder.name]
                self._report.resumed = f"at {self.algorithm.env_steps:,} steps; {self.algorithm.describe_resume()}"

    def _train_row(self) -> Row:
        """Train a number of steps that depends only on the configuration, so that rows are reproducible."""
        before, learnt, started = self._steps, 0.0, time.perf_counter()
        # Ends at multiples, so that a row cut short by a stop does not shift those after it.
        end = min(self._config.steps, (before // self._steps_per_row + 1) * self._steps_per_row)
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
        row["wall_seconds"] = self._seconds_before + time.perf_counter() - self._began
        return row

    def _is_stopping(self) -> bool:
        now = time.monotonic()
        if now - self._polled_at >= STOP_POLL_SECONDS:
            self._polled_at = now
            self._stop = self._stopping()
        return self._stop

    def _evaluation_due(self, before: int) -> bool:
        every = self._config.evaluate_every_steps
        if every == 0:
            return False
        at_end = self._steps >= self._config.steps
        return at_end or (every is not None and before // every < self._steps // every)

    def _checkpoint_due(self) -> bool:
        every = self._config.checkpoint_every_steps
        if every is None:
            return time.perf_counter() - self._saved_at >= SECONDS_BETWEEN_CHECKPOINTS
        return self._saved_steps // every < self._steps // every

    def _save(self, report: TrialReport) -> None:
        """Write a checkpoint. If that fails, the previous one stays and training continues, except at the end."""
        try:
            with scratch_folder() as scratch:
                folder = scratch.resolve() / "checkpoint"
                self.algorithm.save_to_path(folder)
                (folder / ROWS_FILE).write_text(json.dumps(self._rows))
                seal(folder)
                report.checkpoints = self._checkpoints.save(self._steps, folder, last=report.finished)
            self._saved_steps = self._steps
        except OSError as error:
            if report.done:
                raise
            report.notes.append(f"no checkpoint at {self._steps:,} steps: {error}; training continues")
        self._saved_at = time.perf_counter()


def read_checkpoint_rows(folder: Path) -> list[Row]:
    """The rows in a verified checkpoint."""
    rows = read_json(folder / ROWS_FILE)
    whole = fits(rows, list[dict[str, Any]]) and all(fits(row.get(STEPS), float) for row in rows)
    if not whole or not all(isinstance(cell, int | float) for row in rows for cell in row.values()):
        raise DamagedFile(f"{folder / ROWS_FILE} cannot be read: it has no rows")
    return rows


def steps_per_row(values: Hyperparameters) -> int:
    """Environment steps per row: about `ROWS` rows per trial, and never more than `MAX_UPDATES_PER_ROW` updates."""
    update = values.rollout_fragment_length * values.num_envs_per_env_runner
    return update * max(1, min(MAX_UPDATES_PER_ROW, round(values.total_env_steps / (ROWS * update))))
