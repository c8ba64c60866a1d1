"""Which store a grid uses, and which URIs are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking.cursor import Cursor, read_cursor, write_cursor
from bonuslab.platform.tracking.store import OPTION, store_of


@pytest.fixture
def folder(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    return write_sample_grid(tmp_path / "grid", tasks=["KeyRoom-S5"], seeds=[0], rows=2)


def test_own_store_keeps_its_key_when_the_folder_moves(folder: GridFolder) -> None:
    before = store_of(folder)
    moved = GridFolder(folder.path.rename(folder.path.with_name("moved")))
    after = store_of(moved)
    assert after.key == before.key
    assert after.uri == f"sqlite:///{moved.path}/mlflow.db"
    assert after.artifacts == moved.path / "mlartifacts"
    assert store_of(moved, after.uri) == store_of(moved, after.uri)
    assert store_of(moved, after.uri).key == after.key


def test_name_and_key_hold_no_credentials(folder: GridFolder) -> None:
    store = store_of(folder, "https://me:secret@host:5000?token=secret")
    assert "secret" in store.uri
    assert "secret" not in store.name + store.key
    assert store.is_server


def test_grid_names_its_store(folder: GridFolder) -> None:
    description = folder.description()
    folder.write(replace(description, options={OPTION: "http://host:5000"}))
    assert store_of(folder).uri == "http://host:5000"
    assert store_of(folder, "http://other:5000").uri == "http://other:5000"
    folder.write(replace(description, options={OPTION: "http://***@host:5000"}))
    with pytest.raises(InvalidInput, match="pass it with --tracking-uri"):
        store_of(folder)


def test_a_grid_of_somebody_else_does_not_choose_who_gets_credentials(
    folder: GridFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(replace(folder.description(), options={OPTION: "http://me:secret@host:5000"}))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    with pytest.raises(InvalidInput, match=r"tracked at http://\*\*\*@host:5000, and it was not written by you"):
        store_of(folder)
    assert store_of(folder, "http://host:5000").uri == "http://host:5000"
    folder.write(replace(folder.description(), options={}))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody-again"))
    assert store_of(folder).key == "mlflow.db", "its own database needs no trust"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("mlruns", "sqlite:///FILE.db"),
        ("file:///tmp/x", "sqlite:///FILE.db"),
        ("htp://host", "did you mean http"),
        ("sqlite://x.db", "names no file"),
        ("http://me:pass word@host", "space"),
    ],
)
def test_unusable_uris_are_refused(folder: GridFolder, uri: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        store_of(folder, uri)
    assert "pass word" not in str(refused.value)


def test_cursors_of_other_stores_stay(tmp_path: Path) -> None:
    path = tmp_path / "tracking.json"
    write_cursor(path, "a", Cursor(run_id="1", delivered="1:10:ab"))
    write_cursor(path, "b", Cursor(run_id="2", artifacts={"video.gif": "x"}))
    assert read_cursor(path, "a") == Cursor(run_id="1", delivered="1:10:ab")
    assert read_cursor(path, "b").artifacts == {"video.gif": "x"}
    assert set(json.loads(path.read_text())["stores"]) == {"a", "b"}
    assert read_cursor(path, "c") == Cursor()
    path.write_text('{"stores": {')
    assert read_cursor(path, "a") == Cursor()
