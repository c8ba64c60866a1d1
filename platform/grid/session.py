"""One invocation of an experiment's command: `plan`, or `run` from the first check to the report."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import expanduser
from pathlib import Path
from typing import Any

from bonuslab.envs.catalogue import is_missing
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.calibration import Calibration
from bonuslab.platform.grid.cloud import CloudCluster
from bonuslab.platform.grid.cluster import Cluster, find_address, joined
from bonuslab.platform.grid.driver import GridDriver, GridOutcome, RunOptions, stopped
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.forecast import (
    KINDS,
    Forecast,
    Kinds,
    PlannedTrial,
    demand,
    demand_text,
    disk_problem,
    extrapolated,
    on_one_core,
    planned,
    processor_problem,
    slots_for,
)
from bonuslab.platform.grid.plan_table import beside_plan, describe, print_plan
from bonuslab.platform.grid.preparation import ClaimedFolder, checkpoint_locations, with_id
from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.resources import ONE_PROCESS
from bonuslab.platform.grid.terminal import GridTable
from bonuslab.platform.run.checkpoints import require_writable
from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.names import short_task
from bonuslab.platform.run.progress import Progress, duration
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.tracking import Follower
from bonuslab.platform.tracking.store import OPTION as TRACKING_OPTION
from bonuslab.platform.tracking.store import absolute_database, check_tracking_uri
from bonuslab.platform.tracking.wandb_runs import send_to_wandb

SYNC_SECONDS = 120.0
"""How long a finished grid waits for the tracking server; `bonuslab track` syncs the rest."""
STOPPED_SYNC_SECONDS = 10.0
"""The same for a stopped grid."""


@dataclass(frozen=True)
class SessionOptions:
    """How a grid is run; named as on the command line."""

    address: str | None = None
    concurrent: int | None = None
    max_retries: int = 2
    storage: str | None = None
    tracking_uri: str | None = None
    fresh: bool = False
    accept_changes: bool = False
    recalibrate: bool = False
    wandb: str | None = None
    ray_dashboard: bool = False


class GridSession:
    """A validated request for a grid."""

    def __init__(
        self,
        experiment: Experiment,
        scale_name: str,
        scale: Scale,
        trials: list[TrialDescription],
        path: Path,
        options: Mapping[str, Any],
    ) -> None:
        self._experiment = experiment
        self._scale_name = scale_name
        self._resources = scale.resources
        self._trials = trials
        self._plugins = {**scale.settings, **scale.chosen}.get("plugins", ())
        self._path = path
        self._options = SessionOptions(**options)
        self._address = find_address(self._options.address)
        self._display = Progress(1)
        self._planned_seconds: float | None = None
        uri = self._options.tracking_uri
        if uri is not None and check_tracking_uri(uri) == "sqlite":
            self._options = replace(self._options, tracking_uri=absolute_database(uri))
        storage = self._options.storage
        if storage is not None and "://" not in storage:  # other processes may have other working folders
            self._options = replace(self._options, storage=os.path.abspath(expanduser(storage)))

    def plan(self) -> int:
        """Print the trials and what they need, here or, if they do not fit, on the cluster of deploy/cluster.yaml."""
        self._display.hint("joining Ray" if self._address else "starting Ray")
        with joined(self._address) as cluster:
            problem = processor_problem(self._trials, self._resources, cluster)
            cloud = CloudCluster.read() if problem and self._address is None else None
            if cloud is None:
                forecast = self._measured_plan(cluster)
                measured = f"measured by training every bonus briefly on {short_task(self._trials[0].config['task'])}"
            else:
                forecast = self._cloud_plan(cluster, cloud)
                problem = processor_problem(self._trials, self._resources, forecast.cluster)
                measured = "extrapolated from one core of this machine to each trial's CPUs; --plan there measures it"
            self._display.clear()
            print_plan(forecast, measured)
            if cloud is None:
                problem = problem or disk_problem(forecast, self._path, self._options.storage)
        if problem:
            raise InvalidInput(f"this grid cannot run: {problem}")
        return 0

    def _measured_plan(self, cluster: Cluster) -> Forecast:
        """The forecast for a cluster, measured on the machines it has now if the trials fit there."""
        calibration, kinds = self._calibration(cluster, self._trials), Kinds(self._trials)
        cpus, gpus = (sum(node[kind] for node in cluster.nodes) for kind in ("CPU", "GPU"))
        now = Cluster(cluster.address, cpus, gpus, cluster.nodes)
        if processor_problem(self._trials, self._resources, now) is None:
            self._measure(kinds, calibration)
        return self._forecast(cluster, planned(self._trials, kinds, calibration))

    def _cloud_plan(self, here: Cluster, cloud: CloudCluster) -> Forecast:
        """The forecast for a larger cluster, from the speed of the same trials on one core each of this machine.

        IMPALA's learner has a GPU there, so its CPUs only act; a worker of DD-PPO alternates between the two.
        """
        trials = on_one_core(self._trials)
        slots = slots_for(trials, ONE_PROCESS, here)
        needs = demand(self._trials[0], self._resources)
        acting_only = needs["GPU"] > 0 and self._trials[0].config["algorithm"] == "impala"
        calibration = Calibration(here, ONE_PROCESS, concurrent=slots, acting_only=acting_only)
        kinds = Kinds(trials)
        self._measure(kinds, calibration)
        found = planned(trials, kinds, calibration)
        there = [extrapolated(one, own, needs["CPU"]) for one, own in zip(found, self._trials, strict=True)]
        forecast = self._forecast(cloud.cluster(), there)
        price = cloud.dollars_per_hour(*(forecast.slots * needs[kind] for kind in KINDS))
        return replace(forecast, dollars_per_hour=price)

    def _measure(self, kinds: Kinds, calibration: Calibration) -> None:
        if is_missing():  # nothing can be trained here; the plan shows no times
            return
        wanted = kinds.all if self._options.recalibrate else kinds.unknown(calibration)
        if wanted:
            calibration.measure(wanted, self._display.hint)

    def _calibration(self, cluster: Cluster, trials: Sequence[TrialDescription]) -> Calibration:
        slots = slots_for(trials, self._resources, cluster, self._options.concurrent)
        return Calibration(cluster, self._resources, concurrent=slots)

    def run(self) -> int:
        """Run unfinished trials, write the report and print a summary."""
        if self._options.storage is not None:
            require_writable(self._options.storage)
        claimed = ClaimedFolder(self._path, self._description(), self._options.fresh, self._options.accept_changes)
        try:
            unfinished = claimed.unfinished()
            if not unfinished:
                claimed.write(self._plugins)
                _print_lines(claimed.notes)
                return self._finish(claimed.folder, GridOutcome(), self._follower(claimed.folder))
            self._display.hint("joining Ray" if self._address else "starting Ray")
            with joined(self._address, self._options.ray_dashboard) as cluster:
                self._require_room(cluster, unfinished)
                claimed.description.options["ray_dashboard"] = cluster.dashboard
                claimed.write(self._plugins)
                self._display.clear()
                started = time.monotonic()
                outcome, follower = self._work(claimed, unfinished, cluster)
            took = time.monotonic() - started
            print(f"took {beside_plan(self._planned_seconds, took, stopped=bool(outcome.stopped))}")
            return self._finish(claimed.folder, outcome, follower)
        finally:
            self._display.clear()
            claimed.release()

    def _work(
        self, claimed: ClaimedFolder, unfinished: list[TrialDescription], cluster: Cluster
    ) -> tuple[GridOutcome, Follower]:
        folder = claimed.folder
        done = len(claimed.description.trials) - len(unfinished)
        print(f"{self._experiment.name}, scale {self._scale_name}: {len(self._trials)} trials in {folder.path}", end="")
        print(f", {done} already finished" if done else "")
        per_trial = demand_text(unfinished[0], self._resources)
        print(f"on {describe(cluster)}, {per_trial} per trial; watch with `bonuslab board {folder.path}`", flush=True)
        _print_lines(claimed.notes)
        recorder = Recorder(folder)
        slots = slots_for(unfinished, self._resources, cluster, self._options.concurrent)
        table = GridTable(claimed.description.trials, recorder, self._experiment.metric, slots)
        follower = self._follower(folder, table.note)
        options = RunOptions(self._resources, self._options.max_retries, self._options.concurrent)
        where = checkpoint_locations(folder, claimed.description, self._options.storage)
        follower.start()
        try:
            outcome = self._driver(claimed.description)(folder, unfinished, where, options, recorder, table).run()
            table.draw()
        except BaseException:
            follower.stop(STOPPED_SYNC_SECONDS)
            raise
        return outcome, follower

    def _driver(self, description: GridDescription) -> Callable[..., GridDriver]:
        return GridDriver

    def _finish(self, folder: GridFolder, outcome: GridOutcome, follower: Follower) -> int:
        """Write the report, sync to MLflow and print a summary."""
        if outcome.stopped:
            follower.stop(STOPPED_SYNC_SECONDS)
            return self._stopped(folder, outcome, follower)
        page = self._report(folder)
        self._display.hint("syncing to MLflow")
        follower.start()
        follower.stop(SYNC_SECONDS)
        self._display.clear()
        failed = _summarise(folder)
        self._send_to_wandb(folder)
        if page is not None:
            print(f"  report    {page}")
        print(f"  tracking  {follower.summary()}")
        print(f"  compare   bonuslab ui {folder.path}")
        print(f"  browse    bonuslab board {folder.path}")
        return 1 if failed else 0

    def _stopped(self, folder: GridFolder, outcome: GridOutcome, follower: Follower) -> int:
        print(stopped(folder, outcome.stopped))
        if outcome.unwritten is not None:
            print(f"some results could not be written ({outcome.unwritten}) and will be trained again")
        self._send_to_wandb(folder)
        print(f"  tracking  {follower.summary()}")
        return 128 + outcome.signal if outcome.signal is not None else 1

    def _send_to_wandb(self, folder: GridFolder) -> None:
        if self._options.wandb is not None:
            print(f"  wandb     {send_to_wandb(folder, self._options.wandb)}")

    def _report(self, folder: GridFolder) -> Path | None:
        from bonuslab.platform.report.write import write_report

        self._display.hint("writing the report")
        try:
            return write_report(folder)
        except Exception as error:  # a failed report must not fail the grid
            self._display.clear()
            print(f"no report: {error}; write it with `bonuslab report {folder.path}`", file=sys.stderr)
            return None
        finally:
            self._display.clear()

    def _follower(self, folder: GridFolder, note: Any = print) -> Follower:
        return Follower(folder, self._options.tracking_uri, note)

    def _description(self) -> GridDescription:
        options: dict[str, Any] = {"metric": self._experiment.metric}
        for name, value in ((TRACKING_OPTION, self._options.tracking_uri), ("storage", self._options.storage)):
            if value is not None:
                options[name] = redacted(value)
        return with_id(
            GridDescription(self._path.name, self._experiment.name, self._scale_name, self._trials, options=options)
        )

    def _require_room(self, cluster: Cluster, trials: Sequence[TrialDescription]) -> None:
        problem = processor_problem(trials, self._resources, cluster)
        if problem is None:
            calibration, kinds = self._calibration(cluster, trials), Kinds(trials)
            unknown = kinds.unknown(calibration)
            # The longest expression has the most models, hence the largest checkpoint.
            largest = max(unknown, key=lambda kind: len(kind.bonus), default=None)
            size = 0
            if largest is not None:
                self._display.hint("checking disk space")
                size = calibration.checkpoint_bytes(largest)
            forecast = self._forecast(cluster, planned(trials, kinds, calibration, size))
            problem = disk_problem(forecast, self._path, self._options.storage)
            self._planned_seconds = None if unknown else forecast.seconds
        if problem:
            raise InvalidInput(f"this grid cannot run: {problem}")

    def _forecast(self, cluster: Cluster, trials: list[PlannedTrial]) -> Forecast:
        descriptions = [trial.description for trial in trials]
        slots = slots_for(descriptions, self._resources, cluster, self._options.concurrent)
        return Forecast(trials, self._resources, cluster, slots)


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines:
        print(line, flush=True)


def _summarise(folder: GridFolder) -> int:
    """Print how the trials ended; returns the number of unfinished ones."""
    states = {trial.id: trial.state() for trial in folder.trials()}
    finished = [state for state in states.values() if state.status == "finished"]
    spent = duration(sum(state.wall_seconds for state in states.values()))
    print(f"{folder.path.name}: {len(finished)} of {len(states)} trials finished, {spent} of training in total")
    for trial, state in states.items():
        if state.status != "finished":
            print(f"  failed    {trial}: {state.error} ({folder.trial(trial).error_file})")
    return len(states) - len(finished)
