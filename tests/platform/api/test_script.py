"""`import bonuslab as bl` as a user meets it: a script, a notebook, and how little the import loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import nbformat
import pytest
from nbclient import NotebookClient

import bonuslab as bl
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.main import main

SCRIPT = Path(__file__).with_name("day_one.py")
NOTEBOOK = Path(__file__).parents[3] / "experiments" / "notebooks" / "first_steps.ipynb"


def run_script(mode: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), mode], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.usefixtures("fresh_registries")
def test_the_script_runs_serially_and_its_runs_can_be_loaded_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_script("serial", tmp_path)
    assert "greedy" in said
    assert "sampled" in said
    assert (tmp_path / "episode.mp4").stat().st_size > 1_000
    assert matplotlib.image.imread(tmp_path / "curves.png").ndim == 3
    monkeypatch.chdir(tmp_path)
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert [name.split("_")[1] for name in names] == ["e3b-x-rnd", "e3b-x-speed", "none"]
    run = bl.load(names[1])
    assert isinstance(run, bl.Run)
    assert (run.labels["bonus"], run.state.status, len(run.metrics)) == ("e3b * speed", "finished", 3)
    with pytest.raises(InvalidInput, match="speed"):
        bl.parse("speed")  # this process has not seen the script
    assert run.evaluate(episodes=1).loc["num_episodes", "greedy"] == 1  # but the checkpoint has brought it
    assert run.config.bonus == "e3b * speed"
    assert main(["watch", names[1], "--save", "episode.gif"]) == 0
    assert "saved episode.gif" in capsys.readouterr().out


@pytest.mark.cluster
def test_the_script_runs_on_ray(tmp_path: Path) -> None:
    run_script("ray", tmp_path)
    (run,) = (tmp_path / "runs").iterdir()
    rows = bl.load(run).metrics
    assert rows["env_steps"].max() >= 96
    assert rows["term/speed/raw_mean"].max() > 0


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells), "strip the outputs"
    (training,) = [cell for cell in cells if "steps=16_384" in cell.source]
    shorter = "steps=512, num_envs_per_env_runner=8, evaluation_duration=4"
    training.source = training.source.replace("steps=16_384", shorter)
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    assert (tmp_path / "episode.mp4").stat().st_size > 1_000
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs)
    assert len(list((tmp_path / "runs").iterdir())) == 3


def test_import_loads_neither_torch_nor_ray() -> None:
    code = (
        "import json, sys, bonuslab as bl\n"
        "heavy = sorted({'torch', 'ray', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules))\n"
        "print(json.dumps([bl.__version__, dir(bl), heavy]))"
    )
    version, names, heavy = json.loads(subprocess.check_output([sys.executable, "-c", code], text=True))
    assert heavy == []
    assert version == bl.__version__
    assert names == sorted(bl.__all__)
    assert {"train", "resume", "grid", "load", "plot", "Config", "E3B", "RND", "parse", "bonus"} <= set(names)


@pytest.mark.parametrize("name", bl.__all__)
def test_every_name_can_be_used_and_is_documented(name: str) -> None:
    value = getattr(bl, name)
    assert value is getattr(bl, name)
    assert name == "__version__" or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'E3C'"):
        bl.E3C  # noqa: B018


def test_bonuses_are_an_algebra() -> None:
    combined = bl.E3B() * bl.RND()
    assert str(combined) == "e3b * rnd"
    assert combined == bl.parse("e3b*rnd")
    assert str(sum([bl.E3B(), 100 * bl.NovelD()])) == "e3b + 100 * noveld"
