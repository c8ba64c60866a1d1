"""`bonuslab train`."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonuslab.platform.cli.main import main
from bonuslab.platform.grid import single
from bonuslab.platform.run import ray_session, training
from bonuslab.platform.run.find import find
from bonuslab.platform.run.progress import Progress


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder; no run may start in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(single, "ray_session", lambda address: pytest.fail("Ray was started"))
    monkeypatch.setattr(single, "Training", lambda *_: pytest.fail("a run was started"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "needs a task"),
        (["MultiRom-N6"], "MultiRoom-N6"),
        (["MultiRoom-N6", "--bonus", "e3c"], "e3b"),
        (["MultiRoom-N6", "--preset", "desktop"], "laptop"),
        (["MultiRoom-N6", "--contexts", "none"], "'none'"),
        (["MultiRoom-N6", "--seed", "-1"], "seed -1"),
        (["MultiRoom-N6", "--steps", "0"], "total_env_steps=0"),
        (["MultiRoom-N6", "--resources", "moon"], "laptop"),
        (["MultiRoom-N6", "--set", "lr"], "name=value"),
        (["MultiRoom-N6", "--set", "lr=fast"], "'fast'"),
        (["MultiRoom-N6", "--set", "learning_rate=1"], "it is called lr here"),
        (["MultiRoom-N6", "--set", "num_minibatches=1000"], "1000"),
        (["MultiRoom-N6", "--plugin", "missing.py"], "missing.py"),
        (["MultiRoom-N6", "--out", "/proc/run"], "/proc/run"),
        (["MultiRoom-N6", "--checkpoint-every", "0"], "checkpoint_every_steps 0"),
        (["MultiRoom-N6", "--evaluate-every", "-5"], "evaluate_every_steps -5"),
        (["MultiRoom-N6", "--algorithm", "ppo"], "did you mean ddppo"),
        (["MultiRoom-N6", "--algorithm", "ddppo", "--preset", "paper"], "allowed: classic, habitat, laptop"),
        (["MultiRoom-N6", "--algorithm", "ddppo", "--set", "vtrace_clip_rho_threshold=1"], "unknown hyperparameter"),
        (["MultiRoom-N6", "--algorithm", "ddppo", "--set", "sync_fraction=2"], "invalid sync_fraction=2.0"),
        (["--resume", "nowhere"], "unknown run 'nowhere'"),
        (["--resume", "nowhere", "--seed", "3"], "--seed cannot be combined with --resume"),
        (["--resume", "nowhere", "--checkpoint-every", "0"], "unknown run"),
        (["MultiRoom-N6", "--resume", "nowhere"], "task cannot be combined with --resume"),
    ],
)
def test_bad_input_stops_before_anything_starts(
    words: list[str], named: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("bonuslab: ")
    assert named in captured.err
    assert "Traceback" not in captured.err
    assert list(folder.iterdir()) == []


def test_a_folder_in_use_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "thesis").mkdir()
    (folder / "thesis" / "chapter.tex").write_text("dear")
    (folder / "file").write_text("dear")
    for out, named in (("thesis", "not empty"), ("file", "is a file"), ("file/run", "file/run")):
        assert main(["train", "MultiRoom-N6", "--out", out]) == 2
        assert named in capsys.readouterr().err
    assert (folder / "thesis" / "chapter.tex").read_text() == "dear"


def test_resources_that_are_not_there_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(single, "ray_session", lambda address: pytest.fail("Ray was started"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert main(["train", "MultiRoom-N6", "--resources", "cluster", "--out", "run"]) == 2
    assert "but there are 2; choose others with --resources" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_to_its_end_and_no_second_one_in_its_folder(
    tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["train", "MultiRoom-N2-S4", "--bonus", "count.episodic(position)", *tiny.WORDS, "--steps", "64"]
    assert main([*words, "--set", "evaluation_duration=2", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "64/64 steps" in said
    assert "greedy     return" in said
    assert f"bonuslab watch {out}" in said
    assert "\r" not in said
    assert main([*words, "--out", str(out)]) == 2
    assert f"--resume {out}" in capsys.readouterr().err
    assert main(["train", "--resume", str(out)]) == 2
    assert "extend it with --steps" in capsys.readouterr().err
    assert find(out).require_trial().state().env_steps == 64


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_saves_a_checkpoint_first(
    number: signal.Signals,
    status: int,
    tmp_path: Path,
    tiny: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = Progress.update

    def interrupt(self: Progress, row: dict[str, Any]) -> None:
        show(self, row)
        if row["env_steps"] == 64:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Progress, "update", interrupt)
    monkeypatch.setattr(training, "STOP_POLL_SECONDS", 0.0)
    out = tmp_path / "run"
    assert main(["train", "MultiRoom-N2-S4", *tiny.WORDS, "--steps", "3200", "--out", str(out)]) == status
    (kept,) = find(out).require_trial().state().checkpoints
    assert Path(kept).name == "checkpoint_000000000064"
    said = capsys.readouterr().out
    assert "stopping after this update" in said
    assert f"bonuslab train --resume {out}" in said


def test_no_cluster_at_the_given_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(**_: Any) -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setenv("RAY_ADDRESS", "203.0.113.9:6379")
    monkeypatch.setattr(ray_session.ray, "init", refuse)
    assert main(["train", "MultiRoom-N2-S4", "--resources", "laptop", "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.cluster
def test_a_run_with_workers_ends_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    words = ["train", "MultiRoom-N2-S4", "--bonus", "e3b", "--resources", "laptop", "--evaluate-every", "0"]
    assert main([*words, "--steps", "6000", "--out", str(out)]) == 0
    assert "starting Ray …" in capsys.readouterr().out
    assert not ray_session.ray.is_initialized()
    before = find(out).require_trial().rows()
    assert main(["train", "--resume", str(out), "--steps", "20000"]) == 0
    after = find(out).require_trial().rows()
    assert after["env_steps"].tolist()[: len(before)] == before["env_steps"].tolist()
    assert after["env_steps"].is_monotonic_increasing
    assert after["env_steps"].max() >= 20_000
