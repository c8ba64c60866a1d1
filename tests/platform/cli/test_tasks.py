"""`bonuslab tasks`."""

from __future__ import annotations

import json

import pytest

from bonuslab.envs.listing import KINDS, Kind
from bonuslab.envs.minihack import TASKS, suites
from bonuslab.platform.cli.main import main


def test_table_has_every_task_uncut_and_uncoloured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    printed = capsys.readouterr().out
    assert "\033" not in printed
    assert "…" not in printed
    lines = printed.splitlines()
    names = [line.split()[0] for line in lines[2 : 2 + len(TASKS)]]
    assert [f"MiniHack-{name}-v0" for name in names] == list(TASKS)
    assert all(line == line.rstrip() for line in lines)
    row = next(line for line in lines if line.startswith("MultiRoom-N4-Locked "))
    assert " ".join(row.split()) == "MultiRoom-N4-Locked 4 25 x 21 120 paper16 released16 8 moves OPEN KICK"


def test_json_of_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--suite", "paper16", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == [task.name for task in suites["paper16"]]
    assert len(listed) == 16
    sizes = {entry["name"]: (entry["map_columns"], entry["map_rows"]) for entry in listed}
    assert sizes["MiniHack-LavaCrossingS19N13-v0"] == (19, 19)
    assert sizes["MiniHack-Labyrinth-Big-v0"] == (37, 21)
    assert sizes["MiniHack-Freeze-Wand-Restricted-v0"] == (8, 8)


def test_unknown_suite_names_a_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--suite", "papr16"]) == 2
    captured = capsys.readouterr()
    assert "'papr16'" in captured.err
    assert "paper16" in captured.err
    assert captured.out == ""


def test_every_family_is_listed_with_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for kind in KINDS:
        (line,) = [line for line in lines if line.startswith(f"{kind.name} ")]
        assert kind.get in line
    assert main(["tasks", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["family"] for entry in listed if "family" in entry] == [kind.name for kind in KINDS]


def test_names_of_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "atari"]) == 0
    assert "MontezumaRevenge" in capsys.readouterr().out.splitlines()
    assert main(["tasks", "Apartments", "--json"]) == 0
    assert "Apartments-64" in json.loads(capsys.readouterr().out)
    assert main(["tasks", "HM3D"]) == 0
    captured = capsys.readouterr()
    assert "HM3D-256" in captured.out
    assert "docs/habitat.md" in captured.err
    assert main(["tasks", "babyai"]) == 0  # a part of the names of one family
    assert "BabyAI-GoToObj-v0" in capsys.readouterr().out.splitlines()
    assert main(["tasks", "gymnasium"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert "CartPole-v1" in names
    assert not {"Pendulum-v1", "Ant-v2", "GymV21Environment-v0"} & set(names), "continuous actions"
    assert main(["tasks", "atary"]) == 2
    assert "did you mean Atari?" in capsys.readouterr().err
    assert main(["tasks", "atari", "--suite", "paper16"]) == 2


def test_other_families_are_listed_without_minihack(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Kind, "installed", property(lambda kind: not kind.packages))
    assert main(["tasks"]) == 0
    printed = capsys.readouterr().out
    assert "MiniHack     no" in printed
    assert "LavaCross" not in printed
