"""Runs in a folder: rows, checkpoints, what happens when something goes wrong, and going on afterwards."""

from __future__ import annotations

import csv
import errno
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.algebra import registry
from bonuslab.algorithms.impala.algorithm import IMPALA
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.config import RunSettings
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.run.run_folder import RunFolder, default_path, git_commit
from bonuslab.platform.run.single_run import Outcome, TrainingFailed, train

BATCH_STEPS = 32
NUMBERS = {"envs_per_batch": 4, "unroll_length_steps": 8, "minibatches": 2, "passes": 1}
WORDS = ["--serial", *(word for name, value in NUMBERS.items() for word in ("--set", f"{name}={value}"))]
"""The same on the command line."""


def tiny_settings(batches: int, **changes: Any) -> RunSettings:
    """So many batches of a small room with `e3b * rnd`, without evaluation unless asked for."""
    values: dict[str, Any] = {
        "task": "MultiRoom-N2-S4",
        "bonus": "e3b * rnd",
        "serial": True,
        "seed": 5,
        "overrides": tuple(NUMBERS.items()),
        "evaluate_every_steps": 0,
        "total_env_steps": batches * BATCH_STEPS,
    }
    return RunSettings(**{**values, **changes})


def begin(path: Path, batches: int, **changes: Any) -> Outcome:
    """Train a new run in `path`."""
    run = tiny_settings(batches, **changes)
    folder = RunFolder.create(path, run)
    try:
        return train(run, folder, Progress(run.steps))
    finally:
        folder.release()


@pytest.fixture(autouse=True)
def registry_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_BONUSES", dict(registry._BONUSES))


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten batches without an interruption."""
    path = tmp_path_factory.mktemp("whole") / "run"
    begin(path, 10, checkpoint_every_steps=3 * BATCH_STEPS)
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with (path / "progress.csv").open() as file:
        return list(csv.DictReader(file))


def checkpoints(path: Path) -> list[str]:
    return sorted(item.name for item in (path / "checkpoints").iterdir())


def numbers_in(value: Any) -> Iterator[np.ndarray]:
    """All arrays and numbers of a nested state, in order."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from numbers_in(value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, torch.Tensor):
        yield value.numpy()
    elif isinstance(value, np.ndarray | int | float):
        yield np.asarray(value)


def learnt(path: Path, name: str) -> list[np.ndarray]:
    """Policy, optimiser, running episodes and bonus of a checkpoint."""
    folder = path / "checkpoints" / name
    learner = folder / "learner_group" / "learner"
    files = [learner / "rl_module" / "default_policy" / "module_state.pkl", learner / "state.pkl"]
    states = [pickle.loads(file.read_bytes()) for file in [*files, folder / "env_runner" / "state.pkl"]]
    states[1].pop("metrics_logger", None)
    states.append(pickle.loads((folder / "algorithm_state.pkl").read_bytes())["bonus"])
    return list(numbers_in(states))


def test_a_run_leaves_a_row_a_batch_and_two_checkpoints(whole_run: Path) -> None:
    table = rows(whole_run)
    assert [int(row["env_steps"]) for row in table] == [BATCH_STEPS * number for number in range(1, 11)]
    assert checkpoints(whole_run) == ["checkpoint_000000000288", "checkpoint_000000000320"]
    for name in ("wall_seconds", "env_steps_per_second", "learnt_steps_per_second", "bonus/mean", "bonus_raw/mean"):
        assert float(table[-1][name]) > 0
    for name in ("term/e3b/raw_mean", "term/rnd/raw_mean", "learn/e3b/inverse_dynamics_loss", "policy_loss"):
        assert np.isfinite(float(table[-1][name]))
    for name in ("baseline_loss", "entropy", "policy_lag_updates", "queue_depth", "episodes"):
        assert table[-1][name] != ""


def test_run_json_says_what_ran(whole_run: Path) -> None:
    described = json.loads((whole_run / "run.json").read_text())
    commits = described["git_commit"], git_commit()
    assert described["settings"]["task"] == "MultiRoom-N2-S4"
    assert described["numbers"]["envs_per_batch"] == 4
    assert {"python", "torch", "ray", "bonuslab"} <= described["versions"].keys()
    assert all(commit is None or re.fullmatch("[0-9a-f]{40}(-dirty)?", commit) for commit in commits)
    assert RunFolder(whole_run).settings() == tiny_settings(10, checkpoint_every_steps=96)


