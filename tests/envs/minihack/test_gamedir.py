"""Game directories are removed when their process ends, however it ends, and not before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bonuslab.envs.minihack.gamedir import new_game_directory

PREAMBLE = """
import os, pathlib, signal, sys, time
from bonuslab.envs.minihack import make
from bonuslab.envs import scratch
from bonuslab.envs.minihack import gamedir
if sys.argv[1:]:
    scratch.memory_folder = gamedir.memory_folder = lambda: pathlib.Path(sys.argv[1])
env = make("MultiRoom-N2")
env.reset(seed=0)
def report():
    print(gamedir._current.path, flush=True)
def wait():
    for _ in range(12_000):
        time.sleep(0.05)  # a signal just before a sleep is handled after it
"""


def _start(script: str, *folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """Run a script that starts a game, in `folder` or in memory, and prints its directory."""
    source = PREAMBLE + textwrap.dedent(script)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", source, *folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Upstream's NetHack makes this process ignore SIGHUP when a game ends, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate()
    return process.returncode, errors


def test_removed_at_exit() -> None:
    process, path = _start("report()")
    code, errors = _finish(process)
    assert (code, errors) == (0, "")
    assert path.name.startswith("bonuslab-games-")
    assert not path.exists()


def test_removed_after_an_exception() -> None:
    process, path = _start("report(); raise RuntimeError('boom')")
    code, errors = _finish(process)
    assert code == 1
    assert "boom" in errors
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_removed_on_a_signal(number: int) -> None:
    process, path = _start("report(); wait()")
    assert path.is_dir()
    process.send_signal(number)
    code, errors = _finish(process)
    assert code == -number, errors
    assert not path.exists()


def test_a_handler_set_by_the_program_still_runs() -> None:
    script = """
    signal.signal(signal.SIGTERM, lambda *_: (print("asked to stop"), sys.exit(7)))
    report()
    wait()
    """
    process, path = _start(script)
    process.terminate()
    output, errors = process.communicate()
    assert process.returncode == 7, errors
    assert "asked to stop" in output
    assert not path.exists()


def test_a_handler_set_before_the_first_game_is_not_replaced() -> None:
    source = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n" + PREAMBLE
    source += "report(); wait()"
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", source], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    process.terminate()
    process.communicate()
    assert process.returncode == 9
    assert not path.exists()


def test_the_next_process_removes_the_directories_of_killed_processes_only(tmp_path: Path) -> None:
    # Not in shared memory, where any process that starts a game cleans up.
    living, kept = _start("report(); wait()", tmp_path)
    killed, left = _start("report(); wait()", tmp_path)
    killed.kill()
    killed.wait()
    assert left.is_dir()
    code, errors = _finish(_start("report()", tmp_path)[0])
    assert code == 0, errors
    assert not left.exists()
    assert (kept / "nhdat").is_file()
    living.kill()
    living.wait()
    _finish(_start("report()", tmp_path)[0])
    assert not kept.exists()


def test_a_forked_child_removes_only_its_own_directory() -> None:
    script = """
    import multiprocessing
    def child(queue):
        other = make("MultiRoom-N2")
        other.reset(seed=1)
        queue.put(str(gamedir._current.path))
    forks = multiprocessing.get_context("fork")
    queue = forks.Queue()
    process = forks.Process(target=child, args=(queue,))
    process.start()
    of_child = queue.get()
    process.join()
    env.reset(seed=2)
    def reuse(queue):
        try:
            env.reset(seed=3)
        except RuntimeError as error:
            queue.put(str(error))
    process = forks.Process(target=reuse, args=(queue,))
    process.start()
    assert "make environments in the process that plays them" in queue.get()
    process.join()
    env.reset(seed=4)
    assert of_child != str(gamedir._current.path)
    assert not os.path.exists(of_child), "the child left its directory"
    assert gamedir._current.path.is_dir(), "the child removed its parent's directory"
    report()
    """
    process, path = _start(script)
    code, errors = _finish(process)
    assert code == 0, errors
    assert not path.exists()


def test_a_game_outside_the_main_thread_sets_no_handler() -> None:
    source = """
import signal, threading
from bonuslab.envs.minihack import make, gamedir
thread = threading.Thread(target=lambda: make("MultiRoom-N2").reset(seed=0))
thread.start(); thread.join()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
print(gamedir._current.path)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()


def test_the_level_is_written_only_when_it_changes() -> None:
    directory = new_game_directory()
    path = directory.path / "mylevel.lev"
    directory.prepare(b"one")
    os.utime(path, (0, 0))
    directory.prepare(b"one")
    assert path.stat().st_mtime == 0
    directory.prepare(b"two")
    assert path.read_bytes() == b"two"
    directory.remove()
    assert not directory.path.exists()


def test_games_share_no_file_that_they_lock() -> None:
    """A game that finds the lock of another process sleeps for a second."""
    directories = [new_game_directory() for _ in range(2)]
    names = ("record", "logfile", "xlogfile", "perm")
    files = {(path.stat().st_dev, path.stat().st_ino) for one in directories for path in map(one.path.joinpath, names)}
    assert len(files) == len(directories) * len(names)
    assert (os.stat(os.devnull).st_dev, os.stat(os.devnull).st_ino) not in files
    for one in directories:
        one.remove()


def test_what_a_game_writes_does_not_fill_memory() -> None:
    directory = new_game_directory()
    (directory.path / "xlogfile").write_text("version=3.6.6\n")
    directory.prepare(b"next")
    assert (directory.path / "xlogfile").stat().st_size == 0
    directory.remove()
