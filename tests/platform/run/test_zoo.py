"""The zoo: a run becomes a small agent without pickle that plays as the run does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import bonuslab as bl
from bonuslab.algorithms.learning.checkpoint import DamagedCheckpoint
from bonuslab.platform.cli.main import main
from bonuslab.platform.run import zoo
from bonuslab.platform.run.agent import TrainedAgent
from bonuslab.platform.run.find import find
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.state import TrialState


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty zoo."""
    for function in (zoo.entries, zoo.folder_of, zoo.add):
        monkeypatch.setattr(function, "__defaults__", (*(function.__defaults__ or ())[:-1], tmp_path / "zoo"))
    return tmp_path / "zoo"


def actions(agent: TrainedAgent) -> tuple[list[int], np.ndarray]:
    import torch

    env = agent.make_env(3)
    episode = agent.play(env, agent.family.album(), torch.Generator().manual_seed(0), False, None)
    env.close()
    return episode.actions, episode.bonus


@pytest.mark.parametrize("room", [True, False])
def test_an_agent_of_the_zoo_plays_like_its_run(
    room: bool, place: Path, finished_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(zoo, "MAX_BYTES", 50_000_000)
    if not room:
        policy = sum(
            value.nbytes for value in map(np.asarray, bl.load(finished_run).agent.network.state_dict().values())
        )
        monkeypatch.setattr(zoo, "MAX_BYTES", policy + 50_000)
    assert main(["zoo", "add", str(finished_run), "tiny", "--episodes", "2"]) == 0
    assert "bonuslab watch zoo:tiny" in capsys.readouterr().out
    assert not list(place.rglob("*.pkl"))
    agent = bl.load("zoo:tiny")
    assert (agent.entry.bonus, agent.entry.bonus_kept, agent.entry.episodes) == ("e3b * rnd", room, 2)
    of_run, of_zoo = actions(bl.load(finished_run).agent), actions(agent.agent)
    assert of_run[0] == of_zoo[0]
    np.testing.assert_array_equal(of_run[1] if room else 0 * of_run[1], of_zoo[1])
    assert repr(agent).startswith("<ZooAgent tiny: ")
    assert main(["zoo"]) == 0
    assert "tiny" in capsys.readouterr().out
    assert main(["watch", "zoo:tiny", "--context", "1"]) == 0
    assert main(["zoo", "add", str(finished_run), "tiny"]) == 2
    assert "has an agent 'tiny' already" in capsys.readouterr().err


def test_a_changed_agent_is_refused(place: Path, finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo, "MAX_BYTES", 50_000_000)
    run = find(finished_run).require_trial()
    monkeypatch.setattr(type(run), "state", lambda _: TrialState(env_steps=10**6))  # rows may be ahead of checkpoints
    folder, entry = zoo.add(find(finished_run), "tiny", episodes=1)
    assert entry.env_steps == run.rows()["env_steps"].iloc[-1]
    (folder / "state.json").write_text("{}")
    with pytest.raises(DamagedCheckpoint, match=r"state\.json does not match"):
        TrainedAgent.load(folder)


def test_what_the_zoo_refuses(
    place: Path,
    finished_run: Path,
    tmp_path: Path,
    tiny: ModuleType,
    write_sample_grid: Callable[..., GridFolder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(zoo, "MAX_BYTES", 1000)
    grid = write_sample_grid(tmp_path / "grid", seeds=(0,), rows=1)
    for words, reason in (
        (["add", str(finished_run), "tiny"], "at most 0.001 MB"),
        (["add", str(finished_run), "../tiny"], "letters, digits"),
        (["add", str(grid.path), "tiny"], "has 8 trials; choose one"),
        (["add", str(finished_run)], "write `bonuslab zoo add RUN NAME`"),
        (["remove", "a", "b"], "write `bonuslab zoo add RUN NAME`"),
    ):
        assert main(["zoo", *words]) == 2
        assert reason in capsys.readouterr().err
    assert not place.exists()


def test_every_agent_in_the_repository_is_small_and_plays() -> None:
    names = zoo.entries()
    assert names
    for name, entry in names.items():
        folder = zoo.folder_of(name)
        assert sum(file.stat().st_size for file in folder.iterdir()) <= zoo.MAX_BYTES
        assert {file.name for file in folder.iterdir()} == {
            "bonuslab_manifest.json", "config.json", "state.bin", "state.json", "zoo.json",
        }  # fmt: skip
        assert b'"pickle"' not in (folder / "state.json").read_bytes()
        assert entry.scores["greedy"].keys() >= {"win_rate", "episode_return_mean"}


def test_the_solver_of_eight_rooms_wins(tmp_path: Path) -> None:
    shutil.copytree(zoo.folder_of("multiroom-n8-episodic"), tmp_path / "copy")
    agent = TrainedAgent.load(tmp_path / "copy")
    assert agent.evaluate(8)["sampled"]["win_rate"] >= 0.75
