"""Every reader of a run's files gets any content: it returns what it should or names the file, and changes nothing."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bonuslab.algorithms.data.small_files import DamagedFile
from bonuslab.algorithms.learning.checkpoint import seal
from bonuslab.algorithms.rllib.description import FILE as CONFIG
from bonuslab.algorithms.rllib.description import Description
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board.curves import Curves
from bonuslab.platform.board.links import mlflow_run
from bonuslab.platform.board.recent_rows import RecentRows
from bonuslab.platform.grid.search_results import FILE as WINNERS
from bonuslab.platform.grid.search_results import Winner, Winners
from bonuslab.platform.report.search_records import read_search
from bonuslab.platform.run.agent import read_config
from bonuslab.platform.run.folder import GRID_FILE, TRIAL_FILE, GridFolder
from bonuslab.platform.run.rows import MAX_STEPS, Row, RowReader, RowWriter, read_rows, rows_problem
from bonuslab.platform.run.state import STATUSES, TrialState
from bonuslab.platform.run.training import ROWS_FILE, read_checkpoint_rows
from bonuslab.platform.tracking.cursor import Cursor, read_cursor, write_cursor
from bonuslab.platform.tracking.tail import Delivered, Tail, usable

TEXT = st.text(max_size=5) | st.sampled_from(["../..", "\0", "9" * 30, "inf", "none"])
NUMBER = st.integers() | st.floats() | st.sampled_from([2**63, 10**400, -1])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


@contextmanager
def unchanged(file: Path) -> Iterator[None]:
    """Reading may refuse a file in words; it neither changes it nor makes another one."""
    before, names = file.read_bytes(), set(file.parent.rglob("*"))
    with suppress(InvalidInput):
        yield
    assert (file.read_bytes(), set(file.parent.rglob("*"))) == (before, names)


def changed(value: Any, data: st.DataObject) -> Any:
    """A JSON value in which something is replaced, added or left out."""
    inner = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if not inner or data.draw(st.integers(0, 5)) == 0:
        return data.draw(JSON)
    key, one = data.draw(st.sampled_from(inner))
    copy = value.copy()
    if data.draw(st.integers(0, 4)) == 0:
        del copy[key]
    else:
        copy[key] = changed(one, data)
    return copy


def text_of(value: Any) -> str:
    return json.dumps(value)


# progress.csv

LINES = st.lists(
    st.lists(NUMBER.map(str) | st.sampled_from(["", "nan", "x", '"', "1e400", "\0", "é"]), max_size=4).map(",".join)
    | st.integers(0, 10**6).map(lambda step: f"{step},0.5,7"),
    max_size=8,
)
ENDS = st.sampled_from(["\n", "\r\n", "", "\n\n"])
HEADS = st.sampled_from(
    ["env_steps,win_rate,entropy", "win_rate,env_steps", "env_steps,env_steps", "", "x", '"env_steps']
)
TABLES = st.builds(lambda head, lines, end: "\n".join([head, *lines]).encode() + end.encode(), HEADS, LINES, ENDS)


@settings(max_examples=200)
@given(TABLES | st.binary(max_size=60), st.lists(st.integers(0, 80), max_size=3))
@example(b"env_steps\n" + b"9" * 5_000 + b"\n", [])
@example(b"env_steps,a\n1,2\n3,\xff\n5,6\n", [15])
def test_a_growing_table_gives_the_rows_of_the_whole(content: bytes, cuts: list[int]) -> None:
    with folder() as place:
        file = place / "progress.csv"
        reader, found = RowReader(file), []
        for end in [*sorted(cuts), len(content)]:
            file.write_bytes(content[:end])
            rows, anew = reader.read()
            found = rows if anew else found + rows
        whole = RowReader(file)
        with unchanged(file):
            assert found == whole.read()[0]
            assert all(len(row) == len(whole.columns) for row in found)
            steps = [row["env_steps"] for row in read_rows(file)]
            assert all(0 <= step <= MAX_STEPS for step in steps)
            assert len(steps) == len(found)
            rows_problem(file)
            for view in (curves := Curves(file), recent := RecentRows(file, ("win_rate",))):
                view.refresh()
            json.dumps([curves.as_data("win_rate"), recent.value("win_rate")], allow_nan=False)


VALUES = st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(0, MAX_STEPS)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "term/count(a, b)", 'q"']), VALUES), max_size=5).map(
    lambda rows: [{"env_steps": 10 * (number + 1), **row} for number, row in enumerate(rows)]
)


@given(ROWS, st.integers(0, 60))
def test_rows_come_back_and_are_cut_where_wanted(rows: list[Row], at: int) -> None:
    with folder() as place:
        file = place / "progress.csv"
        writer = RowWriter(file)
        for row in rows:
            writer.append(row)
        back = read_rows(file)
        assert [row.keys() for row in back] == [row.keys() for row in rows]
        for one, other in zip(back, rows, strict=True):
            assert all(math.isclose(one[name], other[name], rel_tol=1e-7) for name in one)
        assert rows_problem(file) == ""
        writer.cut_after(at)
        assert read_rows(file) == [row for row in back if row["env_steps"] <= at]


@given(ROWS, st.integers(0, 5), st.booleans())
def test_what_a_store_lacks_is_the_rest_or_everything(rows: list[Row], sent: int, rewound: bool) -> None:
    with folder() as place:
        file = place / "progress.csv"
        writer = RowWriter(file)
        for row in rows:
            writer.append(row)
        there = usable(read_rows(file))
        delivered = Delivered(there[:sent]).text
        if rewound and there[:sent]:
            delivered = Delivered([*there[: sent - 1], {**there[:sent][-1], "a": -1.0}]).text
        waiting = Tail(file).waiting(delivered)
        assert waiting == (None if rewound and there[:sent] and there[:sent][-1].get("a") != -1.0 else there[sent:])


# state.json, tracking.json, the rows of a checkpoint


@settings(max_examples=200)
@given(st.data())
def test_a_state_is_one_that_can_be_written_or_is_refused(data: st.DataObject) -> None:
    with folder() as place:
        file = place / "state.json"
        TrialState("running", 10, 20, 1.5, 1, "", ["a"], 3.0, "", "code").write(file)
        file.write_text(text_of(changed(json.loads(file.read_text()), data)))
        with unchanged(file):
            state = TrialState.read(file)
            assert state.status in STATUSES
            assert 0 <= state.fraction_done <= 1 or state.env_steps < 0 or state.total_env_steps < 0
            with folder() as other:
                state.write(other / "state.json")
                assert TrialState.read(other / "state.json") == state


@settings(max_examples=200)
@given(st.data())
def test_any_tracking_file_is_read_and_can_be_written_again(data: st.DataObject) -> None:
    with folder() as place:
        file = place / "tracking.json"
        write_cursor(file, "mlflow.db", Cursor("a1", "1", "2:10:ab", artifacts={"x": "y"}))
        file.write_text(text_of(changed(json.loads(file.read_text()), data)))
        with unchanged(file):
            cursor = read_cursor(file, "mlflow.db")
            assert {name: type(value) for name, value in vars(cursor).items()} == {
                name: type(value) for name, value in vars(Cursor()).items()
            }
            assert set(mlflow_run(file, "mlflow.db", None)) <= {"run"}
        write_cursor(file, "mlflow.db", cursor)
        assert read_cursor(file, "mlflow.db") == cursor


@given(JSON | st.lists(st.dictionaries(st.sampled_from(["env_steps", "a"]), JSON)))
def test_rows_of_a_checkpoint_are_rows_or_are_refused(value: Any) -> None:
    with folder() as place:
        (place / ROWS_FILE).write_text(text_of(value))
        with unchanged(place / ROWS_FILE):
            rows = read_checkpoint_rows(place)
            assert all(isinstance(cell, int | float) for row in rows for cell in row.values())


# grid.json, trial.json, and the files of searches


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    path = tmp_path_factory.mktemp("grids") / "grid"
    return write_sample_grid(path, tasks=("KeyRoom-S5",), bonuses=("none", "rnd"), seeds=(0,), rows=2)


@settings(max_examples=200)
@given(st.data())
def test_a_description_is_whole_or_refused(grid: GridFolder, data: st.DataObject) -> None:
    for name in (GRID_FILE, TRIAL_FILE):
        source = grid.path / name if name == GRID_FILE else grid.trials()[0].path / name
        with folder() as place:
            file = place / name if name == GRID_FILE else place / "trials" / "x" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text_of(changed(json.loads(source.read_text()), data)))
            with unchanged(file):
                there = GridFolder(place)
                trials = there.description().trials if name == GRID_FILE else [there.trial("x").own_description()]
                for trial in trials:
                    assert trial.total_env_steps >= 0
                    assert there.trial(trial.id).path.parent == place / "trials"
                there.trial("x").is_signed()


SEARCH = {"metric": "win_rate", "seeds": [7], "samples": 2}


@settings(max_examples=200)
@given(st.data())
def test_a_search_is_whole_or_refused(grid: GridFolder, data: st.DataObject) -> None:
    values = json.loads((grid.path / GRID_FILE).read_text())
    values["options"]["search"] = SEARCH
    for trial in values["trials"]:
        trial["labels"] |= {"sample": "0", "normalise": "rms", "coefficient": "0.5", "beta": ""}
    with folder() as place:
        for trial in values["trials"]:
            own = GridFolder(place).trial(trial["id"])
            own.path.mkdir(parents=True)
            own.progress.write_text("env_steps,win_rate\n100,0.5\n")
            TrialState("finished", 100_000).write(own.state_file)
        (place / GRID_FILE).write_text(text_of(changed(values, data)))
        with unchanged(place / GRID_FILE):
            if "search" in GridFolder(place).description().options:
                assert Winners.of(read_search(GridFolder(place))).text()


WINNER = Winner("KeyRoom-S5", "inf", "rnd", "rnd", {"normalise": "rms", "coefficient": 0.5}, 0.5, 0.1, 3, {}, {})


@settings(max_examples=200)
@given(st.data())
def test_winners_are_whole_or_refused(data: st.DataObject) -> None:
    with folder() as place:
        whole = json.loads(Winners([WINNER], SEARCH, "wins", {}, []).text())
        (place / WINNERS).write_text(text_of(changed(whole, data)))
        with unchanged(place / WINNERS):
            found = Winners.read(place)
            with suppress(InvalidInput):
                found.require_fresh([0])
            assert all(one.settings["coefficient"] > 0 for one in found.winners)


@settings(max_examples=60)
@given(st.data())
def test_a_configuration_in_a_checkpoint_is_whole_or_refused(data: st.DataObject) -> None:
    config = Description(
        "impala", "MultiRoom-N2-S4", {"contexts": "2"}, 0, "e3b * rnd", {"gamma": 0.9, "network": "small"}
    )
    with folder() as place:
        (place / CONFIG).write_text(text_of(changed(vars(config), data)))
        seal(place)
        with unchanged(place / CONFIG):
            assert read_config(place)[0].bonus_expression


def test_refusals_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("[]")
    with pytest.raises(DamagedFile, match=r"state\.json cannot be read"):
        TrialState.read(tmp_path / "state.json")
