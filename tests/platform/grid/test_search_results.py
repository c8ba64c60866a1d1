"""Winners of a search: how they are chosen, their file, and a study that reads it."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.experiment import Scale
from bonuslab.platform.grid.search_plan import SearchPlan
from bonuslab.platform.grid.search_results import FILE, Winner, Winners
from bonuslab.platform.grid.search_space import Search
from bonuslab.platform.report.search_records import OPTION, measure, read_search
from bonuslab.platform.report.write import write_report
from bonuslab.platform.run.folder import GridDescription, GridFolder
from bonuslab.platform.run.state import TrialState

STEPS = 1_000
WON = {0: (0.5, 0.1), 1: (0.504, 0.3), 2: (0.9, 0.9), 3: (0.2, 0.1)}
"""Share won and return of each sample at the end; the third was stopped early."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny: ModuleType) -> GridFolder:
    """A made-up search of `e3b` and a sum with four samples each; every seed's last row says `WON`."""
    search = Search(seeds=(101, 102), samples=4, steps=STEPS)
    plan = SearchPlan(search, tiny.tiny_scale(["e3b", "e3b + 100 * rnd"], 8).trials())
    path = tmp_path_factory.mktemp("searched") / "search"
    folder = GridFolder(path)
    options = {OPTION: search.as_dict(), "metric": "win_rate"}
    command = {"command": "bonuslab search", "time": "2026-01-01", "git_commit": "abc", "versions": {"ray": "2"}}
    folder.write(GridDescription("search", "search", "all", plan.trials(), [command], options))
    for trial in plan.trials():
        won, returned = WON[int(trial.labels["sample"])]
        better = 0.01 if trial.labels["seed"] == "101" else -0.01
        stopped = trial.labels["sample"] == "2"
        rows = ["env_steps,win_rate,episode_return,cpu_seconds"]
        for steps in range(100, 600 if stopped else STEPS + 1, 100):
            at_end = stopped or steps == STEPS
            rows.append(f"{steps},{won + better if at_end else 1},{returned if at_end else 2},{steps / 100}")
        own = folder.trial(trial.id)
        own.progress.write_text("\n".join(rows) + "\n")
        TrialState(status="finished", env_steps=int(rows[-1].split(",")[0]), total_env_steps=STEPS).write(
            own.state_file
        )
    return folder


def test_the_last_part_of_training_decides_and_ties_go_to_the_return(folder: GridFolder) -> None:
    record = read_search(folder)
    assert [sample.ended for sample in record.places["MultiRoom-N2-S4", "inf", "e3b"]] == [
        "finished", "finished", "stopped", "finished",
    ]  # fmt: skip
    # The third has the highest value but was stopped; the first two are equal to two decimals.
    assert {sample.number for sample in record.winners.values()} == {1}
    assert {round(sample.measured["objective"], 6) for sample in record.winners.values()} == {0.504}


def test_the_cost_counts_every_seed(folder: GridFolder) -> None:
    record = read_search(folder)
    assert record.cost == {"cpu_seconds": 2 * 2 * (3 * 10 + 5), "env_steps": 2 * 2 * (3 * STEPS + 500)}
    lines = list(csv.DictReader(record.csv().splitlines()))
    assert len(lines) == 2 * 4 * 2
    first = lines[0]
    assert (first["seed"], first["ended"], first["objective"], first["cpu_seconds"]) == (
        "101",
        "finished",
        "0.51",
        "10",
    )
    assert {line["beta"] for line in lines if line["bonus"] == "e3b"} == {""}


def test_what_a_scheduler_compares() -> None:
    early = [{"env_steps": 50.0}]
    rows = [
        {"env_steps": float(steps), "win_rate": steps / 1000, "episode_return": 1.0, "episodes": steps / 50}
        for steps in range(50, 1000, 50)
    ]
    found = measure([rows, rows[:-1]], 1000, "win_rate", 18)
    assert found["env_steps"] == 900
    assert found["objective"] == pytest.approx(((0.9 + 0.95) / 2 + (0.85 + 0.9) / 2) / 2)
    assert found["rung"] == 0.9
    assert "rung" not in measure([rows, rows[:-1]], 1000, "win_rate", 19), "one of the seeds has too few episodes"
    assert measure([early], 1000, "win_rate")["objective"] == 0.0
    assert math.isnan(measure([early], 1000, "episode_return")["objective"])


