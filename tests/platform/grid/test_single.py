"""One run in this process: its folder, stopping and resuming, failures, and the user's plugins."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from bonuslab.algorithms.extensions import kinds, shipping
from bonuslab.algorithms.learning.state_file import read_state
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.main import main
from bonuslab.platform.grid.single import SingleRun, TrainingFailed, default_path
from bonuslab.platform.run import training
from bonuslab.platform.run.checkpoints import CheckpointStore, newest_checkpoint
from bonuslab.platform.run.find import find
from bonuslab.platform.run.folder import FORMAT, GridFolder, TrialFolder
from bonuslab.platform.run.progress import Progress

ALGORITHMS: dict[str, dict[str, Any]] = {"impala": {}, "ddppo": {"num_values": 2}}
PLUGIN = """
import bonuslab as bl
import torch

calls = 0


@bl.bonus("shaky", scope="global")
def shaky(step, fails_after: int = 1000):
    global calls
    calls += 1
    return torch.full(step.action.shape, float("nan") if calls > fails_after else 1.0)


@bl.bonus("misshapen", scope="global")
def misshapen(step):
    return torch.zeros(3)
"""


class Interrupting(Progress):
    """Sends a signal to this process once so many steps are shown."""

    def __init__(self, at: int, number: int) -> None:
        super().__init__(1, open(os.devnull, "w"))  # noqa: SIM115 (closed with the process)
        self._at, self._number = at, number

    def waiting(self, what: str) -> None:
        if self._at == 0 and "first batch" in what:
            os.kill(os.getpid(), self._number)

    def update(self, row: Any) -> None:
        if row["env_steps"] == self._at:
            os.kill(os.getpid(), self._number)


@pytest.fixture(autouse=True)
def stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "STOP_POLL_SECONDS", 0.0)


@pytest.fixture(scope="module", params=["impala", pytest.param("ddppo", marks=pytest.mark.slow)])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiny: ModuleType) -> Path:
    """Six batches without an interruption."""
    path = tmp_path_factory.mktemp("whole") / request.param
    tiny.train(path, 6, algorithm=request.param, checkpoint_every_steps=64, **ALGORITHMS[request.param])
    return path


def only(path: Path) -> TrialFolder:
    (trial,) = GridFolder.open(path).trials()
    return trial


def rows(path: Path) -> pd.DataFrame:
    """Without times, which never repeat."""
    found = only(path).rows()
    return found[[name for name in found if "second" not in name]]


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


def learnt(path: Path) -> list[np.ndarray]:
    """Policy, optimiser, running episodes and bonus of the newest checkpoint."""
    folder = newest_checkpoint(find(path))
    state = read_state(folder, require_trust=pytest.fail)
    learner = state["learner_group"]["learner"]
    learner.pop("metrics_logger", None)
    return list(numbers_in([learner, state["env_runner"], state["bonus"]]))


def resume(path: Path, **changes: Any) -> None:
    run = SingleRun.resume(GridFolder.open(path), **changes)
    try:
        run.train(Progress.silent())
    finally:
        run.release()


def require_same(whole: Path, other: Path) -> None:
    pd.testing.assert_frame_equal(rows(whole), rows(other)[rows(whole).columns])
    pairs = list(zip(learnt(whole), learnt(other), strict=True))
    assert len(pairs) > 50
    assert all(np.array_equal(one, another) for one, another in pairs)
    assert only(other).rows()["wall_seconds"].is_monotonic_increasing


def test_a_run_is_a_grid_of_one_trial(whole: Path) -> None:
    written = json.loads((whole / "grid.json").read_text())
    assert (written["format"], written["experiment"], len(written["trials"])) == (FORMAT, "train", 1)
    assert {"bonuslab", "torch", "ray"} <= written["commands"][0]["versions"].keys()
    trial = only(whole)
    assert trial.description().config["hyperparameters"]["num_envs_per_env_runner"] == 4
    assert trial.rows()["env_steps"].tolist() == [32 * number for number in range(1, 7)]
    assert {"term/e3b/raw_mean", "learn/rnd/predictor_loss", "policy_loss", "bonus/mean"} <= set(trial.rows())
    state = trial.state()
    assert (state.status, state.env_steps, state.attempts) == ("finished", 192, 1)
    assert [Path(kept).name for kept in state.checkpoints] == ["checkpoint_000000000192"]
    assert trial.video.stat().st_size > 1_000
    assert trial.summary.stat().st_size > 1_000
    assert not trial.error_file.exists()


def test_stopped_by_a_signal_and_resumed_it_is_the_undisturbed_run(
    whole: Path, tmp_path: Path, tiny: ModuleType
) -> None:
    path, number = tmp_path / "run", signal.SIGTERM
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    run = SingleRun.begin(tiny.config(6, algorithm=whole.name, **ALGORITHMS[whole.name]), path)
    outcome = run.train(Interrupting(64, number))
    run.release()
    assert handlers == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    assert (outcome.stopped_by, outcome.row["env_steps"]) == (number, 64)
    state = only(path).state()
    assert (state.status, [Path(kept).name[-3:] for kept in state.checkpoints]) == ("waiting", ["064"])
    resume(path)
    require_same(whole, path)
    assert only(path).state().attempts == 2


def test_a_finished_run_takes_more_steps(whole: Path, tmp_path: Path, tiny: ModuleType) -> None:
    """Its evaluation and pictures at the first end disturb nothing."""
    path = tmp_path / "run"
    extra = {"algorithm": whole.name, "evaluation_duration": 4, **ALGORITHMS[whole.name]}
    tiny.train(path, 4, **extra, evaluate_every_steps=None)
    assert rows(path)["evaluation/greedy/num_episodes"].tolist()[-1] == 4
    with pytest.raises(InvalidInput, match="has finished its 128 steps; extend it with --steps"):
        SingleRun.resume(GridFolder.open(path))
    resume(path, total_env_steps=192, evaluate_every_steps=0)
    require_same(whole, path)
    assert only(path).description().total_env_steps == 192


@pytest.mark.parametrize("whole", ["impala"], indirect=True)
def test_a_grid_of_one_trial_resumes_where_it_stores_its_checkpoints(
    whole: Path, tmp_path: Path, tiny: ModuleType
) -> None:
    folder = GridFolder(shutil.copytree(whole, tmp_path / "run"))
    description = folder.description()
    description.options["storage"] = str(tmp_path / "store")
    description.trials[0].labels["variant"] = "low"
    folder.write(description)
    shutil.move(folder.checkpoints, tmp_path / "store" / f"run-{description.options['id']}")
    before = rows(folder.path)
    resume(folder.path, total_env_steps=7 * tiny.BATCH)
    assert only(folder.path).state().resumed.startswith("at ")
    assert only(folder.path).description().labels["variant"] == "low"
    pd.testing.assert_frame_equal(rows(folder.path)[: len(before)][before.columns], before)


@pytest.mark.parametrize("whole", ["impala"], indirect=True)
def test_a_run_whose_checkpoint_is_damaged_uses_the_one_before(
    whole: Path, tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    run = SingleRun.begin(tiny.config(6, checkpoint_every_steps=64), path)
    run.train(Interrupting(96, signal.SIGTERM))
    run.release()
    kept = [Path(place) for place in only(path).state().checkpoints]
    assert [place.name[-3:] for place in kept] == ["064", "096"]
    (kept[-1] / "state.bin").write_bytes(b"half")
    assert main(["train", "--resume", str(path)]) == 0
    assert "state.bin does not match its checksum" in capsys.readouterr().out
    require_same(whole, path)


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path, tiny: ModuleType) -> None:
    run = SingleRun.begin(tiny.config(6), tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        run.train(Interrupting(0, signal.SIGINT))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def plugin(tmp_path: Path, fresh_registries: None) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


@pytest.fixture
def new_process(fresh_registries: None) -> Callable[[], None]:
    """Forgets what the user's code has registered."""

    def forget() -> None:
        kinds.restore({})
        shipping._captured.clear()
        shipping._received.clear()
        shipping._latest = None

    return forget


