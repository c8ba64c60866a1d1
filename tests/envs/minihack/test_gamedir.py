"""Game directories go when their process goes, however it goes, and no earlier."""

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
import os, signal, sys, time
from bonuslab.envs.minihack import make
from bonuslab.envs.minihack import gamedir
env = make("MultiRoom-N2")
env.reset(seed=0)
def tell():
    print(gamedir._current.path, flush=True)
def wait():
    for _ in range(1200):
        time.sleep(0.05)  # a signal that comes just before a sleep is seen after it
"""


def _start(script: str) -> tuple[subprocess.Popen[str], Path]:
    """Run a script that plays a game and prints its directory; the process and the directory."""
    source = PREAMBLE + textwrap.dedent(script)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where upstream's NetHack has ended a game, this process ignores SIGHUP, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_removed_at_exit() -> None:
    process, path = _start("tell()")
    code, errors = _finish(process)
    assert (code, errors) == (0, "")
    assert path.name.startswith("bonuslab-games-")
    assert not path.exists()


def test_removed_after_an_exception() -> None:
    process, path = _start("tell(); raise RuntimeError('boom')")
    code, errors = _finish(process)
    assert code == 1
    assert "boom" in errors
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_removed_on_a_signal(number: int) -> None:
    process, path = _start("tell(); wait()")
    assert path.is_dir()
    process.send_signal(number)
    code, errors = _finish(process)
    assert code == -number, errors
    assert not path.exists()


def test_a_handler_of_the_program_keeps_its_say() -> None:
    script = """
    signal.signal(signal.SIGTERM, lambda *_: (print("asked to stop"), sys.exit(7)))
    tell()
    wait()
    """
    process, path = _start(script)
    process.terminate()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 7, errors
    assert "asked to stop" in output
    assert not path.exists()


def test_a_handler_set_before_the_first_game_is_not_replaced() -> None:
    source = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n" + PREAMBLE
    source += "tell(); wait()"
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", source], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 9
    assert not path.exists()


def test_what_a_kill_leaves_is_removed_by_the_next_process_and_the_living_keep_theirs() -> None:
    living, kept = _start("tell(); wait()")
    killed, left = _start("tell(); wait()")
    killed.kill()
    killed.wait(timeout=60)
    assert left.is_dir()
    code, errors = _finish(_start("tell()")[0])
    assert code == 0, errors
    assert not left.exists()
    assert (kept / "nhdat").is_file()
    living.kill()
    living.wait(timeout=60)
    _finish(_start("tell()")[0])
    assert not kept.exists()


def test_a_forked_child_leaves_its_parents_games_alone_and_cleans_its_own() -> None:
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
    tell()
    """
    process, path = _start(script)
    code, errors = _finish(process)
    assert code == 0, errors
    assert not path.exists()


def test_a_game_off_the_main_thread_sets_no_handler() -> None:
    source = """
import signal, threading
from bonuslab.envs.minihack import make, gamedir
thread = threading.Thread(target=lambda: make("MultiRoom-N2").reset(seed=0))
thread.start(); thread.join()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
print(gamedir._current.path)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()


def test_the_level_is_written_only_when_it_changes() -> None:
    directory = new_game_directory()
    path = directory.path / "mylevel.lev"
    directory.write_level(b"one")
    os.utime(path, (0, 0))
    directory.write_level(b"one")
    assert path.stat().st_mtime == 0
    directory.write_level(b"two")
    assert path.read_bytes() == b"two"
    directory.remove()
    assert not directory.path.exists()
