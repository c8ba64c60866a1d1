"""Weights & Biases, with a stand-in for its package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bonuslab.platform.cli.main import main
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking.wandb_runs import send_to_wandb


class Project:
    """Keeps steps by run, as the service does."""

    def __init__(self) -> None:
        self.steps: dict[str, list[int]] = {}
        self.given: list[dict[str, Any]] = []
        self.Settings = SimpleNamespace

    def init(self, **given: Any) -> Any:
        self.given.append(given)
        steps = self.steps.setdefault(given["id"], [])
        starting = steps[-1] + 1 if steps else 0
        return SimpleNamespace(
            starting_step=starting, log=lambda values, step: steps.append(step), finish=lambda exit_code: None
        )


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project()
    monkeypatch.setitem(sys.modules, "wandb", made)  # type: ignore[arg-type]
    return made


def test_every_row_is_sent_once(project: Project, write_sample_grid: Callable[..., GridFolder], tmp_path: Path) -> None:
    grid = write_sample_grid(tmp_path / "grid", tasks=["KeyRoom-S5"], seeds=[0], rows=4)
    started = [trial for trial in grid.trials() if len(trial.rows())]
    assert send_to_wandb(grid, "mine") == f"{len(started)} runs in project mine"
    send_to_wandb(grid, "mine")
    assert sorted(map(len, project.steps.values())) == sorted(len(trial.rows()) for trial in started)
    first = project.given[0]
    assert (first["project"], first["group"], first["resume"]) == ("mine", "grid", "allow")
    assert first["name"].endswith("KeyRoom-S5 · seed 0")


def test_a_failure_is_one_sentence(
    project: Project, write_sample_grid: Callable[..., GridFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = write_sample_grid(tmp_path / "grid", tasks=["KeyRoom-S5"], seeds=[0], rows=4)

    def refuse(**_: Any) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(project, "init", refuse)
    assert "0 runs in project mine, then: no route to host" in send_to_wandb(grid, "mine")


def test_a_missing_package_is_named_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bonuslab.platform.tracking.wandb_runs.find_spec", lambda name: None)
    assert main(["train", "MultiRoom-N2-S4", "--serial", "--wandb", "mine"]) == 2
    assert "--wandb needs the package wandb; install it" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
