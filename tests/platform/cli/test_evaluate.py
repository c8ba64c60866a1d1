"""`bonuslab evaluate`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.platform.cli.main import main
from bonuslab.platform.run.folder import GridFolder

TRIAL = "MultiRoom-N2-S4__e3b-x-rnd__c2__s3"


def test_both_modes_are_played_on_held_out_contexts(finished_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(finished_run), "--episodes", "3"]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"{TRIAL}: 3 episodes per mode in \d+\.\d s", said)
    assert re.findall(r"^  (greedy|sampled) +return ", said, re.MULTILINE) == ["greedy", "sampled"]


def test_the_newest_run_as_json_is_the_same_for_the_same_seed(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished_run, tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    found = []
    for words in ([], ["mine"], [TRIAL, "--seed", "1"]):
        assert main(["evaluate", *words, "--episodes", "3", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)[TRIAL])
    assert found[0] == found[1] != found[2]
    assert found[0].keys() == {"greedy", "sampled"}
    assert found[0]["sampled"]["num_episodes"] == 3
    assert 0 <= found[0]["sampled"]["win_rate"] <= 1
    assert found[0]["greedy"] != found[0]["sampled"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--episodes", "0"], "invalid --episodes 0"),
        (["--seed", "-1"], "invalid --seed -1"),
        (["GRID"], "has no checkpoint yet"),
        (["nowhere"], "unknown run 'nowhere'"),
    ],
)
def test_bad_input_is_named(
    words: list[str],
    named: str,
    write_sample_grid: Callable[..., GridFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sample_grid(tmp_path / "grid", seeds=(0,), rows=1)
    assert main(["evaluate", *("grid" if word == "GRID" else word for word in words)]) == 2
    assert named in capsys.readouterr().err
