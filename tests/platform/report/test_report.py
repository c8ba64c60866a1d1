"""The written report: files, unfinished and empty grids, other columns, secrets, the command."""

from __future__ import annotations

import base64
import csv
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.main import main
from bonuslab.platform.report import drawing, figures
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.data_files import data_files
from bonuslab.platform.report.drawing import Figure, Panel, wrapped
from bonuslab.platform.report.tables import number
from bonuslab.platform.report.trial_results import load
from bonuslab.platform.report.write import write_report
from bonuslab.platform.run.folder import GridFolder, TrialDescription


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One file type instead of three, since drawing takes most of the time."""
    monkeypatch.setattr(drawing, "FILE_TYPES", ("svg",))


def table(page: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((page.parent / "tables" / name).read_text())))


def test_files_of_a_report(rich_page: Path) -> None:
    drawn = {path.name for path in (rich_page.parent / "figures").iterdir()}
    names = ("aggregates", "scopes", "profiles", "contexts", "curves", "evolution")
    assert drawn == {f"{name}.{kind}" for name in names for kind in ("png", "svg", "pdf")}
    tables = {path.stem for path in (rich_page.parent / "tables").iterdir()}
    assert tables == {*names, "improvement", "tasks", "trials", "paper"} - {"scopes"}
    # Text stays text in vector files, with fonts that journals accept.
    assert ">environment steps<" in (rich_page.parent / "figures" / "curves.svg").read_text()
    assert b"/Type3" not in (rich_page.parent / "figures" / "curves.pdf").read_bytes()


def test_episodes_of_each_bonus(
    quick: None, make_grid: Callable[..., GridFolder], trial_of: Callable[..., TrialDescription], tmp_path: Path
) -> None:
    trials = [trial_of(bonus, seed) for bonus in ("none", "e3b") for seed in (0, 1, 2)]
    grid = make_grid(tmp_path / "grid", [(trial, {"win_rate": [0.5]}, "finished") for trial in trials])
    assert 'id="episodes"' not in write_report(grid).read_text()
    for bonus, seed in (("none", 0), ("e3b", 1), ("e3b", 2)):  # the trial of e3b with seed 0 has no picture
        grid.trial(trial_of(bonus, seed).id).summary.write_bytes(f"{bonus}{seed}".encode())
    text = write_report(grid).read_text()
    shown = re.findall(r'<code>([^<]*)</code></span> on [^,]*, seed (\d).*?base64,([^"]*)" alt=', text)
    assert [(base64.b64decode(data).decode(), bonus, seed) for bonus, seed, data in shown] == [
        ("none0", "none", "0"),
        ("e3b1", "e3b", "1"),
    ]


def test_page_is_self_contained(rich_page: Path) -> None:
    text = rich_page.read_text()
    assert "<script" not in text
    addresses = set(re.findall(r'(?:src|href)="([^"]+)"', text)) - {"data:,"}
    outside = {one for one in addresses if not one.startswith(("#", "data:", "figures/", "tables/"))}
    assert outside == set()
    assert all((rich_page.parent / one).is_file() for one in addresses if one.startswith(("figures/", "tables/")))
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(identifiers) == len(set(identifiers))
    pictures = re.findall(r"<svg [^>]*viewBox[^>]*>", text)
    assert pictures
    assert all('aria-label="' in one for one in pictures)


def test_page_shows_the_results_of_the_trials(rich_page: Path) -> None:
    trials = table(rich_page, "trials.csv")
    cell = [float(row["win_rate"]) for row in trials if row["bonus"] == "count.global" and row["contexts"] == "1"]
    (found,) = [
        row
        for row in table(rich_page, "tasks.csv")
        if row["bonus"] == "count.global" and row["task"] == "MultiRoom-N6-Lava, |C| = 1"
    ]
    assert float(found["win_rate mean"]) == pytest.approx(sum(cell) / 2)
    assert float(found["std"]) == pytest.approx(abs(cell[0] - cell[1]) / 2**0.5)
    text = rich_page.read_text()
    assert f"{number(sum(cell) / 2)} ± {number(float(found['std']))}" in text
    assert "paper 0.99 ± 0.00" in text  # Table 1, one context, global
    values = f"{number(sum(cell) / 2)} <small>({', '.join(map(number, cell))})</small>"
    assert values in text, "two runs are listed, not turned into an interval"
    aggregates = {(row["name"], row["aggregate"]): row for row in table(rich_page, "aggregates.csv")}
    assert aggregates["e3b * rnd", "IQM"]["low"] == ""


def test_failed_running_and_missing_trials_are_marked(rich_page: Path) -> None:
    text = rich_page.read_text()
    assert re.search(r"<b>17</b> finished.*<b>1</b> running.*<b>1</b> failed.*<b>1</b> not started", text, re.DOTALL)
    assert 'title="seed 1: failed at 300 steps"' in text
    assert 'title="seed 1: running, 50% done"' in text
    assert 'title="seed 1: not started"' in text
    assert "<small>1 of 2 runs</small>" in text
    left_out = {row["id"]: row["left out"] for row in table(rich_page, "trials.csv") if row["left out"]}
    assert left_out == {
        "MultiRoom-N6-Lava__none__c-inf__s1": "failed at 300 steps",
        "MultiRoom-N6-Lava__e3b__c-inf__s1": "running at 500 steps",
        "MultiRoom-N6-Lava__e3b-x-rnd__c-inf__s1": "not started",
    }


def test_page_has_commands_and_commit_but_no_secrets(rich_page: Path) -> None:
    text = rich_page.read_text()
    assert "bonuslab grid --tracking http://***@example.org" in text
    assert "abc1234" in text
    assert "no route to postgres://***@store/db" in text
    written = [path for path in rich_page.parent.rglob("*") if path.is_file()]
    assert not any(b"hunter2" in path.read_bytes() for path in written)


def test_our_results_are_beside_the_papers(rich_page: Path) -> None:
    rows = {(row["task"][-1], row["bonus"]): row for row in table(rich_page, "paper.csv")}
    assert set(rows) == {(contexts, f"count.{scope}") for contexts in "1∞" for scope in ("global", "episodic")}
    row = rows["∞", "count.episodic"]
    assert (float(row["paper mean"]), float(row["paper std"]), int(row["our runs"])) == (0.87, 0.1, 2)
    trials = [
        float(trial["win_rate"])
        for trial in table(rich_page, "trials.csv")
        if trial["contexts"] == "inf" and trial["bonus"] == "count.episodic"
    ]
    assert float(row["our episode_return mean"]) == pytest.approx(sum(trials) / 2 - 0.1)


def test_same_grid_gives_the_same_files(rich_grid: GridFolder, rich_page: Path, tmp_path: Path, quick: None) -> None:
    analysis = Analysis(*load(rich_grid, lambda columns: "win_rate"))
    for name, text in data_files(analysis).items():
        assert (rich_page.parent / "tables" / name).read_text() == text
    figure = figures.aggregates(analysis, scopes=False)
    assert figure is not None
    figure.save(tmp_path)
    assert (tmp_path / "aggregates.svg").read_bytes() == (rich_page.parent / "figures/aggregates.svg").read_bytes()


def test_reading_a_grid_needs_neither_ray_nor_torch() -> None:
    code = "import sys, bonuslab.platform.report; print({'ray', 'torch', 'mlflow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_axis_labels_keep_their_digits_on_the_page() -> None:
    panel = Panel("", lambda axes: axes.plot([0.78121, 0.78139]), "A line.")
    svg = Figure("one", [panel], 1, {}).panel_svg(0)
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    assert len(labels) == len(set(labels)) > 5
    assert 'aria-label="A line."' in svg


def test_grid_without_a_row(tmp_path: Path, make_grid: Callable, trial_of: Callable) -> None:
    page = write_report(make_grid(tmp_path / "g", [(trial_of("e3b", 0), {}, "waiting")]))
    assert "No trial has a value of <code>win_rate</code>" in page.read_text()
    assert list((page.parent / "figures").iterdir()) == []


def test_one_trial_with_a_column_of_its_own(
    tmp_path: Path, make_grid: Callable, trial_of: Callable, quick: None
) -> None:
    columns = {"rooms": [1.0, 5.0, 9.0, 12.0], "episode_return": [0.0, 10.0, 400.0, 2500.0]}
    folder = make_grid(
        tmp_path / "g", [(trial_of("e3b", 0, task="Montezuma"), columns, "finished")], {"metric": "rooms"}
    )
    page = write_report(folder)
    text = page.read_text()
    assert "(<code>rooms</code>)," in text
    assert "Some results have one seed" in text
    assert "fig:montezuma-results" in text
    assert float(table(page, "tasks.csv")[0]["rooms mean"]) == 12.0
    assert "(<code>episode_return</code>)" in write_report(folder, metric="episode_return").read_text()


def test_bonuses_over_time_where_one_task_has_no_loss(
    tmp_path: Path, make_grid: Callable, trial_of: Callable, quick: None
) -> None:
    columns = {"bonus_episodic/mean": [1.0, 2.0, 3.0]}
    loss = {"learn/e3b/inverse_dynamics_loss": [3.0, 2.0, 1.0]}
    trials = [
        (trial_of("e3b", 0, task="A"), columns, "finished"),
        (trial_of("e3b", 0, task="B"), columns | loss, "finished"),
    ]
    text = write_report(make_grid(tmp_path / "g", trials)).read_text()
    assert "A, inverse-dynamics loss: no values." in text
    assert "B, inverse-dynamics loss: Up to" in text


def test_report_cannot_be_written(tmp_path: Path, make_grid: Callable, trial_of: Callable) -> None:
    folder = make_grid(tmp_path / "g", [(trial_of("e3b", 0), {}, "waiting")])
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot write the report to .*file"):
        write_report(folder, tmp_path / "file")


def test_command(
    write_sample_grid: Callable[..., GridFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    quick: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sample_grid(tmp_path / "runs" / "mine", tasks=["KeyRoom-S5"], seeds=[0, 1])
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    monkeypatch.setenv("DISPLAY", ":0")
    assert main(["report", "--out", "here"]) == 0
    assert "report: here/index.html" in capsys.readouterr().out
    assert main(["report", "--out", "here", "--no-open"]) == 0
    assert opened == [(tmp_path / "here" / "index.html").as_uri()]
    assert main(["report", "mine", "--metric", "winrate"]) == 2
    assert "did you mean win_rate" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "runs")
    assert main(["report"]) == 2
    assert "there is no run" in capsys.readouterr().err


def test_long_names_have_line_breaks() -> None:
    assert wrapped("e3b + 100 * noveld") == "e3b + 100 * noveld"
    product = "count.episodic(feature=message) * count.global(feature=message)"
    assert wrapped(product) == "count.episodic(feature=message)\n* count.global(feature=message)"
    assert wrapped("noveld(c=0.1, episodic=true, networks=full)") == "noveld(c=0.1,\nepisodic=true,\nnetworks=full)"
    assert wrapped(product).replace("\n", " ") == product
    nested = "adaptive(first=count.episodic(feature=message), second=count.global(feature=message))"
    assert wrapped(nested).split("\n") == [
        "adaptive(",
        "first=count.episodic(feature=message),",
        "second=count.global(feature=message))",
    ]


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0.0, -0.001, 0.876, -0.23, 12.34, 1234.5)] == [
        "0.00",
        "0.00",
        "0.88",
        "−0.23",
        "12.3",
        "1,234",
    ]


@pytest.mark.parametrize("runs", [3, 5])
def test_three_runs_have_intervals_and_five_a_probability_of_improvement(
    tmp_path: Path, make_grid: Callable, trial_of: Callable, quick: None, runs: int
) -> None:
    three = {"none": (0.0, 0.01, 0.02), "count.global": (0.5, 0.6, 0.95), "e3b": (0.7, 0.8, 0.9)}
    levels = three if runs == 3 else {bonus: (*values, *values[:2]) for bonus, values in three.items()}
    trials = [
        (trial_of(bonus, seed), {"episode_return": [0.1] * 10, "win_rate": [value] * 10}, "finished")
        for bonus, values in levels.items()
        for seed, value in enumerate(values)
    ]
    page = write_report(make_grid(tmp_path / "g", trials, {"metric": "episode_return"}))
    text = re.sub(r"<[^>]+>", "", page.read_text())
    assert "Win rate by bonus" in text  # episodes were won, so the share won takes the return's place
    assert re.search(r"e3b beats none \(0\.\d\d against 0\.01\); intervals do not overlap\.", text)
    assert re.search(r"e3b is ahead of count\.global \(0\.\d\d against 0\.\d\d\); intervals overlap\.", text)
    drawn = {path.stem for path in (page.parent / "figures").iterdir()}
    assert {"headline", "profiles"} <= drawn
    assert ("improvement" in drawn) == (runs == 5)
    assert "aggregates" not in drawn, "one task has nothing to aggregate"


def test_curves_begin_when_enough_episodes_have_ended(tmp_path: Path, make_grid: Callable, trial_of: Callable) -> None:
    trial = replace(trial_of("e3b", 0), hyperparameters={"num_envs_per_env_runner": 32})
    columns = {"win_rate": [1.0, 1.0, 0.4, 0.3], "episodes": [3.0, 31.0, 32.0, 50.0], "bonus_episodic/mean": [1.0] * 4}
    results, _ = load(make_grid(tmp_path / "g", [(trial, columns, "finished")]), lambda names: "win_rate")
    assert results.trials[0].column("win_rate").values.tolist() == [0.4, 0.3]
    assert len(results.trials[0].column("bonus_episodic/mean")) == 4
