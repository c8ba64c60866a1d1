"""Checkpoints of a trial: kept, passed over when damaged, and sent between machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from bonuslab.algorithms.learning.checkpoint import seal
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.checkpoints import CheckpointStore, open_storage, pack, require_writable, unpack


def sealed(folder: Path, text: str) -> Path:
    (folder / "part").mkdir(parents=True)
    (folder / "part" / "weights").write_text(text)
    seal(folder)
    return folder


def content(folder: Path | None) -> str:
    assert folder is not None
    return (folder / "part" / "weights").read_text()


@pytest.mark.parametrize("place", ["{}/store", "file://{}/store", "mock:///store"])
def test_two_are_kept_until_the_last(tmp_path: Path, place: str) -> None:
    store = CheckpointStore(place.format(tmp_path))
    for steps in (100, 900, 1_000):
        kept = store.save(steps, sealed(tmp_path / str(steps), f"at {steps}"), last=False)
    assert [Path(place).name for place in kept] == ["checkpoint_000000000900", "checkpoint_000000001000"]
    assert content(store.newest(tmp_path / "fetched")[0]) == "at 1000"
    kept = store.save(1_100, sealed(tmp_path / "1100", "the end"), last=True)
    assert [Path(place).name for place in kept] == ["checkpoint_000000001100"]
    assert content(store.newest(tmp_path / "fetched")[0]) == "the end"


def test_a_damaged_one_is_passed_over_with_a_word(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "store"))
    for steps in (1, 2):
        store.save(steps, sealed(tmp_path / str(steps), f"at {steps}"), last=False)
    (tmp_path / "store" / "checkpoint_000000000002" / "part" / "weights").write_text("torn")
    folder, problems = store.newest(tmp_path)
    assert content(folder) == "at 1"
    assert len(problems) == 1
    assert "weights does not match" in problems[0]
    store.save(1, sealed(tmp_path / "again", "at 1 again"), last=False)
    folder, problems = store.newest(tmp_path, owned=True)
    assert content(folder) == "at 1 again"
    assert problems[0].endswith("it is now checkpoint_000000000002.damaged")
    store.save(2, sealed(tmp_path / "last", "the end"), last=True)
    assert content(tmp_path / "store" / "checkpoint_000000000002.damaged") == "torn"
    assert len(list((tmp_path / "store").iterdir())) == 2


def test_damaged_ones_never_displace_a_new_one(tmp_path: Path) -> None:
    store = CheckpointStore(f"file://{tmp_path}/store")
    for steps in (3, 4):
        store.save(steps, sealed(tmp_path / str(steps), "dead"), last=False)
        (tmp_path / "store" / f"checkpoint_00000000000{steps}" / "part" / "weights").write_text("torn")
    kept = store.save(1, sealed(tmp_path / "1", "alive"), last=False)
    assert [Path(place).name for place in kept] == ["checkpoint_000000000001"]
    assert content(store.newest(tmp_path / "fetched")[0]) == "alive"


def test_one_whose_writing_was_cut_short_is_passed_over(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "store"))
    assert store.newest(tmp_path) == (None, [])
    half = tmp_path / "store" / "checkpoint_000000000007" / "part"
    half.mkdir(parents=True)
    (half / "weights").write_text("half")
    folder, problems = store.newest(tmp_path)
    assert folder is None
    assert "cut short" in problems[0]


def test_sent_as_one_piece(tmp_path: Path) -> None:
    folder = unpack(pack(sealed(tmp_path / "here", "all of it")), tmp_path / "there")
    assert content(folder) == "all of it"
    CheckpointStore(str(tmp_path / "store")).save(5, folder, last=False)
    assert content(CheckpointStore(str(tmp_path / "store")).newest(tmp_path)[0]) == "all of it"


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    require_writable(str(tmp_path / "new" / "folder"))
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    with pytest.raises(InvalidInput, match="cannot be written to"):
        require_writable("/proc/nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be written to"):
        require_writable(str(tmp_path / "file" / "below"))
    with pytest.raises(InvalidInput, match="invalid --storage") as refused:
        require_writable("sftp://user:hunter22@host/place")
    assert "hunter22" not in str(refused.value)
    with pytest.raises(InvalidInput, match="needs credentials that are not stored; pass it with --storage"):
        open_storage("s3://***@bucket/grid")  # as in grid.json
