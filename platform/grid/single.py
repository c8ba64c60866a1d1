"""One trial in this process: a grid of one, with the same files and training loop."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
import torch
from ray.exceptions import RayTaskError

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.preparation import ClaimedFolder, checkpoint_locations, this_command, with_id
from bonuslab.platform.grid.resources import SECONDS_PER_ITERATION
from bonuslab.platform.pictures.trial_pictures import pictures_of
from bonuslab.platform.run.agent import read_trial_config
from bonuslab.platform.run.checkpoints import CheckpointStore
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.find import Found
from bonuslab.platform.run.folder import GRID_FILE, GridDescription, GridFolder, TrialDescription, TrialFolder
from bonuslab.platform.run.names import describe_trial, short_task, slug
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.run.ray_session import cluster_address, ending_with_ray, ray_died, ray_session, require_room
from bonuslab.platform.run.record import TrialRecord
from bonuslab.platform.run.repair import repair
from bonuslab.platform.run.results import RETURN, fewest_episodes
from bonuslab.platform.run.state import write_bytes
from bonuslab.platform.run.stop_request import StopRequest
from bonuslab.platform.run.training import Row, Training, TrialReport
from bonuslab.platform.run.versions import this_code

EXPERIMENT = "train"
"""Experiment name of a grid made by `bonuslab train`."""
MAY_CHANGE = ("total_env_steps", "resources", "checkpoint_every_steps", "evaluate_every_steps")
"""What may change when a run is resumed; everything else defines the run."""


class TrainingFailed(RuntimeError):  # noqa: N818 (reads better)
    """Training raised an error; the message includes it and the last good checkpoint."""


@dataclass
class RunOutcome:
    """How a run ended."""

    row: Row
    """The last row of progress.csv."""
    stopped_by: int | None
    """The signal that stopped it; None if it finished."""


class SingleRun:
    """A run with a locked folder: `train` it in this process, then `release` it."""

    def __init__(
        self,
        folder: GridFolder,
        description: GridDescription,
        new: bool,
        notes: Sequence[str] = (),
        trust: bool = False,
    ) -> None:
        self.folder = folder
        self._description = description
        self._trial: TrialDescription = description.trials[0]
        self._new = new
        self._notes = notes
        self._trust = trust

    @classmethod
    def begin(cls, config: Config, path: Path | None = None) -> SingleRun:
        """Create a run, below runs/ unless `path` is given."""
        path = default_path(config) if path is None else Path(path)
        if (path / GRID_FILE).exists():
            raise InvalidInput(f"{path} already contains a run; resume it (--resume {path}) or choose another folder")
        options = {"metric": RETURN}
        wanted = with_id(GridDescription(path.name, EXPERIMENT, "", [describe_trial(config)], options=options))
        claimed = ClaimedFolder(path, wanted, fresh=False, accept_changes=False)
        claimed.write([plugin for plugin in config.plugins if isinstance(plugin, str)])
        return cls(claimed.folder, claimed.description, new=True)

    @classmethod
    def resume(cls, folder: GridFolder, trust: bool = False, **changes: Any) -> SingleRun:
        """Open an existing run; `changes` are limited to `MAY_CHANGE`. `trust`: see `trust.py`."""
        description = folder.description()
        if len(description.trials) != 1:
            raise InvalidInput(f"{folder.path} is a grid; run its command again to resume it")
        folder.lock()
        try:
            notes = repair(folder, checkpoint_locations(folder, description).of)
            trial = description.trials[0]
            config = read_trial_config(Found(folder, folder.trial(trial.id)), trust)
            steps = changes.pop("total_env_steps", None)
            if steps is not None:
                changes["hyperparameters"] = {**config.hyperparameters, "total_env_steps": steps}
            trial = replace(describe_trial(replace(config, **changes)), id=trial.id, labels=trial.labels)
            state = folder.trial(trial.id).state()
            if state.status == "finished" and state.env_steps >= trial.total_env_steps:
                raise InvalidInput(
                    f"the run in {folder.path} has finished its {trial.total_env_steps:,} steps; extend it with --steps"
                )
            description.trials = [trial]
            description.commands.append(this_command())
            folder.write(description)
        except BaseException:
            folder.release()
            raise
        return cls(folder, description, False, notes, trust)

    @property
    def trial(self) -> TrialFolder:
        """The trial's folder."""
        return self.folder.trial(self._trial.id)

    @property
    def config(self) -> Config:
        """The run's configuration."""
        return Config.from_dict(self._trial.config)

    def train(self, display: Progress) -> RunOutcome:
        """Train to the last step, or until a signal requests a stop."""
        config = self.config
        try:
            if not config.serial:
                if cluster_address() is None and not ray.is_initialized():
                    require_room(config.rllib(), {"CPU": os.cpu_count() or 1, "GPU": torch.cuda.device_count()})
                display.waiting(f"joining Ray at {cluster_address()}" if cluster_address() else "starting Ray")
            if config.serial:
                return self._train(config, display)
            with ray_session(cluster_address()), ending_with_ray(lambda: display.note(self._lost())):
                return self._train(config, display)
        except (InvalidInput, KeyboardInterrupt):
            self._discard_if_empty()
            raise

    def _lost(self) -> str:
        return f"training has stopped: {ray_died()}; `bonuslab train --resume {self.folder.path}` resumes it"

    def release(self) -> None:
        """Unlock the folder."""
        self.folder.release()

    def _train(self, config: Config, display: Progress) -> RunOutcome:
        record = TrialRecord(self.trial, fewest_episodes(self._trial.hyperparameters))
        for note in self._notes:
            display.note(note)
        code = this_code(self._trial.config)
        if record.state.env_steps and record.state.code not in ("", code):
            display.note(f"trained so far by {record.state.code}; this is {code}")
        record.wait(self._trial.total_env_steps, code)
        where = checkpoint_locations(self.folder, self._description).of(self._trial.id)
        training: Training | None = None
        with StopRequest(lambda: display.note("stopping after this update (again: stop immediately)")) as stop:
            try:
                record.start()
                record.write()
                rllib_config = self._rllib_config(config, display)
                training = Training(
                    config, rllib_config, CheckpointStore(where), lambda: stop.signal is not None, self._trust
                )
                display.waiting("waiting for the first batch; a first run also compiles, up to a minute")
                finished = self._loop(training, record, display)
            except InvalidInput:
                raise
            except Exception as error:
                raise self._failure(record, error) from error
            finally:
                if training is not None:
                    training.close()
                record.interrupt()
                record.write()
        if not record.state.env_steps:
            raise KeyboardInterrupt  # there is nothing to save yet
        if finished:
            display.waiting("recording an episode")
            self._take_pictures(CheckpointStore(where), display)
        return RunOutcome(record.last_row, None if finished else stop.signal)

    def _rllib_config(self, config: Config, display: Progress) -> Any:
        rllib_config = config.rllib()
        if not config.serial:
            require_room(rllib_config, ray.cluster_resources())
            rllib_config.reporting(min_time_s_per_iteration=SECONDS_PER_ITERATION)
            processes = rllib_config.num_env_runners
            display.waiting(f"starting {processes} env runner{'s' if processes > 1 else ''}")
        return rllib_config

    @staticmethod
    def _loop(training: Training, record: TrialRecord, display: Progress) -> bool:
        """Train until done; returns whether the last step was reached."""
        while True:
            report: TrialReport = training.next_report()
            record.add(report)
            record.write()
            if report.resumed:
                display.note(f"resumed {report.resumed}")
            for note in report.notes:
                display.note(f"warning: {note}")
            if report.row is not None:
                display.update(report.row)
            if report.done:
                return report.finished

    def _failure(self, record: TrialRecord, error: Exception) -> TrainingFailed:
        """The error to show; the full traceback goes to the run's folder."""
        text = "".join(traceback.format_exception(error))
        cause = error.cause if isinstance(error, RayTaskError) else error
        message = f"training failed after {record.state.env_steps:,} steps: {type(cause).__name__}: {cause}"
        record.fail(text, again=False)
        try:
            record.write()
            message += f"\nThe traceback is in {self.trial.error_file}."
        except OSError:
            message += f"\n{text}"
        kept = record.state.checkpoints
        return TrainingFailed(
            f"{message}\n{f'Last good checkpoint: {kept[-1]}' if kept else 'There is no checkpoint yet'}."
        )

    def _take_pictures(self, checkpoints: CheckpointStore, display: Progress) -> None:
        """Record an episode; a failure here is only noted."""
        try:
            for name, data in pictures_of(checkpoints, self._trust).items():
                write_bytes(self.trial.path / name, data)
        except Exception as error:
            display.note(f"no video of the trained policy: {type(error).__name__}: {error}")

    def _discard_if_empty(self) -> None:
        """Remove the folder of a new run without results."""
        if self._new and not self.trial.progress.exists():
            self.release()
            shutil.rmtree(self.folder.path, ignore_errors=True)


def default_path(config: Config) -> Path:
    """A new folder below runs/, named after the configuration."""
    name = f"{slug(short_task(config.task))}_{slug(config.bonus)}_contexts-{config.contexts}_seed-{config.seed}"
    path, number = Path("runs") / name, 2
    while path.exists():
        path, number = Path("runs") / f"{name}_{number}", number + 1
    return path
