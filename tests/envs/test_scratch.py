"""Temporary folders are removed by their process, or by the next one if that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bonuslab.envs.scratch import remove_abandoned, scratch_folder

OWNER = """
import time
from bonuslab.envs.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "checkpoint").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(temporary: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()


def _fail_in_a_folder() -> None:
    with scratch_folder() as folder:
        (folder / "file").touch()
        raise RuntimeError(str(folder))


def test_removed_at_the_end_also_after_an_error(temporary: Path) -> None:
    with pytest.raises(RuntimeError, match=str(temporary)):
        _fail_in_a_folder()
    assert not list(temporary.iterdir())


def test_a_living_process_keeps_its_folder_and_a_killed_one_does_not(owner: subprocess.Popen[str]) -> None:
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    with scratch_folder():
        assert (folder / "checkpoint").is_dir()
    owner.kill()
    owner.wait()
    assert folder.exists()
    with scratch_folder() as own:
        assert [own] == list(own.parent.iterdir())


def test_a_forked_child_leaves_it_to_its_parent(temporary: Path) -> None:
    with scratch_folder() as folder:
        child = os.fork()
        if child == 0:
            remove_abandoned()
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.exists()


def test_folders_of_others_stay(temporary: Path) -> None:
    (temporary / "bonuslab-soak-1").mkdir()
    (temporary / "else-1").mkdir()
    (temporary / "else-1" / "alive").touch()
    remove_abandoned()
    assert len(list(temporary.iterdir())) == 2
