"""The adviser: its thresholds, its prediction against outcomes, and what it prints."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.advise import AdviseCommand
from bonuslab.experiments.value_functions import advice
from bonuslab.experiments.value_functions.paper_similarity import PAPER, nearest
from bonuslab.experiments.value_functions.prediction import (
    Outcome,
    paper_outcomes,
    predict,
    prediction_against_outcome,
    read_outcomes,
)
from bonuslab.experiments.value_functions.sampling import Effort
from bonuslab.experiments.value_functions.similarity import Similarity, with_repeats
from bonuslab.platform.cli.main import main

SMALL = Effort(known_contexts=12, solved_contexts=6, played_contexts=3, steps=600)


def similarity(value: float, spread: float = 0.0) -> Similarity:
    return Similarity(None, value, value - spread, value + spread, None)


def test_the_papers_own_settings_get_the_papers_verdict() -> None:
    """Wherever the paper gives a similarity, the predicted one is the better; its product is the choice in between."""
    for row in PAPER:
        predicted = predict(similarity(row.similarity))
        of_global, of_episodic = row.mean_return("global"), row.mean_return("episodic")
        assert of_global is not None
        assert of_episodic is not None
        if predicted == "combined":
            assert 0.3 < of_global < of_episodic
        else:
            assert predicted == ("global" if of_global > of_episodic else "episodic")
    assert [predict(similarity(row.similarity)) for row in PAPER] == ["global"] * 3 + ["combined"] + ["episodic"] * 3


def test_doubt_leads_to_the_product() -> None:
    assert predict(similarity(0.8, 0.05)) == "global"
    assert predict(similarity(0.8, 0.2)) == "combined"
    assert predict(similarity(0.3, 0.05)) == "episodic"
    assert predict(similarity(0.3, 0.2)) == "combined"


def test_nearest_setting() -> None:
    assert (nearest(0.19).contexts, nearest(0.19).feature) == ("inf", "position")
    assert nearest(0.97).task == "MultiRoom-N6-Lava"
    assert nearest(0.98).task == "KeyRoom-S10"


def test_prediction_against_outcome() -> None:
    def of(task: str, feature: str, contexts: int | None) -> Similarity:
        return similarity(with_repeats({"position": 0.2, "message": 0.95}[feature], contexts))

    outcomes = [
        Outcome("A", None, "", "none", 0.0),
        Outcome("A", 1, "", "none", 0.0),
        Outcome("B", None, "", "none", 0.0),
        Outcome("A", None, "position", "global", 0.1),
        Outcome("A", None, "position", "episodic", 0.7),
        Outcome("A", None, "position", "episodic", 0.9),
        Outcome("A", None, "position", "combined", 0.85),
        Outcome("A", None, "message", "global", 0.3),
        Outcome("A", None, "message", "episodic", 0.6),
        Outcome("A", 1, "position", "global", 0.95),
        Outcome("A", 1, "position", "episodic", 0.97),
        Outcome("A", 3, "position", "global", 0.5),
        Outcome("A", 3, "position", "episodic", 0.9),
        Outcome("A", 2, "message", "global", 0.97),
        Outcome("A", 2, "message", "episodic", 0.89),
        Outcome("A", 2, "message", "combined", 0.99),
    ]
    infinite, message, single, three, border = prediction_against_outcome(outcomes, of)
    assert (infinite.predicted, infinite.best, infinite.agrees) == (
        "episodic",
        "combined",
        True,
    )  # within the tolerance
    assert infinite.win_rates["episodic"] == pytest.approx(0.8)
    assert (message.predicted, message.best, message.agrees) == ("global", "episodic", False)
    assert infinite.win_rates["none"] == message.win_rates["none"] == 0.0
    assert (single.predicted, single.agrees) == ("global", None)  # both solve it, though none does not
    assert single.best == "episodic"
    assert (border.predicted, border.agrees) == ("global", True)  # 0.99 and 0.89 differ by no less than the tolerance
    assert (three.predicted, three.agrees) == ("combined", None)  # it was not trained


def test_the_papers_tables_as_outcomes() -> None:
    outcomes = paper_outcomes()
    assert Outcome("MultiRoom-N6-Lava", 5, "position", "global", 0.23) in outcomes
    assert Outcome("Corridor-R5", 1, "position", "combined", 0.91) in outcomes


def test_reading_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    path.write_text(
        "task,contexts,bonus,seed,win_rate\n"
        "MiniHack-MultiRoom-N6-v0,3,count.global(position),0,0.25\n"
        "MultiRoom-N6,inf,count.episodic(message) * count.global(message),0,0.5\n"
        "MultiRoom-N6,inf,none,0,0\n"
        "MultiRoom-N6,inf,e3b * rnd,0,0.8\n"
        '"MultiRoom-N6",inf,"adaptive(count.episodic(position), count.global(position))",0,0.9\n'
        "MultiRoom-N6,inf,count.global(position),1,\n"
    )
    assert read_outcomes(path) == [
        Outcome("MultiRoom-N6", 3, "position", "global", 0.25),
        Outcome("MultiRoom-N6", None, "message", "combined", 0.5),
        Outcome("MultiRoom-N6", None, "", "none", 0.0),
    ]
    assert advice.study_outcomes(tmp_path) == read_outcomes(path)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert len(advice.study_outcomes(tmp_path)) == 3
    with pytest.raises(InvalidInput, match="no column task, contexts, bonus or scope, win_rate"):
        read_outcomes(tmp_path / "other.csv")
    path.write_text("task,contexts,scope,feature,win_rate\nMultiRoom-N6,many,global,position,0.5\n")
    with pytest.raises(InvalidInput, match="many"):
        read_outcomes(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_outcomes(tmp_path / "none.csv")


def test_a_grids_report_is_read(tmp_path: Path) -> None:
    tables = tmp_path / "report" / "tables"
    tables.mkdir(parents=True)
    (tables / "trials.csv").write_text(
        "id,task,contexts,bonus,scope,seed,variant,status,win_rate,left out\n"
        "a,MiniHack-KeyRoom-S5-v0,inf,count.global(message),global,0,,finished,0.75,\n"
    )
    assert read_outcomes(tmp_path) == [Outcome("KeyRoom-S5", None, "message", "global", 0.75)]


def run(*words: str) -> int:
    command = AdviseCommand()
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "QUICK", SMALL)


@pytest.mark.usefixtures("small")
def test_advice_in_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "study.csv"
    results.write_text(
        "task,contexts,scope,feature,win_rate\n"
        "MultiRoom-N4-S5,inf,global,position,0\nMultiRoom-N4-S5,inf,episodic,position,0.9\n"
        "KeyRoom-S5,inf,global,position,0.4\n"
    )
    assert run("MultiRoom-N4-S5", "--results", str(results)) == 0
    text = capsys.readouterr().out
    assert "MultiRoom-N4-S5, infinitely many contexts" in text
    assert "→ episodic bonus" in text
    assert 'Try --bonus "count.episodic(position)"' in text
    assert "Counting messages: similarity 0." in text
    assert "global 0.00, episodic 0.90: as predicted" in text
    assert "KeyRoom-S5" not in text


@pytest.mark.usefixtures("small")
def test_advice_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("MultiRoom-N4-S5", "--contexts", "1", "--features", "position", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (position,) = found["features"]
    assert (found["task"], found["contexts"]) == ("MultiRoom-N4-S5", 1)
    assert (position["similarity"], position["predicted"], position["bonus"]) == (
        1.0,
        "global",
        "count.global(position)",
    )
    assert position["sampled_contexts"] == 12


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["NoSuchRoom"], "NoSuchRoom"),
        (["MultiRoom-N6", "--contexts", "0"], "contexts"),
        (["MultiRoom-N6", "--features", "colour"], "colour"),
        (["MultiRoom-N6", "--features", ","], "no feature"),
        (["MultiRoom-N6", "--seed", "-1"], "seed"),
        (["MultiRoom-N6", "--results", "/no/such/file.csv"], "cannot be read"),
    ],
)
def test_bad_input_is_refused_before_anything_is_sampled(words: list[str], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        run(*words)


@pytest.mark.parametrize(
    ("words", "bonus"),
    [
        (["Apartments-64"], "e3b"),
        (["Apartments-64", "--contexts", "1"], "rnd"),
        (["HM3D"], "e3b"),
        (["Pong"], "rnd"),
        (["CartPole-v1"], "e3b * rnd"),
        (["MiniGrid-MultiRoom-N6-v0"], "e3b * rnd"),
    ],
)
def test_every_family_gets_advice(words: list[str], bonus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", *words]) == 0
    printed = capsys.readouterr().out
    assert f'Try --bonus "{bonus}".' in printed
    assert "Nothing was measured" in printed
    assert main(["advise", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bonus"] == bonus
