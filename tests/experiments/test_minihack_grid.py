"""The grid of the paper's section 4: its scales, its ways to be called, and what is refused at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.experiments.minihack_grid import EXPERIMENT, GridCommand
from bonuslab.platform.cli.main import main

SCRIPT = Path(__file__).parents[2] / "experiments" / "minihack_grid.py"


def test_scales_are_what_they_say() -> None:
    paper = EXPERIMENT.scale("paper")
    assert (len(paper.tasks), len(paper.seeds)) == (16, 5)
    assert len(set(paper.bonuses)) == 10
    laptop = EXPERIMENT.scale("laptop").trials()
    assert len(laptop) == 24
    assert {trial.labels["scope"] for trial in laptop} == {"none", "global", "episodic", "combined"}
    assert all(trial.config["serial"] for trial in laptop)
    one_seed = EXPERIMENT.selected("paper", seeds=[0], tasks=["MultiRoom-N10"]).trials()
    assert {trial.total_env_steps for trial in one_seed} == {50_000_000}
    assert one_seed[4].labels["bonus"] == "e3b + 100 * rnd"
    assert not one_seed[0].config["serial"]
    assert len(EXPERIMENT.scale("smoke").trials()) == 2
    assert len(EXPERIMENT.selected("workstation", seeds=[0]).trials()) == 6 * 9


def test_each_environment_has_its_own_preset() -> None:
    tasks = ["MultiRoom-N2-S4", "CartPole-v1", "MiniGrid-Empty-5x5-v0"]
    trials = EXPERIMENT.selected("laptop", seeds=[0], tasks=tasks, bonuses=["none"]).trials()
    assert [trial.config["preset"] for trial in trials] == ["laptop", "classic", "minigrid"]


def test_a_declaration_loads_neither_ray_nor_torch() -> None:
    code = "import sys, bonuslab.experiments.minihack_grid; print({'ray', 'torch', 'mlflow'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_the_script_runs_from_any_directory(tmp_path: Path) -> None:
    """As `ray submit` does it: a copy of the script alone, in a home directory."""
    copy = tmp_path / "minihack_grid.py"
    copy.write_text(SCRIPT.read_text())
    words = [sys.executable, str(copy), "--scale", "smok"]
    refused = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.strip() == "minihack_grid: unknown scale 'smok'; did you mean smoke?"
    assert [path.name for path in tmp_path.iterdir()] == ["minihack_grid.py"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bonuses", "e3b *"], "e3b \\*"),
        (["--concurrent", "0"], "invalid --concurrent 0; it must be 1 or more"),
        (["--max-retries", "-1"], "invalid --max-retries -1; it must be 0 or more"),
        (["--tracking-uri", "ftp://me:hunter22@host"], "kind of tracking URI"),
        (["--storage", "sftp://me:hunter22@host/x"], "invalid --storage sftp://\\*\\*\\*@host/x"),
        (["--address", "ray://10.0.0.1:10001"], "ray submit"),
        (["--address", "127.0.0.1:1"], "nothing answers at --address 127.0.0.1:1"),
        (["--out", "/proc/grid"], "cannot be written to"),
    ],
)
def test_bad_input_ends_with_2_and_leaves_nothing(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert GridCommand().main(["--scale", "smoke", *words]) == 2
    printed = capsys.readouterr().err
    assert "hunter22" not in printed
    assert "Traceback" not in printed
    assert re.search(message, printed), printed
    assert not any((tmp_path / "runs").glob("*"))


def test_it_is_a_command_of_bonuslab(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["grid", "--help"])
    assert ended.value.code == 0
    assert "--accept-changes" in capsys.readouterr().out
