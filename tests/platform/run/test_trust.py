"""Runs and checkpoints of somebody else: policies play, code does not run unless it is trusted."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonuslab.algorithms.extensions import kinds, shipping
from bonuslab.algorithms.learning.checkpoint import seal
from bonuslab.algorithms.learning.state_file import TREE, read_state, write_state
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.api.handles import load
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.agent import TrainedAgent
from bonuslab.platform.run.checkpoints import newest_checkpoint
from bonuslab.platform.run.find import find
from bonuslab.platform.run.folder import GridFolder

PLUGIN = """
from pathlib import Path

import torch

from bonuslab.algorithms.extensions import bonus

Path({trace!r}).touch()


@bonus("mine", scope="global")
def mine(step):
    return torch.ones(step.action.shape)
"""
REFUSED = "it was not written by you on this machine"


class Touch:
    """Runs code where it is unpickled: it makes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "code-has-run"


@pytest.fixture
def plugin_run(tmp_path: Path, trace: Path, tiny: ModuleType, fresh_registries: None) -> Path:
    """A run with a plugin, in a process that has not loaded it yet."""
    (tmp_path / "mine.py").write_text(PLUGIN.format(trace=str(trace)))
    tiny.train(tmp_path / "run", 2, bonus="mine", plugins=[str(tmp_path / "mine.py")])
    forget(trace)
    return tmp_path / "run"


def forget(trace: Path) -> None:
    kinds.restore({})
    shipping._captured.clear()
    shipping._received.clear()
    shipping._latest = None
    trace.unlink(missing_ok=True)


def as_somebody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))


def test_a_policy_of_somebody_else_plays_without_any_pickle(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_somebody_else(monkeypatch, tmp_path)
    monkeypatch.setattr(pickle, "loads", pytest.fail)
    monkeypatch.setattr(pickle, "load", pytest.fail)
    agent = TrainedAgent.load(newest_checkpoint(find(finished_run)))
    assert agent.evaluate(2)["greedy"]["num_episodes"] == 2
    assert load(finished_run).config.bonus == "e3b * rnd"  # type: ignore[union-attr]


def test_code_of_ones_own_run_needs_no_trust(plugin_run: Path, trace: Path) -> None:
    assert load(plugin_run).agent  # type: ignore[union-attr]
    assert trace.exists()


def test_a_plugin_of_somebody_else_is_refused_and_trusted(
    plugin_run: Path,
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    as_somebody_else(monkeypatch, tmp_path)
    save = ["--save", str(tmp_path / "x.png")]
    for words in (
        ["watch", str(plugin_run), *save],
        ["evaluate", str(plugin_run)],
        ["train", "--resume", str(plugin_run)],
    ):
        assert main(words) == 2
        assert REFUSED in capsys.readouterr().err
    for attribute in ("config", "agent"):
        with pytest.raises(InvalidInput, match=REFUSED):
            getattr(load(plugin_run), attribute)
    assert not trace.exists()
    assert main(["watch", str(plugin_run), *save, "--trust"]) == 0
    assert trace.exists() or kinds.user_entries()
    forget(trace)
    assert load(plugin_run, trust=True).agent  # type: ignore[union-attr]


def test_only_the_runs_own_copy_of_a_plugin_is_loaded(plugin_run: Path, trace: Path, tmp_path: Path) -> None:
    folder = GridFolder.open(plugin_run)
    (trial,) = folder.description().trials
    (plugin,) = trial.config["plugins"]
    shutil.copy(plugin_run / plugin["file"], tmp_path / "outside.py")
    for file in ("../outside.py", str(tmp_path / "outside.py"), "plugins/../../outside.py"):
        moved = replace(trial, config={**trial.config, "plugins": [{**plugin, "file": file}]})
        with pytest.raises(InvalidInput, match="does not lie in"):
            folder.load_plugins(moved, trust=True)
    copy = plugin_run / plugin["file"]
    copy.write_text(copy.read_text() + "\n")
    with pytest.raises(InvalidInput, match="has changed"):
        folder.load_plugins(trial)
    assert not trace.exists()


def test_a_recorded_path_of_a_plugin_is_no_plugin(plugin_run: Path, trace: Path, tmp_path: Path) -> None:
    for name in ("grid.json", "grid.copy.json"):
        values = json.loads((plugin_run / name).read_text())
        values["trials"][0]["config"]["plugins"] = [str(tmp_path / "mine.py")]
        (plugin_run / name).write_text(json.dumps(values))
    with pytest.raises(InvalidInput, match="plugins that are not copies"):
        load(plugin_run)
    assert not trace.exists()


def test_an_environment_that_is_imported_needs_trust(finished_run: Path, tmp_path: Path, trace: Path) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    (tmp_path / "hostile_module.py").write_text(f"from pathlib import Path\nPath({str(trace)!r}).touch()\n")
    checkpoint = newest_checkpoint(find(run))
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | {"env": "hostile_module:make"}))
    seal(checkpoint)
    manifest = json.loads((checkpoint / "bonuslab_manifest.json").read_text())
    (checkpoint / "bonuslab_manifest.json").write_text(json.dumps(manifest | {"signature": "0" * 64}))
    with pytest.raises(InvalidInput, match=f"'hostile_module:make', which is imported.*{REFUSED}"):
        TrainedAgent.load(checkpoint)
    trial = find(run).require_trial()
    values = json.loads((trial.path / "trial.json").read_text())
    values["config"]["task"] = "hostile_module:make"
    (trial.path / "trial.json").write_text(json.dumps(values))
    with pytest.raises(InvalidInput, match=f"imports its environment 'hostile_module:make'.*{REFUSED}"):
        load(run).config  # type: ignore[union-attr]  # noqa: B018
    assert not trace.exists()


@pytest.mark.parametrize("place", ["class_and_ctor_args.pkl", TREE])
def test_a_hostile_pickle_does_not_run(place: str, finished_run: Path, tmp_path: Path, trace: Path) -> None:
    from bonuslab.algorithms.impala.algorithm import IMPALA

    checkpoint = Path(shutil.copytree(newest_checkpoint(find(finished_run)), tmp_path / "checkpoint"))
    if place == TREE:
        state = read_state(checkpoint, require_trust=pytest.fail)
        write_state(checkpoint, state | {"bonus": {"IntrinsicReward": Touch(trace)}})
    else:
        (checkpoint / place).write_bytes(pickle.dumps(Touch(trace)))
        (checkpoint / "config.json").unlink()
    seal(checkpoint)
    manifest = json.loads((checkpoint / "bonuslab_manifest.json").read_text())
    (checkpoint / "bonuslab_manifest.json").write_text(json.dumps({"files": manifest["files"]}))
    for read in (TrainedAgent.load, IMPALA.from_checkpoint):
        with pytest.raises(InvalidInput, match=REFUSED):
            read(checkpoint)
    assert not trace.exists()