@pytest.mark.parametrize("bonus", ["misshapen", "shaky(fails_after=0)"])
def test_a_bonus_that_cannot_work_is_reported(
    bonus: str, plugin: Path, tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["train", "MultiRoom-N2-S4", *tiny.WORDS, "--steps", "64", "--bonus", bonus, "--plugin", str(plugin)]
    status = main([*words, "--out", str(out)])
    said = capsys.readouterr().err
    if bonus == "misshapen":
        assert (status, out.exists()) == (2, False)
        assert "must return a tensor [T, N] = [8, 4], not float32 [3]" in said
    else:
        assert (status, only(out).state().status) == (1, "failed")
        assert "There is no checkpoint yet." in said


def test_a_failure_keeps_the_last_checkpoint_and_its_traceback(
    plugin: Path, tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["train", "MultiRoom-N2-S4", *tiny.WORDS, "--steps", "320", "--checkpoint-every", "64"]
    assert main([*words, "--bonus", "shaky(fails_after=3)", "--plugin", str(plugin), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    trial = only(out)
    (kept,) = trial.state().checkpoints
    assert "training failed after 96 steps: NonFinite: bonus 'shaky(fails_after=3)' is not finite" in said
    assert f"Last good checkpoint: {kept}." in said
    assert Path(kept).name == "checkpoint_000000000064"
    assert (trial.state().status, trial.rows()["env_steps"].max()) == ("failed", 96)
    assert "Traceback" in trial.error_file.read_text()
    assert str(trial.error_file) in said


def test_a_plugin_lives_on_in_the_runs_folder(
    plugin: Path,
    new_process: Callable[[], None],
    tmp_path: Path,
    tiny: ModuleType,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    tiny.train(out, 2, bonus="shaky * e3b", plugins=[str(plugin)])
    (copy,) = (out / "plugins").iterdir()
    assert copy.read_text() == PLUGIN
    plugin.unlink()
    for words in (["watch", str(out)], ["evaluate", str(out), "--episodes", "1"]):
        new_process()
        assert main(words) == 0
    new_process()
    assert main(["train", "--resume", str(out), "--steps", "96"]) == 0
    assert only(out).state().env_steps == 96
    copy.write_text(PLUGIN.replace("1.0", "2.0"))
    new_process()
    capsys.readouterr()
    assert main(["train", "--resume", str(out), "--steps", "128"]) == 2
    assert f"plugin {copy} has changed" in capsys.readouterr().err
    assert only(out).state().env_steps == 96


def test_a_full_disk_at_the_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: ModuleType) -> None:
    def full(*_: Any, **__: Any) -> list[str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CheckpointStore, "save", full)
    with pytest.raises(TrainingFailed, match="No space left on device"):
        tiny.train(tmp_path / "run", 1)


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path, tiny: ModuleType) -> None:
    run = SingleRun.begin(tiny.config(1), tmp_path / "run")
    with pytest.raises(InvalidInput, match="another process is training in"):
        SingleRun.resume(run.folder)
    run.release()
    SingleRun.resume(GridFolder(tmp_path / "run")).release()
    with pytest.raises(InvalidInput, match="already contains a run"):
        SingleRun.begin(tiny.config(1), tmp_path / "run")


def test_a_grid_is_not_resumed_as_a_run(write_sample_grid: Callable[..., GridFolder], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a grid; run its command again"):
        SingleRun.resume(write_sample_grid(tmp_path / "grid", seeds=(0,), rows=1))


def test_the_default_folder_says_what_the_run_is_and_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: ModuleType
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tiny.config(1, bonus="e3b + 0.5 * rnd", contexts="3")
    first = default_path(config)
    assert first == Path("runs/MultiRoom-N2-S4_e3b-plus-0.5-x-rnd_contexts-3_seed-3")
    first.mkdir(parents=True)
    assert default_path(config).name == f"{first.name}_2"
