"""The reader of small files returns what was written or names the file; it raises nothing else."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bonuslab.algorithms.data.small_files import LIMIT, MAX_DEPTH, DamagedFile, read_json, typed


@dataclass
class Sample:
    status: Literal["on", "off"]
    steps: int
    seconds: float = 0.0
    names: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    seed: int | None = None


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
)


@given(values)
def test_what_was_written_is_read(value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.json")
        path.write_text(json.dumps(value))
        assert read_json(path) == value


@given(st.binary(max_size=100))
@example(b"")
@example(b"\xff\xfe")
@example(b'"\\u0000"')
@example(b'"\\ud800"')
@example(b"9" * 5_000)
@example(b"[" * 200_000)
@example(b"[" * 500 + b"]" * 500)
@example(b'{"a":' * (MAX_DEPTH + 2) + b"1" + b"}" * (MAX_DEPTH + 2))
def test_any_bytes_are_read_or_named(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.json")
        path.write_bytes(content)
        said = ""
        try:
            read_json(path)
        except DamagedFile as error:
            said = str(error)
        assert said == "" or said.startswith(f"{path} cannot be read: ")
        assert path.read_bytes() == content


def test_what_is_no_small_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("[" + " " * 100 + "]")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path, reason in (("large", "102 bytes"), ("pipe", "not a file"), (".", "not a file"), ("loop", "symbolic")):
        with pytest.raises(DamagedFile, match=reason):
            read_json(tmp_path / path, max_bytes=100)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "missing")


WHOLE = {"status": "on", "steps": 3, "seconds": 1, "names": ["a"], "labels": {"b": "c"}, "seed": None, "later": []}


def test_types_are_checked() -> None:
    assert typed(Sample, WHOLE, "x") == Sample("on", 3, 1, ["a"], {"b": "c"})
    wrong = {
        "status": ["dancing", [], None],
        "steps": ["3", 3.0, True, None, LIMIT, -LIMIT],
        "seconds": ["1", float("nan"), float("inf"), 1e300, False],
        "names": ["a", ["a", 1], {}],
        "labels": [[], {"b": 1}],
        "seed": ["x", 1.5],
    }
    for name, bad in wrong.items():
        for value in bad:
            with pytest.raises(DamagedFile, match=f"x cannot be read: {name} is "):
                typed(Sample, {**WHOLE, name: value}, "x")
    with pytest.raises(DamagedFile, match="steps is missing"):
        typed(Sample, {"status": "on"}, "x")
    for value in ([], None, "x", 3):
        with pytest.raises(DamagedFile, match="not a JSON object"):
            typed(Sample, value, "x")
