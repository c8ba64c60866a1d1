"""The Ray Tune trainable of every trial, for any algorithm and environment."""

from __future__ import annotations

import traceback
from typing import Any

import ray
import torch
from ray import tune
from ray.tune.execution.placement_groups import PlacementGroupFactory

from bonuslab.algorithms.extensions import capture, install
from bonuslab.platform.grid.relay import checkpoints_of
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.pictures.trial_pictures import pictures_of
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import TrialDescription
from bonuslab.platform.run.ray_session import silence_notices
from bonuslab.platform.run.training import Training, TrialReport

REPORT = "report"
"""Key of a `TrialReport` in a Tune result."""
REPORTED = ("env_steps", "win_rate", "episode_return")
"""Columns of progress.csv that Tune gets as numbers."""


class GridTrial(tune.Trainable):
    """A trial, configured by `trial_spec`."""

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> PlacementGroupFactory:
        """The trial's placement group."""
        return TrialResources(**config["resources"]).request(config["config"])

    def setup(self, config: dict[str, Any]) -> None:
        """Do nothing that could fail: Tune does not retry failures here, so work begins in `step`."""
        self._spec = config
        self._training: Training | None = None

    def step(self) -> dict[str, Any]:
        """Train until there is a new row."""
        relay = ray.get_actor(self._spec["relay"])
        if self._training is None:
            if ray.get(relay.stopping.remote()):
                return _result(TrialReport(done=True))
            self._training = start_training(self._spec, relay)
        report = self._training.next_report()
        if report.finished:
            self._take_pictures(relay, report)
        return _result(report)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Reuse the process for another trial, which saves importing PyTorch and RLlib again."""
        self.cleanup()
        self.setup(new_config)
        return True

    def cleanup(self) -> None:
        """Stop the trial's algorithm."""
        if self._training is not None:
            self._training.close()
            self._training = None

    def _take_pictures(self, relay: Any, report: TrialReport) -> None:
        """Record an episode of the trained policy; a failure here is only noted."""
        try:
            pictures = pictures_of(checkpoints_of(relay, self._spec["trial"]))
            ray.get(relay.save_pictures.remote(self._spec["trial"], pictures))
        except Exception:
            report.notes.append(f"no video of the trained policy: {traceback.format_exc(limit=-1).splitlines()[-1]}")


def start_training(spec: dict[str, Any], relay: Any) -> Training:
    """Build the algorithm of a trial, or restore it from its newest checkpoint."""
    silence_notices()
    install(spec["extensions"])
    config = Config.from_dict(spec["config"])
    if config.serial:
        torch.set_num_threads(1)
    rllib_config = TrialResources(**spec["resources"]).configure(config)
    checkpoints = checkpoints_of(relay, spec["trial"])
    return Training(config, rllib_config, checkpoints, lambda: ray.get(relay.stopping.remote()))


def trial_spec(trial: TrialDescription, resources: TrialResources, relay: str) -> dict[str, Any]:
    """The Tune config of a trial: its configuration and resources, the user's extensions, and the relay's name."""
    return {
        "trial": trial.id,
        "config": trial.config,
        "resources": vars(resources),
        "relay": relay,
        "extensions": capture(),
    }


def _result(report: TrialReport) -> dict[str, Any]:
    # As text, because Tune keeps statistics of every number in a result; a few of them for its own tools.
    numbers = {name: report.row[name] for name in REPORTED if name in report.row} if report.row else {}
    return {REPORT: report.as_text(), "done": report.done, **numbers}
