"""Checkpoints are complete or rejected, whatever happened to their files or their manifest."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonuslab.algorithms.learning.checkpoint import MANIFEST, DamagedCheckpoint, Trust, seal, verify
from bonuslab.envs.errors import InvalidInput

FILES = {"weights.bin": b"\x00\x01" * 100, "inner/counts.bin": b"counts"}


def sealed(folder: Path) -> Path:
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    seal(folder)
    return folder


def test_a_sealed_checkpoint_is_whole_and_has_no_temporary_files(tmp_path: Path) -> None:
    manifest = verify(sealed(tmp_path))
    assert manifest.files.keys() == FILES.keys()
    assert {path.name for path in tmp_path.iterdir()} == {"weights.bin", "inner", MANIFEST}


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda folder: (folder / "weights.bin").write_bytes(b"\x00\x02" * 100), "weights.bin does not match"),
        (lambda folder: (folder / "inner" / "counts.bin").unlink(), "counts.bin is missing"),
        (lambda folder: (folder / MANIFEST).unlink(), "writing was cut short"),
        (lambda folder: (folder / "more.pkl").write_bytes(b"x"), "more.pkl does not belong"),
        (lambda folder: (folder / "inner" / MANIFEST).write_bytes(b"x"), "does not belong"),
        (lambda folder: (folder / "link").symlink_to("weights.bin"), "link does not belong"),
        (lambda folder: os.mkfifo(folder / "pipe"), "pipe does not belong"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Any, named: str) -> None:
    damage(sealed(tmp_path))
    with pytest.raises(DamagedCheckpoint, match=named):
        verify(tmp_path)


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "one")
    shutil.move(folder / "weights.bin", tmp_path / "elsewhere")
    (folder / "weights.bin").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedCheckpoint, match="does not match"):
        verify(folder)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
manifests = (
    st.binary(max_size=200)
    | json_values.map(lambda value: json.dumps(value).encode())
    | json_values.map(lambda value: json.dumps({"files": value}).encode())
    | st.dictionaries(st.sampled_from([*FILES, "../key", "/etc/passwd"]), json_values).map(
        lambda files: json.dumps({"files": files}).encode()
    )
    | st.integers(1, 200_000).map(lambda depth: b"[" * depth)
)


@given(manifests)
def test_no_manifest_but_the_right_one_is_accepted(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = sealed(Path(place))
        (folder / MANIFEST).write_bytes(content)
        with pytest.raises(DamagedCheckpoint):
            verify(folder)


@given(st.data())
def test_a_flipped_bit_or_a_cut_anywhere_is_refused_or_harmless(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = sealed(Path(place))
        before = verify(folder)
        victim = folder / data.draw(st.sampled_from([*FILES, MANIFEST]))
        content = bytearray(victim.read_bytes())
        position = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[position] ^= 1 << data.draw(st.integers(0, 7))
        else:
            del content[position:]
        victim.write_bytes(content)
        try:
            after = verify(folder)
        except DamagedCheckpoint:
            return
        # A damaged name or value of the signature: the files are right, but nobody vouches for them.
        assert victim.name == MANIFEST
        assert after.files == before.files
        assert after.signature != before.signature or json.loads(content)["signature"] == before.signature


def test_a_checkpoint_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sealed(tmp_path / "one")
    Trust(folder, verify(folder)).require("a pickle")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with pytest.raises(InvalidInput, match=r"contains a pickle, and it was not written by you.*--trust"):
        Trust(folder, verify(folder)).require("a pickle")
    Trust(folder, verify(folder), trust=True).require("a pickle")
