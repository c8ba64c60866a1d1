"""The one trainable that Ray Tune runs, whatever the algorithm and the environment."""

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
from bonuslab.platform.run.training import TrialReport, Training

REPORT = "report"
"""Key of a `TrialReport`'s text in a result."""


class GridTrial(tune.Trainable):
    """A trial; its config is `trial_spec`'s."""

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> PlacementGroupFactory:
        """Its part of the cluster."""
        return TrialResources(**config["resources"]).request(config["config"])

    def setup(self, config: dict[str, Any]) -> None:
        """Nothing that could fail: Tune does not try again what fails here, so work begins with the first step."""
        self._order = config
        self._run: Training | None = None

    def step(self) -> dict[str, Any]:
        """Train until there is a new row."""
        relay = ray.get_actor(self._order["relay"])
        if self._run is None:
            if ray.get(relay.stopping.remote()):
                return _result(TrialReport(done=True))
            self._run = self._begun(relay)
        report = self._run.next_report()
        if report.finished:
            self._take_pictures(relay, report)
        return _result(report)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take up another trial in the same process, which saves loading PyTorch and RLlib again."""
        self.cleanup()
        self.setup(new_config)
        return True

    def cleanup(self) -> None:
        """Stop what the trial has started."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def _begun(self, relay: Any) -> Training:
        silence_notices()
        install(self._order["extensions"])
        config = Config.from_dict(self._order["config"])
        if config.serial:
            torch.set_num_threads(1)
        rllib_config = TrialResources(**self._order["resources"]).configure(config)
        checkpoints = checkpoints_of(relay, self._order["trial"])
        return Training(config, rllib_config, checkpoints, lambda: ray.get(relay.stopping.remote()))

    def _take_pictures(self, relay: Any, report: TrialReport) -> None:
        """Video the trained policy; a picture is never worth a trial, so whatever goes wrong is only noted."""
        try:
            pictures = pictures_of(checkpoints_of(relay, self._order["trial"]))
            ray.get(relay.save_pictures.remote(self._order["trial"], pictures))
        except Exception:
            report.notes.append(f"no video of the trained policy: {traceback.format_exc(limit=-1).splitlines()[-1]}")


def trial_spec(trial: TrialDescription, resources: TrialResources, relay: str) -> dict[str, Any]:
    """What a trial is told: its configuration and resources, the user's own classes, and the relay's name."""
    return {
        "trial": trial.id,
        "config": trial.config,
        "resources": vars(resources),
        "relay": relay,
        "extensions": capture(),
    }


def _result(report: TrialReport) -> dict[str, Any]:
    # As text: Tune would keep statistics of every number in it.
    return {REPORT: report.as_text(), "done": report.done}
