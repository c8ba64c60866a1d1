"""Runs, grids and trials by the names that were printed, and what is refused with a sentence."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.checkpoints import newest_checkpoint
from bonuslab.platform.run.find import Found, find, find_grid, grids_below
from bonuslab.platform.run.folder import GridFolder

TRIAL = "KeyRoom-S5__e3b__c-inf__s0"


@pytest.fixture
def runs(
    tmp_path: Path,
    write_sample_grid: Callable[..., GridFolder],
    finished_run: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """runs/ with a run `one` and a grid `many`, which was touched last; the current folder is above it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished_run, tmp_path / "runs" / "one")
    write_sample_grid(tmp_path / "runs" / "many", seeds=(0,), rows=1)
    os.utime(tmp_path / "runs" / "one" / "grid.json", (0, 0))
    return tmp_path / "runs"


def what(found: Found) -> tuple[str, str | None]:
    return found.grid.path.name, found.trial and found.trial.id


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, ("many", None)),
        ("many", ("many", None)),
        ("runs/many", ("many", None)),
        ("runs/many/", ("many", None)),
        ("./runs/many", ("many", None)),
        (TRIAL, ("many", TRIAL)),
        (f"many/{TRIAL}", ("many", TRIAL)),
        (f"runs/many/{TRIAL}", ("many", TRIAL)),
        (f"many/trials/{TRIAL}", ("many", TRIAL)),
        (f"runs/many/trials/{TRIAL}", ("many", TRIAL)),
        ("one", ("one", "MultiRoom-N2-S4__e3b-x-rnd__c2__s3")),
        ("runs/one", ("one", "MultiRoom-N2-S4__e3b-x-rnd__c2__s3")),
        ("MultiRoom-N2-S4__e3b-x-rnd__c2__s3", ("one", "MultiRoom-N2-S4__e3b-x-rnd__c2__s3")),
    ],
)
@pytest.mark.usefixtures("runs")
def test_every_form_of_a_name(name: str | None, expected: tuple[str, str | None]) -> None:
    assert what(find(name)) == expected
    assert find_grid(name).path.name == expected[0]
    if name is not None:
        assert what(find(Path(name))) == expected


def test_absolute_paths_and_the_home_folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(runs))
    monkeypatch.chdir("/")
    assert what(find(runs / "many" / "trials" / TRIAL)) == what(find(f"~/many/{TRIAL}")) == ("many", TRIAL)
    assert what(find("~/one"))[0] == "one"


def test_the_newest_comes_first(runs: Path) -> None:
    assert [path.name for path in grids_below(runs)] == ["many", "one"]
    os.utime(runs / "one" / "grid.json")
    assert what(find(None))[0] == "one"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mny", "unknown run 'mny'; did you mean many"),
        ("KeyRoom-S5__e3b__c-inf__s1", f"did you mean .*{TRIAL}"),
        ("many/nothing", "unknown run 'many/nothing'"),
        ("other", "runs/other was written by bonuslab 0.1, which this version cannot read"),
        ("early", "runs/early was written by another version of bonuslab"),
        ("torn", "grid.json cannot be read: Expecting property name"),
        (".", "is not a run folder: it has neither grid.json nor trial.json"),
    ],
)
def test_near_misses_and_old_formats(name: str, message: str, runs: Path) -> None:
    for folder in ("other", "early", "torn"):
        (runs / folder).mkdir()
    (runs / "other" / "run.json").write_text('{"settings": {"task": "MultiRoom-N6"}}')
    early = json.loads((runs / "many" / "grid.json").read_text())
    del early["format"]
    (runs / "early" / "grid.json").write_text(json.dumps(early))
    (runs / "torn" / "grid.json").write_text("{")
    with pytest.raises(InvalidInput, match=message):
        find(name)


def test_nothing_has_been_trained_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="there is no run below runs/ yet"):
        find(None)
    with pytest.raises(InvalidInput, match="unknown run 'mine'"):
        find("mine")


def test_a_trial_of_a_grid_must_be_named(runs: Path) -> None:
    with pytest.raises(InvalidInput, match=r"runs/many has 8 trials; choose one: .* and 3 more"):
        find("many").require_trial()
    with pytest.raises(InvalidInput, match="has no checkpoint yet"):
        newest_checkpoint(find(TRIAL))


def test_a_copy_has_its_own_checkpoints(runs: Path, finished_run: Path) -> None:
    mine = newest_checkpoint(find("one"))
    assert mine.is_relative_to(runs / "one")
    assert finished_run.exists()
    shutil.rmtree(runs / "one" / "checkpoints")
    assert newest_checkpoint(find("one")).is_relative_to(finished_run)  # as with --storage: where the state says
