"""The user's key: private, made once, and the only one whose signatures count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.algorithms.learning import trust


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(trust, "_received", [])
    trust._key_in.cache_clear()
    return tmp_path


def test_the_key_is_private_and_made_once(home: Path) -> None:
    key = trust.key()
    file = home / "bonuslab" / "key"
    assert (len(key), file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (32, 0o600, 0o700)
    trust._key_in.cache_clear()
    assert trust.key() == key
    assert [path.name for path in file.parent.iterdir()] == ["key"]


def test_a_signature_fits_its_content_and_its_key_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = trust.signature({"b": 1, "a": [2]})
    assert trust.is_signed({"a": [2], "b": 1}, signed)
    for content, found in (({"a": [2], "b": 2}, signed), ({"b": 1, "a": [2]}, signed[::-1]), ({}, None), ({}, 3)):
        assert not trust.is_signed(content, found)
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "another"))
    assert not trust.is_signed({"b": 1, "a": [2]}, signed)


def test_a_key_that_others_could_have_written_is_not_used(home: Path) -> None:
    before = trust.key()
    (home / "bonuslab" / "key").chmod(0o644)
    trust._key_in.cache_clear()
    assert trust.key() != before


def test_without_a_place_for_the_key_a_process_trusts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert trust.is_signed("x", trust.signature("x"))


def test_many_processes_make_the_same_key(home: Path) -> None:
    program = "from bonuslab.algorithms.learning import trust; print(trust.key().hex())"
    started = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(4)]
    assert len({process.communicate()[0] for process in started}) == 1


def test_a_trial_signs_for_its_driver() -> None:
    trust.use_key(b"driver" * 6)
    signed = trust.signature("x")
    trust._received.clear()
    assert not trust.is_signed("x", signed)
