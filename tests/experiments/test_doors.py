"""The benchmark of the doors runs all three sides and prints their ratios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bonuslab.experiments import speed
from bonuslab.experiments.benchmarks import doors, timing


@pytest.mark.slow
def test_doors_measures_both_peers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doors, "TASKS", ("CartPole-v1",))
    monkeypatch.setattr(doors, "STEPS", 8)
    monkeypatch.setattr(timing, "WARM_UP_TURNS", 0)
    assert speed.main(["doors", "--quick", "--json", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["name"].partition("; peer: ")[2] for row in rows] == [
        "RLlib's env runner",
        "SB3's rollouts",
        "RLlib's PPO",
        "SB3's PPO",
    ]
    assert all(row["ours"] > 0 and row["peer"] > 0 for row in rows)
    assert capsys.readouterr().out.count("×") == 4


def test_all_sides_have_the_same_network() -> None:
    ours = doors._ours(doors.IMPALAConfig(), "CartPole-v1").environment("CartPole-v1")
    ours.validate()
    env = doors.make("CartPole-v1")
    theirs = doors._rllib("CartPole-v1").environment("CartPole-v1").get_rl_module_spec(env=env).build()
    runner = doors.FragmentRunner(config=ours)
    shapes = {name: value.shape for name, value in runner.module.network.state_dict().items()}
    assert {name: value.shape for name, value in theirs.network.state_dict().items()} == shapes
    runner.stop()


def test_minigrid_is_seen_as_one_vector() -> None:
    assert doors.make("MiniGrid-MultiRoom-N6-v0").observation_space.shape == (147,)
