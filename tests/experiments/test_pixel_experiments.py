"""Habitat and Montezuma's Revenge as experiments: what their scales train, and that the smallest one runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments import habitat_exploration, montezuma
from bonuslab.platform.grid.calibration import Calibration
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.experiment import Experiment
from bonuslab.platform.grid.forecast import Kinds
from bonuslab.platform.run.folder import GridFolder

HERE = Cluster(None, 2.0, 0.0, [{"CPU": 2.0, "GPU": 0.0}])
EXPERIMENTS = [habitat_exploration.EXPERIMENT, montezuma.EXPERIMENT]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_small_scales_can_be_planned(experiment: Experiment, scale: str, tmp_path: Path) -> None:
    trials = experiment.scale(scale).trials()
    unmeasured = Kinds(trials).unknown(Calibration(HERE, experiment.scale(scale).resources, tmp_path / "none.json"))
    assert {kind.bonus for kind in unmeasured} == {trial.config["bonus"] for trial in trials}


def test_what_the_paper_scales_train() -> None:
    trials = montezuma.EXPERIMENT.scale("paper").trials()
    assert len(trials) == 3 * 5
    assert {trial.total_env_steps for trial in trials} == {200_000_000}
    paper = habitat_exploration.EXPERIMENT.scale("paper")
    assert (paper.resources.gpus, len(paper.bonuses)) == (32, 5)
    with pytest.raises(InvalidInput, match="needs habitat-sim"):
        paper.trials()


@pytest.mark.slow
@pytest.mark.cluster
def test_montezuma_smoke(tmp_path: Path) -> None:
    out = tmp_path / "grid"
    command = [sys.executable, montezuma.__file__, "--scale", "smoke", "--out", str(out)]
    subprocess.run(command, check=True, cwd=tmp_path)
    (trial,) = GridFolder.open(out).trials()
    assert trial.state().status == "finished"
    assert trial.summary.is_file()
