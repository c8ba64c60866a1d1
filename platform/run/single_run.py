"""One run from its first step to its last: iterations, rows of progress, evaluations and checkpoints."""

from __future__ import annotations

import os
import time
import traceback
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
import torch
from ray.exceptions import RayTaskError

from bonuslab.algorithms.rllib.algorithm import FragmentAlgorithm
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.config import RunSettings
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.run.progress_table import ProgressTable
from bonuslab.platform.run.ray_session import cluster_address, ray_session, require_room
from bonuslab.platform.run.results import evaluation_columns, row_of
from bonuslab.platform.run.run_folder import ERROR_FILE, RunFolder, checkpoint_steps
from bonuslab.platform.run.stop_request import StopRequest

SECONDS_PER_ITERATION = 2.0
"""Least time between two rows where there are workers; in serial mode a row is an update."""
SECONDS_BETWEEN_CHECKPOINTS = 600.0
"""Where the run does not say after how many steps it wants one."""


class TrainingFailed(RuntimeError):  # noqa: N818 (it reads as what it is)
    """Training raised; the text is the error's own and names the last good checkpoint."""


@dataclass
class Outcome:
    """How a run ended."""

    row: dict[str, float] = field(default_factory=dict)
    """The last row of progress.csv."""
    checkpoint: Path | None = None
    stopped_by: int | None = None
    """Number of the signal that stopped it; None where it reached its last step."""


def train(settings: RunSettings, folder: RunFolder, display: Progress, checkpoint: Path | None = None) -> Outcome:
    """Train in `folder`, from the beginning or from a checkpoint of the same run."""
    if not settings.serial and cluster_address() is None:
        require_room(settings.config(), {"CPU": os.cpu_count() or 1, "GPU": torch.cuda.device_count()})
    if not settings.serial:
        display.waiting(f"joining Ray at {cluster_address()}" if cluster_address() else "starting Ray")
    with nullcontext() if settings.serial else ray_session():
        run = _Run(settings, folder, display, checkpoint)
        try:
            algorithm = run.start()
            try:
                return run.work(algorithm)
            finally:
                algorithm.stop()
        except (InvalidInput, TrainingFailed):
            raise
        except Exception as error:
            raise run.failure(error) from error


class _Run:
    """The state of one call of `train`."""

    def __init__(self, settings: RunSettings, folder: RunFolder, display: Progress, checkpoint: Path | None) -> None:
        self._settings = settings
        self._folder = folder
        self._display = display
        self._checkpoint = checkpoint
        self._table = ProgressTable(folder.progress)
        self._steps = self._saved_steps = 0 if checkpoint is None else checkpoint_steps(checkpoint)
        last = self._table.cut_after(self._steps)
        self._seconds_before = float(last["wall_seconds"]) if last else 0.0
        (folder.path / ERROR_FILE).unlink(missing_ok=True)

    def start(self) -> FragmentAlgorithm:
        """Build the algorithm and give it the checkpoint's state."""
        config = self._settings.config()
        if not self._settings.serial:
            require_room(config, ray.cluster_resources())
            config.reporting(min_time_s_per_iteration=SECONDS_PER_ITERATION)
            processes = config.num_env_runners
            self._display.waiting(f"starting {processes} process{'es' if processes > 1 else ''} to play")
        algorithm = config.build_algo()
        if self._checkpoint is not None:
            self._display.waiting(f"loading {self._checkpoint.name}")
            algorithm.restore_from_path(self._checkpoint.resolve())
        self._display.waiting("waiting for the first batch")
        return algorithm

    def work(self, algorithm: FragmentAlgorithm) -> Outcome:
        """Iterate until the last step or until a signal asks to stop."""
        started = saved_at = time.perf_counter()
        row: dict[str, float] = {}
        with StopRequest(lambda: self._display.note("stopping after this update (again: stop at once)")) as stop:
            while self._steps < self._settings.steps and stop.signal is None:
                row = self._iterate(algorithm)
                row["wall_seconds"] = self._seconds_before + time.perf_counter() - started
                self._table.append(row)
                self._display.update(row)
                if self._checkpoint_due(time.perf_counter() - saved_at):
                    self._save(algorithm, last=False)
                    saved_at = time.perf_counter()
            if not row:
                raise KeyboardInterrupt  # nothing has happened since the start that could be saved
            if self._steps != self._saved_steps:
                self._save(algorithm, last=True)
        return Outcome(row, self._checkpoint, stop.signal)

    def failure(self, error: Exception) -> TrainingFailed:
        """What to tell the user; the whole traceback goes into the run's folder."""
        text = "".join(traceback.format_exception(error))
        cause = error.cause if isinstance(error, RayTaskError) else error
        message = f"training failed after {self._steps:,} steps: {type(cause).__name__}: {cause}"
        try:
            (self._folder.path / ERROR_FILE).write_text(text)
            message += f"\nThe traceback is in {self._folder.path / ERROR_FILE}."
        except OSError:
            message += f"\n{text}"
        kept = "there is no checkpoint yet" if self._checkpoint is None else f"last good checkpoint: {self._checkpoint}"
        return TrainingFailed(f"{message}\n{kept[0].upper()}{kept[1:]}.")

    def _iterate(self, algorithm: FragmentAlgorithm) -> dict[str, float]:
        before, started = self._steps, time.perf_counter()
        results: dict[str, Any] = algorithm.train()
        seconds = time.perf_counter() - started
        self._steps = algorithm.env_steps
        row = row_of(results, seconds, self._steps, self._steps - before)
        if self._evaluation_due(before):
            self._display.waiting("evaluating on held-out contexts")
            row |= evaluation_columns(algorithm.evaluate())
        return row

    def _evaluation_due(self, before: int) -> bool:
        every = self._settings.evaluate_every_steps
        if every == 0:
            return False
        at_the_end = self._steps >= self._settings.steps
        return at_the_end or (every is not None and before // every < self._steps // every)

    def _checkpoint_due(self, seconds: float) -> bool:
        if self._steps >= self._settings.steps:
            return False  # the last one comes after the loop
        every = self._settings.checkpoint_every_steps
        if every is None:
            return seconds >= SECONDS_BETWEEN_CHECKPOINTS
        return self._saved_steps // every < self._steps // every

    def _save(self, algorithm: FragmentAlgorithm, last: bool) -> None:
        """Write a checkpoint. Where the disk is full the previous one stays and, but for the last, training goes on."""
        try:
            self._checkpoint = self._folder.save_checkpoint(self._steps, algorithm.save_to_path)
        except OSError as error:
            if last:
                raise
            kept = "there is none before it" if self._checkpoint is None else f"the last one is {self._checkpoint}"
            reason = error.strerror or str(error)
            self._display.note(f"no checkpoint at {self._steps:,} steps: {reason}; training goes on, {kept}")
        self._saved_steps = self._steps
