"""Speed of the MiniHack layer beside upstream minihack in the same run.

One environment on each side; upstream is asked for the same three observations as ours provides.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.minihack import MiniHackVectorEnv
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.process_memory import DRIVER, usage_by_role
from bonuslab.experiments.benchmarks.timing import announce, take_turns

LAVA = "MiniHack-MultiRoom-N6-Lava-v0"
TEN_ROOMS = "MiniHack-MultiRoom-N10-v0"
LABYRINTH = "MiniHack-Labyrinth-Big-v0"
OBSERVATIONS = ("glyphs", "blstats", "message")


def run(quick: bool) -> list[Measurement]:
    """Measure both sides; under a minute when `quick`."""
    turns = 8 if quick else 40
    return [
        _resets("reset, new context, MultiRoom-N6-Lava", LAVA, "inf", turns),
        _resets("reset, repeated context, MultiRoom-N6-Lava", LAVA, 1, turns),
        _resets("reset, new context, MultiRoom-N10", TEN_ROOMS, "inf", turns),
        _steps(turns),
        _random_play(turns),
        *_many_resets(3_000 if quick else 100_000),
    ]


def _resets(name: str, task: str, contexts: int | str, turns: int) -> Measurement:
    with _both(name, task, contexts) as (envs, peer):

        def ours() -> int:
            for _ in range(50):
                envs.reset()
            return 50

        def theirs() -> int:
            for _ in range(5):
                peer.reset()
            return 5

        ours_seconds, peer_seconds = take_turns(ours, theirs, turns)
    return Measurement(name, 1e3 * ours_seconds, 1e3 * peer_seconds, "ms")


def _steps(turns: int) -> Measurement:
    """Steps alone: both sides walk in the labyrinth, whose resets are not timed."""
    name = "step without resets, Labyrinth-Big"
    actions = np.random.default_rng(0).integers(8, size=(200, 1))
    with _both(name, LABYRINTH) as (envs, peer):

        def ours() -> int:
            for row in actions:
                envs.step(row)
            return len(actions)

        def theirs() -> int:
            for action in actions[:, 0].tolist():
                peer.step(action)
            return len(actions)

        ours_seconds, peer_seconds = take_turns(ours, theirs, turns, before=(envs.reset, peer.reset))
    return Measurement(name, 1 / ours_seconds, 1 / peer_seconds, "steps/s", higher_is_better=True)


def _random_play(turns: int) -> Measurement:
    """A random policy with its many resets: lava kills it within a few steps."""
    name = "random play with resets, MultiRoom-N6-Lava"
    rng = np.random.default_rng(0)
    with _both(name, LAVA) as (envs, peer):
        envs.reset()
        peer.reset()

        def ours() -> int:
            for row in rng.integers(8, size=(300, 1)):
                envs.step(row)
            return 300

        def theirs() -> int:
            for action in rng.integers(8, size=60).tolist():
                if any(peer.step(action)[2:4]):
                    peer.reset()
            return 60

        ours_seconds, peer_seconds = take_turns(ours, theirs, turns)
    return Measurement(name, 1 / ours_seconds, 1 / peer_seconds, "steps/s", higher_is_better=True)


def _many_resets(resets: int) -> list[Measurement]:
    """Memory and file descriptors that resets leak."""
    announce(f"growth over {resets:,} resets")
    with closing(MiniHackVectorEnv(LAVA, 2)) as envs:
        # First fill the cache of levels, which holds 2,048.
        for _ in range(max(1_100, resets // 20)):
            envs.reset()
        memory, files = _resident_mb(), _open_files()
        for _ in range(resets // 2):
            envs.reset()
        grown, opened = _resident_mb() - memory, _open_files() - files
    return [
        Measurement(f"memory growth over {resets:,} resets", grown, None, "MiB"),
        Measurement(f"files left open by {resets:,} resets", opened, None, "files"),
    ]


@contextmanager
def _both(name: str, task: str, contexts: int | str = "inf") -> Iterator[tuple[MiniHackVectorEnv, gym.Env[Any, Any]]]:
    """Our vector env of one environment, and upstream's environment."""
    announce(name)
    with closing(MiniHackVectorEnv(task, 1, contexts)) as envs, closing(_upstream(task)) as peer:
        yield envs, peer


def _upstream(task: str) -> gym.Env[Any, Any]:
    """Upstream's environment without Gymnasium's wrappers, which would slow it down."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import minihack  # noqa: F401 (registers its tasks)
    return gym.make(task, observation_keys=OBSERVATIONS, disable_env_checker=True).unwrapped


def _resident_mb() -> float:
    return usage_by_role(os.getpid())[DRIVER].resident_mb


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
