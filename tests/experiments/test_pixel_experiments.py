"""Habitat and Montezuma's Revenge as experiments: what their scales train, and that the smallest one runs."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from bonuslab.envs.catalogue import collecting_missing
from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments import habitat_exploration, montezuma
from bonuslab.platform.grid import session
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
    assert all(trial.config["env"] == {"sticky": "step"} for trial in trials)
    paper = habitat_exploration.EXPERIMENT.scale("paper")
    assert (paper.resources.gpus, len(paper.bonuses)) == (32, 5)
    with pytest.raises(InvalidInput, match="needs habitat-sim"):
        paper.trials()
    with collecting_missing() as missing:  # as its --plan does
        trials = paper.trials()
    assert len(trials) == 5 * 5
    assert all(trial.config["env"] == {"stop_ends_episode": True} for trial in trials)
    assert len(missing) == 1


def test_the_plan_needs_no_simulator_but_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "find_address", lambda given: None)
    monkeypatch.setattr(session, "joined", lambda address: nullcontext(HERE))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert habitat_exploration.HabitatCommand().main(["--scale", "paper", "--plan"]) == 0
    shown = capsys.readouterr().out
    assert "25 trials, 5,625,000,000 steps; 320 CPUs and 32 GPUs per trial" in shown
    assert "on the cluster of deploy/cluster.yaml" in shown
    assert shown.splitlines()[-1].startswith("missing on this machine: HM3D needs habitat-sim 0.3.3")
    assert habitat_exploration.HabitatCommand().main(["--scale", "paper"]) == 2
    assert "needs habitat-sim" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.cluster
def test_montezuma_smoke(tmp_path: Path) -> None:
    out = tmp_path / "grid"
    command = [sys.executable, montezuma.__file__, "--scale", "smoke", "--out", str(out)]
    subprocess.run(command, check=True, cwd=tmp_path)
    (trial,) = GridFolder.open(out).trials()
    assert trial.state().status == "finished"
    assert trial.summary.is_file()
