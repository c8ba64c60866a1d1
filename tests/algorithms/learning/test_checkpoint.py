"""Checkpoints are complete or rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from bonuslab.algorithms.learning.checkpoint import DamagedCheckpoint, newest_whole, verify, write_atomically


def write_two_files(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"\x00\x01" * 100)
    (folder / "inner").mkdir()
    (folder / "inner" / "counts.bin").write_bytes(b"counts")


def test_a_checkpoint_is_complete_and_leaves_no_temporary_files(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "checkpoint_000001", write_two_files)
    verify(path)
    assert [item.name for item in tmp_path.iterdir()] == ["checkpoint_000001"]


def test_a_failed_write_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "checkpoint_000001", write_two_files)

    def fail(folder: Path) -> None:
        (folder / "weights.bin").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, fail)
    verify(path)
    assert [item.name for item in tmp_path.iterdir()] == ["checkpoint_000001"]


@pytest.mark.parametrize("damage", ["change", "remove", "manifest"])
def test_damage_is_reported_and_the_previous_checkpoint_is_found(tmp_path: Path, damage: str) -> None:
    older = write_atomically(tmp_path / "checkpoint_000001", write_two_files)
    newer = write_atomically(tmp_path / "checkpoint_000002", write_two_files)
    if damage == "change":
        (newer / "weights.bin").write_bytes(b"\x00\x02" * 100)
    elif damage == "remove":
        (newer / "inner" / "counts.bin").unlink()
    else:
        (newer / "bonuslab_manifest.json").unlink()
    named = {"change": "weights.bin", "remove": r"counts\.bin is missing", "manifest": "cut short"}[damage]
    with pytest.raises(DamagedCheckpoint, match=named):
        verify(newer)
    found, problems = newest_whole(tmp_path)
    assert found == older
    assert len(problems) == 1


def test_no_checkpoint_at_all(tmp_path: Path) -> None:
    assert newest_whole(tmp_path) == (None, [])