def test_a_resumed_run_is_bitwise_the_uninterrupted_one(whole_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    begin(path, 4, evaluate_every_steps=None)  # with an evaluation, which must not disturb anything
    assert rows(path)[-1]["evaluation/greedy/num_episodes"] == "32"
    assert main(["train", "--resume", str(path), "--steps", "320", "--evaluate-every", "0"]) == 0
    last = "checkpoint_000000000320"
    pairs = list(zip(learnt(whole_run, last), learnt(path, last), strict=True))
    assert len(pairs) > 50
    assert all(np.array_equal(one, other) for one, other in pairs)
    timed = ("wall_seconds", "env_steps_per_second", "learnt_steps_per_second")
    for one, other in zip(rows(whole_run), rows(path), strict=True):
        assert [value for name, value in one.items() if name not in timed] == [other[n] for n in one if n not in timed]
    seconds = [float(row["wall_seconds"]) for row in rows(path)]
    assert seconds == sorted(seconds)


def test_a_damaged_checkpoint_is_reported_and_the_one_before_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    begin(path, 4, checkpoint_every_steps=2 * BATCH_STEPS)
    (path / "checkpoints" / "checkpoint_000000000128" / "algorithm_state.pkl").write_bytes(b"half")
    assert main(["train", "--resume", str(path), "--steps", "160"]) == 0
    assert "algorithm_state.pkl does not match its checksum" in capsys.readouterr().out
    assert [int(row["env_steps"]) for row in rows(path)] == [32, 64, 96, 128, 160]
    assert "damaged_checkpoint_000000000128" in checkpoints(path)
    assert checkpoints(path)[-1] == "damaged_checkpoint_000000000128"


def test_a_run_without_checkpoint_begins_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RunFolder.create(tmp_path / "run", tiny_settings(1)).release()
    (tmp_path / "run" / "progress.csv").write_text("env_steps,wall_seconds\n32,1.0\n")
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0
    assert "no checkpoint yet" in capsys.readouterr().out
    assert len(rows(tmp_path / "run")) == 1


FLAKY = """
import torch
from bonuslab.algorithms.bonuses import Bonus, register

@register("flaky")
class Flaky(Bonus):
    scope, equation, when = "global", "0, then no number", "in tests"
    calls = 0

    def compute(self, fragment):
        self.calls += 1
        return torch.full(fragment.action.shape, float("nan") if self.calls > 3 else 0.0)
"""


def test_an_error_reaches_the_user_and_the_last_checkpoint_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, out = tmp_path / "flaky.py", tmp_path / "run"
    plugin.write_text(FLAKY)
    words = ["train", "MultiRoom-N2-S4", *WORDS, "--steps", "320", "--checkpoint-every", "64"]
    assert main([*words, "--bonus", "flaky", "--plugin", str(plugin), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "NonFinite: bonus 'flaky' is not finite" in said
    assert str(out / "checkpoints" / "checkpoint_000000000064") in said
    assert checkpoints(out) == ["checkpoint_000000000064"]
    assert "Traceback" in (out / "error.txt").read_text()


def test_a_full_disk_costs_a_checkpoint_but_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = IMPALA.save_to_path

    def full_at_64(self: IMPALA, path: Path, **options: Any) -> str:
        written = write(self, path, **options)
        if self.env_steps == 64:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written

    monkeypatch.setattr(IMPALA, "save_to_path", full_at_64)
    outcome = begin(tmp_path / "run", 3, checkpoint_every_steps=BATCH_STEPS)
    assert outcome.row["env_steps"] == 96
    said = capsys.readouterr().out
    assert "no checkpoint at 64 steps: No space left on device; training goes on" in said
    assert "checkpoint_000000000032" in said
    assert checkpoints(tmp_path / "run") == ["checkpoint_000000000032", "checkpoint_000000000096"]


def test_a_full_disk_at_the_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IMPALA, "save_to_path", full)
    with pytest.raises(TrainingFailed, match="No space left on device"):
        begin(tmp_path / "run", 1)


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", tiny_settings(1))
    with pytest.raises(InvalidInput, match="another process"):
        RunFolder.open(tmp_path / "run")
    folder.release()
    RunFolder.open(tmp_path / "run").release()


def test_default_folder_says_what_the_run_is_and_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tiny_settings(1, bonus="e3b + 0.5 * rnd", contexts="3")
    first = default_path(run)
    assert first == Path("runs/MultiRoom-N2-S4_e3b-plus-0.5-x-rnd_contexts-3_seed-5")
    first.mkdir(parents=True)
    assert default_path(run).name == f"{first.name}_2"
