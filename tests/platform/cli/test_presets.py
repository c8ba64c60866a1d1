"""`bonuslab presets`: every hyperparameter with its value and source."""

from __future__ import annotations

import json
import re

import pytest

from bonuslab.algorithms.catalogue import ALGORITHMS, find
from bonuslab.platform.cli.main import main

ALL = [(algorithm, name) for algorithm in ALGORITHMS for name in find(algorithm).presets]


def test_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [tuple(line.split()[1::-1]) for line in lines[2 : 2 + len(ALL)]] == ALL
    assert main(["presets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(row["algorithm"], row["preset"]) for row in listed] == ALL


@pytest.mark.parametrize(("algorithm", "name"), ALL)
def test_one_has_a_line_per_hyperparameter(algorithm: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", name, "--algorithm", algorithm, "--json"]) == 0
    (rows,) = json.loads(capsys.readouterr().out).values()
    values = find(algorithm).preset(name).values
    assert {row["name"]: row["value"] for row in rows} == vars(values)
    assert all(row["meaning"] and row["source"] for row in rows)
    assert main(["presets", name, "--algorithm", algorithm]) == 0
    text = capsys.readouterr().out
    assert re.search(rf"^total_env_steps +{values.total_env_steps:,} ", text, re.MULTILINE)
    assert re.search(rf"^lr +{values.lr} ", text, re.MULTILINE)


def test_an_inherited_value_keeps_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", "montezuma", "--json"]) == 0
    sources = {row["name"]: row["source"] for row in json.loads(capsys.readouterr().out)["ddppo"]}
    assert "Habitat" in sources["rollout_fragment_length"]
    assert "Montezuma" in sources["gamma"]
    assert sources["rmsprop_smoothing"] == "paper, table Common IMPALA Hyperparameters"


def test_without_an_algorithm_all_of_that_name_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", "laptop"]) == 0
    assert re.findall(r"^laptop of (\w+):", capsys.readouterr().out, re.MULTILINE) == list(ALGORITHMS)


@pytest.mark.parametrize(
    ("words", "named"),
    [(["lapto"], "did you mean laptop"), (["laptop", "--algorithm", "impla"], "did you mean impala")],
)
def test_bad_input_is_named(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", *words]) == 2
    assert named in capsys.readouterr().err
