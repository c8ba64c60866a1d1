"""`bonuslab train`."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bonuslab.platform.cli.main import main
from bonuslab.platform.run import ray_session
from bonuslab.platform.run import single_run as training
from bonuslab.platform.run.progress import Progress

TINY = ["--serial", "--set", "envs_per_batch=4", "--set", "unroll_length_steps=8", "--set", "minibatches=2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder; no run may start in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "ray_session", lambda: pytest.fail("Ray was started"))
    monkeypatch.setattr(training, "_Run", lambda *_: pytest.fail("a run was started"))
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
        (["MultiRoom-N6", "--steps", "0"], "total_env_steps 0"),
        (["MultiRoom-N6", "--plan", "moon"], "laptop"),
        (["MultiRoom-N6", "--set", "learning_rate"], "name=value"),
        (["MultiRoom-N6", "--set", "learning_rate=fast"], "'fast'"),
        (["MultiRoom-N6", "--set", "minibatches=1000"], "1000"),
        (["MultiRoom-N6", "--plugin", "missing.py"], "missing.py"),
        (["MultiRoom-N6", "--out", "/proc/run"], "/proc/run"),
        (["MultiRoom-N6", "--checkpoint-every", "0"], "checkpoint_every_steps 0"),
        (["MultiRoom-N6", "--evaluate-every", "-5"], "evaluate_every_steps -5"),
        (["--resume", "nowhere"], "has no run.json"),
        (["--resume", "nowhere", "--seed", "3"], "--seed cannot be given"),
        (["MultiRoom-N6", "--resume", "nowhere"], "task cannot be given"),
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


@pytest.mark.parametrize("content", ["", "{}", '{"settings": {"task": "MultiRom-N6"}}', '{"settings": []}'])
def test_a_folder_with_a_broken_run_json_is_refused(
    content: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.json").write_text(content)
    assert main(["train", "--resume", str(folder)]) == 2
    assert str(folder / "run.json") in capsys.readouterr().err


def test_a_folder_in_use_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "thesis").mkdir()
    (folder / "thesis" / "chapter.tex").write_text("dear")
    (folder / "file").write_text("dear")
    for out, named in (("thesis", "not empty"), ("file", "is a file"), ("file/run", "file/run")):
        assert main(["train", "MultiRoom-N6", "--out", out]) == 2
        assert named in capsys.readouterr().err
    assert (folder / "thesis" / "chapter.tex").read_text() == "dear"


def test_a_plan_with_too_few_cores_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(training, "ray_session", lambda: pytest.fail("Ray was started"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert main(["train", "MultiRoom-N6", "--plan", "cluster", "--out", "run"]) == 2
    assert "but there are 2; choose another --plan" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_to_its_end_and_no_second_one_in_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    words = ["train", "MultiRoom-N2-S4", "--bonus", "count.episodic(position)", *TINY, "--steps", "64"]
    assert main([*words, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "64/64 steps" in said
    assert "greedy     return" in said
    assert f"bonuslab watch {out}" in said
    assert "\r" not in said
    assert main([*words, "--out", str(out)]) == 2
    assert f"--resume {out}" in capsys.readouterr().err
    assert main(["train", "--resume", str(out)]) == 2
    assert "higher --steps" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_saves_a_checkpoint_first(
    number: signal.Signals,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = Progress.update

    def interrupt(self: Progress, row: dict[str, Any]) -> None:
        show(self, row)
        if row["env_steps"] == 64:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Progress, "update", interrupt)
    out = tmp_path / "run"
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert main(["train", "MultiRoom-N2-S4", *TINY, "--steps", "6400", "--out", str(out)]) == status
    assert handlers == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["checkpoint_000000000064"]
    assert f"bonuslab train --resume {out}" in capsys.readouterr().out


def test_no_cluster_at_the_given_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(**_: Any) -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setenv("RAY_ADDRESS", "203.0.113.9:6379")
    monkeypatch.setattr(ray_session.ray, "init", refuse)
    assert main(["train", "MultiRoom-N2-S4", "--plan", "laptop", "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.cluster
def test_a_run_with_workers_ends_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    words = ["train", "MultiRoom-N2-S4", "--bonus", "e3b", "--plan", "laptop", "--evaluate-every", "0"]
    assert main([*words, "--steps", "6000", "--out", str(out)]) == 0
    assert "starting Ray …" in capsys.readouterr().out
    assert not ray_session.ray.is_initialized()
    before = (out / "progress.csv").read_text().splitlines()
    assert main(["train", "--resume", str(out), "--steps", "20000"]) == 0
    after = (out / "progress.csv").read_text().splitlines()
    assert after[: len(before)] == before
    steps = [int(line.split(",")[0]) for line in after[1:]]
    assert steps == sorted(set(steps))
    assert steps[-1] >= 20_000
