"""Runs the unfinished trials of a grid on Ray Tune, with retries."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ray
from ray import tune
from ray.tune.execution import class_cache
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.grid.cluster import own_node_alive
from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.relay import CheckpointLocations, Relay
from bonuslab.platform.grid.resources import ONE_PROCESS, TrialResources
from bonuslab.platform.grid.trainable import GridTrial, trial_spec
from bonuslab.platform.grid.tune_callback import GridCallback, GridStopper, RayLostError, Stopping
from bonuslab.platform.run.folder import GridFolder, TrialDescription
from bonuslab.platform.run.ray_session import ending_with_ray, ray_died
from bonuslab.platform.run.record import last_line
from bonuslab.platform.run.stop_request import StopRequest
from bonuslab.platform.run.versions import this_code

PROPAGATED_SECRETS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"}
QUIET = {
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # our handler lets trials save their work first
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the recorder writes the results
    "TUNE_WARN_INSUFFICENT_RESOURCE_THRESHOLD_S": "1e9",
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",  # the grid's folder makes Tune's own state redundant
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}


@dataclass(frozen=True)
class RunOptions:
    """How a grid is run; none of it affects results."""

    resources: TrialResources = ONE_PROCESS
    max_retries: int = 2
    concurrent: int | None = None
    """Maximum concurrent trials; None: as many as fit."""


@dataclass
class GridOutcome:
    """How a grid ended."""

    stopped: str = ""
    """Why it stopped early, if it did."""
    signal: int | None = None
    unwritten: OSError | None = None
    """Why the last results could not be written, if so."""


class Display(Protocol):
    """Where the driver shows progress; see `terminal.py`."""

    def refresh(self) -> None:
        """Show the trials' progress."""

    def note(self, text: str) -> None:
        """Print a line that stays."""


class GridDriver:
    """Needs Ray running and the grid locked; call `run` once."""

    def __init__(
        self,
        folder: GridFolder,
        trials: Sequence[TrialDescription],
        locations: CheckpointLocations,
        options: RunOptions,
        recorder: Recorder,
        display: Display,
    ) -> None:
        self._folder = folder
        self._trials = trials
        self._locations = locations
        self._options = options
        self._recorder = recorder
        self._display = display

    def run(self) -> GridOutcome:
        """Run until all trials have ended, or a signal or an unwritable folder stops the grid."""
        name, relay = self._start_relay()
        stopping = Stopping(lambda: relay.stop.remote())
        for trial in self._trials:
            self._recorder[trial.id].wait(trial.total_env_steps, this_code(trial.config))
        self._recorder.write()
        try:
            with StopRequest(lambda: self._request_stop(stopping)) as request, ending_with_ray(self._give_up):
                self._rounds(name, stopping)
        except RayLostError as error:
            stopping.request(str(error))
        except tune.TuneError as error:
            # Tune writes a file of its own about every failed trial, and gives up where it cannot: on a full disk.
            if "[Errno" not in (reason := last_line(str(error))):
                raise
            stopping.request(reason)
        finally:
            self._interrupt()
        return GridOutcome(stopping.reason, request.signal, self._recorder.problem)

    def _interrupt(self) -> None:
        for trial in self._trials:
            self._recorder[trial.id].interrupt()
        self._recorder.write()

    def _give_up(self) -> None:
        self._interrupt()
        self._display.note(stopped(self._folder, ray_died()))

    def _request_stop(self, stopping: Stopping) -> None:
        stopping.request("interrupted")
        self._display.note("stopping: running trials save their work first (again: stop immediately)")

    def _rounds(self, relay: str, stopping: Stopping) -> None:
        """Run Tune on unfinished trials until none is left that may be retried."""
        begun = {trial: state.attempts for trial, state in self._recorder.states().items()}
        steps = {trial: state.env_steps for trial, state in self._recorder.states().items()}
        left, rounds = list(self._trials), 0
        while left and not stopping.reason:
            self._round(left, relay, stopping)
            rounds += 1
            states = self._recorder.states()
            # On spot machines a long trial fails many times, so one that has made progress may always continue. Tune
            # itself does not retry if a machine is lost just before a trial starts on it.
            retried = {
                trial
                for trial, state in states.items()
                if state.env_steps > steps[trial]
                or max(rounds, state.attempts - begun[trial]) <= self._options.max_retries
            }
            left = [trial for trial in left if states[trial.id].status != "finished" and trial.id in retried]
            steps = {trial: state.env_steps for trial, state in states.items()}

    def _round(self, trials: Sequence[TrialDescription], relay: str, stopping: Stopping) -> None:
        callback = GridCallback(self._recorder, stopping, self._display.refresh, self._display.note, own_node_alive)
        specs = [trial_spec(trial, self._options.resources, relay) for trial in trials]
        self._fit(GridTrial, callback, stopping, tune.grid_search(specs))

    def _fit(
        self, trainable: type[GridTrial], callback: GridCallback, stopping: Stopping, space: Any, **options: Any
    ) -> None:
        """Run Tune; `options` are further ones of `TuneConfig`."""
        os.environ.update(QUIET)
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # the recorder reports failures
        # Ray would write them to its logs; processes on this machine inherit them anyway.
        class_cache.ENV_VARS_TO_PROPAGATE -= PROPAGATED_SECRETS
        with scratch_folder() as storage:
            tuner = tune.Tuner(
                trainable,
                param_space=space,
                tune_config=tune.TuneConfig(
                    max_concurrent_trials=self._options.concurrent,
                    reuse_actors=True,
                    trial_name_creator=_name,
                    trial_dirname_creator=_name,
                    **options,
                ),
                run_config=tune.RunConfig(
                    name=self._folder.path.name,
                    storage_path=str(storage),
                    callbacks=[callback],
                    stop=GridStopper(stopping, callback),
                    # Trials write their own: verified, and reaching the driver from any machine.
                    checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                    failure_config=tune.FailureConfig(max_failures=self._options.max_retries),
                    verbose=0,
                ),
            )
            tuner.fit()

    def _start_relay(self) -> tuple[str, Any]:
        name = f"bonuslab-relay-{uuid.uuid4().hex}"
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(Relay).options(
            name=name, num_cpus=0, scheduling_strategy=here, max_concurrency=4, max_restarts=-1, max_task_retries=3
        )
        relay = actor.remote(str(self._folder.path.absolute()), self._locations)
        ray.get(relay.stopping.remote())
        return name, relay


def stopped(folder: GridFolder, reason: str) -> str:
    """The sentence that ends a grid early."""
    return f"the grid in {folder.path} has stopped: {reason}. Run the same command again to resume."


def _name(trial: Any) -> str:
    return trial.config["trial"]
