"""Curves with few points tell the same as the rows; columns nobody thought of are drawn too."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bonuslab.platform.board.columns import GROUPS, arranged, describe
from bonuslab.platform.board.curves import Curves
from bonuslab.platform.run.progress_table import ProgressTable


def write(path: Path, rows: np.ndarray) -> None:
    table = "".join(f"{int(step)},{'' if math.isnan(value) else value},7\n" for step, value in rows)
    path.write_text(f"env_steps,rooms,iteration\n{table}")


def test_points_are_means_lows_and_highs_of_equal_groups(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = np.column_stack([np.arange(1, 1001) * 10, random.normal(size=1000)])
    rows[random.random(1000) < 0.3, 1] = np.nan
    write(tmp_path / "progress.csv", rows)
    curves = Curves(tmp_path / "progress.csv")
    curves.refresh()
    data = curves.as_data("rooms", points=50)
    (column,) = data["columns"]
    assert len(column["mean"]) == 50
    for place in range(50):
        group = [value for value in rows[20 * place : 20 * place + 20, 1] if not math.isnan(value)]
        assert column["mean"][place] == pytest.approx(sum(group) / len(group), rel=1e-3)
        assert column["low"][place] == pytest.approx(min(group), rel=1e-3)
        assert column["high"][place] == pytest.approx(max(group), rel=1e-3)
        assert data["steps"][place] == sum(range(20 * place + 1, 20 * place + 21)) / 20 * 10
    assert column["last"] == pytest.approx(rows[~np.isnan(rows[:, 1])][-1, 1], rel=1e-3)
    json.dumps(data, allow_nan=False)


def test_few_rows_are_drawn_as_they_are_and_more_are_added(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    curves = Curves(path)
    curves.refresh()
    assert curves.as_data("win_rate") == {"rows": 0, "steps": [], "columns": []}
    table = ProgressTable(path)
    table.append({"env_steps": 10, "win_rate": 0.1})
    table.append({"env_steps": 20, "win_rate": 0.2})
    curves.refresh()
    table.append({"env_steps": 30, "win_rate": 0.3, "evaluation/greedy/win_rate": 0.5})
    curves.refresh()
    data = curves.as_data("win_rate")
    assert data["steps"] == [10, 20, 30]
    assert [(column["name"], column["mean"]) for column in data["columns"]] == [
        ("win_rate", [0.1, 0.2, 0.3]),
        ("evaluation/greedy/win_rate", [None, None, 0.5]),
    ]
    assert "low" not in data["columns"][0]


def test_columns_have_their_place() -> None:
    names = ["env_steps", "queue_depth", "rooms", "term/e3b/raw_mean", "entropy", "win_rate", "bonus/mean", "coverage"]
    found = arranged(names, metric="coverage")
    assert [column.name for column in found] == [
        "coverage",
        "win_rate",
        "bonus/mean",
        "term/e3b/raw_mean",
        "entropy",
        "queue_depth",
        "rooms",
    ]
    assert [column.group for column in found] == [
        "Results",
        "Results",
        "Bonus",
        "Bonus",
        "Learning",
        "Speed",
        GROUPS[-1],
    ]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("evaluation/greedy/win_rate", "win rate, greedy"),
        ("term/e3b/raw_mean", "e3b"),
        ("learn/rnd/predictor_loss", "rnd: predictor loss"),
        ("montezuma/rooms_seen", "montezuma · rooms seen"),
        ("line\nbreak", "line\nbreak"),
    ],
)
def test_labels_are_plain(name: str, label: str) -> None:
    assert describe(name).label == label