def test_the_file_round_trips(folder: GridFolder, tmp_path: Path) -> None:
    winners = Winners.of(read_search(folder))
    (tmp_path / FILE).write_text(winners.text())
    assert Winners.read(tmp_path / FILE) == winners
    assert Winners.read(tmp_path) == winners
    found = winners.find("MultiRoom-N2-S4", "inf", "e3b + 100 * rnd")
    assert found is not None
    assert found.expression != found.bonus
    assert found.ended == {"finished": 3, "stopped": 1}
    assert winners.find("MultiRoom-N2-S4", "1", "e3b") is None
    assert len(winners.text()) < 4_000


def damaged(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def apply(text: str) -> str:
        values = json.loads(text)
        change(values)
        return json.dumps(values)

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:200],
        lambda text: "",
        lambda text: "[]",
        lambda text: "\x00" * 50,
        lambda text: "[" * 100_000,
        damaged(lambda values: values.update(format=9)),
        damaged(lambda values: values.pop("search")),
        damaged(lambda values: values["search"].pop("seeds")),
        damaged(lambda values: values["winners"][0].pop("settings")),
        damaged(lambda values: values["winners"][0]["settings"].pop("coefficient")),
        damaged(lambda values: values["winners"][0]["settings"].update(coefficient=-1)),
        damaged(lambda values: values["winners"][0]["settings"].update(coefficient="1")),
        damaged(lambda values: values["winners"][0]["settings"].update(lr=1)),
        damaged(lambda values: values["winners"][0].update(task=3)),
        damaged(lambda values: values["winners"].append(values["winners"][0])),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(
    folder: GridFolder, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    file = tmp_path / FILE
    file.write_text(damage(Winners.of(read_search(folder)).text()))
    with pytest.raises(InvalidInput, match="is not an intact file of a search's winners: ") as refused:
        Winners.read(file)
    assert "\n" not in str(refused.value)
    with pytest.raises(InvalidInput, match=r"cannot read the winners of a search from .*: No such file"):
        Winners.read(tmp_path / "missing.json")


def test_a_study_uses_the_winners(tmp_path: Path, tiny: ModuleType) -> None:
    entry = {"objective": 1.0, "episode_return": None, "sample": 0, "ended": {}, "env": {}}
    best = [
        Winner("MultiRoom-N2-S4", "inf", "e3b", "e3b", {"normalise": "none", "coefficient": 0.25}, **entry),
        Winner("MultiRoom-N2-S4", "inf", "e3b + rnd", "e3b + 9 * rnd", {"normalise": "std", "coefficient": 3}, **entry),
    ]
    file = tmp_path / FILE
    file.write_text(Winners(best, {"seeds": [101]}, "", {}, []).text())
    study: Scale = replace(tiny.tiny_scale(["none", "e3b", "e3b + rnd", "rnd"], 2), winners=file)
    trials = {trial.config["bonus"]: trial.hyperparameters for trial in study.trials()}
    preset = trials["none"]["normalise"], trials["none"]["coefficient"]
    assert (trials["e3b"]["normalise"], trials["e3b"]["coefficient"]) == ("none", 0.25)
    assert trials["e3b + 9 * rnd"]["coefficient"] == 3
    assert (trials["rnd"]["normalise"], trials["rnd"]["coefficient"]) == preset
    chosen = replace(study, bonuses=["e3b"], chosen={"coefficient": 7.0}).trials()[0]
    assert (chosen.hyperparameters["normalise"], chosen.hyperparameters["coefficient"]) == ("none", 7.0)
    with pytest.raises(InvalidInput, match="chosen on seeds 101, so a study that uses them needs other seeds"):
        replace(study, seeds=[0, 101]).trials()


def test_the_report_shows_what_was_tried(folder: GridFolder, tmp_path: Path) -> None:
    page = write_report(folder, tmp_path / "report").read_text()
    assert "Cost: 14,000 environment steps, 2:20 of CPU time, 6 finished, 2 stopped." in page
    assert page.count("<tr>") == 2 + 2 + 8
    assert (tmp_path / "report" / "figures" / "sensitivity.png").stat().st_size > 10_000
    assert "mathdefault" not in (tmp_path / "report" / "figures" / "sensitivity.svg").read_text()
    assert len((tmp_path / "report" / "tables" / "search.csv").read_text().splitlines()) == 17
