"""How fast the MiniHack layer is, beside upstream minihack in the same run.

Both sides take turns, a few operations at a time, so that another program's load falls on both; the median turn counts.
One environment on each side, and upstream is asked for the same three observations as ours gives.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.minihack import MiniHackVectorEnv
from bonuslab.experiments.benchmarks.measurement import Measurement

LAVA = "MiniHack-MultiRoom-N6-Lava-v0"
TEN_ROOMS = "MiniHack-MultiRoom-N10-v0"
LABYRINTH = "MiniHack-Labyrinth-Big-v0"
OBSERVATIONS = ("glyphs", "blstats", "message")
WARM_UP = 3

Operation = Callable[[], int]
"""Does some work and says how many times the thing measured was done."""


def run(quick: bool) -> list[Measurement]:
    """Measure both sides; `quick` takes less than a minute."""
    turns = 8 if quick else 40
    return [
        _resets("reset, fresh context, MultiRoom-N6-Lava", LAVA, "inf", turns),
        _resets("reset, repeated context, MultiRoom-N6-Lava", LAVA, 1, turns),
        _resets("reset, fresh context, MultiRoom-N10", TEN_ROOMS, "inf", turns),
        _steps(turns),
        _random_play(turns),
        *_soak(3_000 if quick else 100_000),
    ]


def _resets(name: str, task: str, contexts: int | str, turns: int) -> Measurement:
    _progress(name)
    peer, envs = _upstream(task), MiniHackVectorEnv(task, 1, contexts)

    def ours() -> int:
        for _ in range(50):
            envs.reset()
        return 50

    def theirs() -> int:
        for _ in range(5):
            peer.reset()
        return 5

    ours_seconds, peer_seconds = _take_turns(ours, theirs, turns)
    envs.close()
    peer.close()
    return Measurement(name, 1e3 * ours_seconds, 1e3 * peer_seconds, "ms")


def _steps(turns: int) -> Measurement:
    """Steps alone: both sides walk in the labyrinth, whose resets are not timed."""
    name = "step without resets, Labyrinth-Big"
    _progress(name)
    steps = 200
    peer, envs = _upstream(LABYRINTH), MiniHackVectorEnv(LABYRINTH, 1)
    rng = np.random.default_rng(0)
    actions = rng.integers(8, size=(steps, 1))
    chosen = actions[:, 0].tolist()

    def ours() -> int:
        for row in actions:
            envs.step(row)
        return steps

    def theirs() -> int:
        for action in chosen:
            peer.step(action)
        return steps

    ours_seconds, peer_seconds = _take_turns(ours, theirs, turns, before=(envs.reset, peer.reset))
    envs.close()
    peer.close()
    return Measurement(name, 1 / ours_seconds, 1 / peer_seconds, "steps/s", higher_is_better=True)


def _random_play(turns: int) -> Measurement:
    """A random policy with its many resets: in lava it lives for a few steps."""
    name = "random play with resets, MultiRoom-N6-Lava"
    _progress(name)
    peer, envs = _upstream(LAVA), MiniHackVectorEnv(LAVA, 1)
    rng = np.random.default_rng(0)
    envs.reset()
    peer.reset()

    def ours() -> int:
        for row in rng.integers(8, size=(300, 1)):
            envs.step(row)
        return 300

    def theirs() -> int:
        for action in rng.integers(8, size=60).tolist():
            _, _, terminated, truncated, _ = peer.step(action)
            if terminated or truncated:
                peer.reset()
        return 60

    ours_seconds, peer_seconds = _take_turns(ours, theirs, turns)
    envs.close()
    peer.close()
    return Measurement(name, 1 / ours_seconds, 1 / peer_seconds, "steps/s", higher_is_better=True)


def _soak(resets: int) -> list[Measurement]:
    """What many resets leave behind."""
    _progress(f"{resets:,} resets, for growth")
    envs = MiniHackVectorEnv(LAVA, 2, contexts="inf")
    # The first levels fill the cache of levels, which keeps 2,048.
    for _ in range(max(1_100, resets // 20)):
        envs.reset()
    memory, files = _resident_bytes(), _open_files()
    for _ in range(resets // 2):
        envs.reset()
    grown, opened = _resident_bytes() - memory, _open_files() - files
    envs.close()
    return [
        Measurement(f"memory growth over {resets:,} resets", grown / 2**20, None, "MiB"),
        Measurement(f"open files more after {resets:,} resets", opened, None, "files"),
    ]


def _take_turns(
    ours: Operation,
    theirs: Operation,
    turns: int,
    before: tuple[Callable[[], Any], Callable[[], Any]] | None = None,
) -> tuple[float, float]:
    """Median seconds of one operation on each side; `before` runs before each turn and is not timed."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(WARM_UP + turns):
        for side, operation in enumerate((ours, theirs)):
            if before is not None:
                before[side]()
            start = time.perf_counter()
            count = operation()
            if turn >= WARM_UP:
                seconds[side].append((time.perf_counter() - start) / count)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def _upstream(task: str) -> gym.Env[Any, Any]:
    """Upstream's environment as its class makes it, without Gymnasium's checking wrappers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import minihack  # noqa: F401 (registers its tasks)
    return gym.make(task, observation_keys=OBSERVATIONS, disable_env_checker=True).unwrapped


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _progress(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr, flush=True)
