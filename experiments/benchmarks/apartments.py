"""How fast the apartments are drawn and played, by image size, on one core.

Pictures are drawn from random places of many apartments. Vector envs walk at random, with all that belongs to a step
(moving, coverage, sensors, and new apartments when episodes end), and are measured beside as many environments stepped
one after the other, as Gymnasium has them.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from bonuslab.envs.habitat import HabitatEnv, HabitatVectorEnv
from bonuslab.envs.habitat.apartments.drawing import draw
from bonuslab.envs.habitat.apartments.scene import apartment
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.experiments.benchmarks.measurement import Measurement

SIZES = (64, 128, 256)
NUM_ENVS = 4
MAX_STEPS = 500


def run(quick: bool) -> list[Measurement]:
    """Measure all sizes; `quick` takes less than a minute."""
    turns = 5 if quick else 30
    found = [_scenes(10 if quick else 100)]
    for size in SIZES:
        found += [_pictures(size, turns), _steps(size, turns)]
    return found


def _scenes(count: int) -> Measurement:
    _progress("new apartments")
    apartment(0)
    seconds = [_timed(lambda number=number: apartment(number)) for number in range(500, 500 + count)]  # type: ignore[misc]
    return Measurement("a new apartment", 1e3 * statistics.median(seconds), None, "ms")


def _pictures(size: int, turns: int) -> Measurement:
    """Drawing alone."""
    _progress(f"pictures, {size} x {size}")
    scenes, rgb, depth = ApartmentScenes(), np.empty((size, size, 3), np.uint8), np.empty((size, size), np.float32)
    views = [(apartment(number).geometry, scenes.start(number, start)) for number in range(12) for start in range(4)]

    def look_around() -> None:
        for geometry, pose in views:
            draw(geometry, pose.x, pose.z, pose.heading, rgb, depth)

    seconds = _median(look_around, turns) / len(views)
    return Measurement(f"RGB-D pictures, {size} x {size}", 1 / seconds, None, "frames/s", higher_is_better=True)


def _steps(size: int, turns: int) -> Measurement:
    """Whole steps of environments, and of environments one after the other."""
    _progress(f"steps, {size} x {size}")
    rng, steps = np.random.default_rng(0), 50
    envs = HabitatVectorEnv("apartments", NUM_ENVS, size=size, max_steps=MAX_STEPS)
    alone = [HabitatEnv(size=size, stream=(0, env_index), max_steps=MAX_STEPS) for env_index in range(NUM_ENVS)]
    envs.reset()
    for env in alone:
        env.reset()

    def ours() -> None:
        for row in rng.integers(1, 4, (steps, NUM_ENVS)):
            envs.step(row)

    def theirs() -> None:
        for row in rng.integers(1, 4, (steps, NUM_ENVS)):
            for env, action in zip(alone, row.tolist(), strict=True):
                if any(env.step(action)[2:4]):
                    env.reset()

    pairs = [(_timed(ours), _timed(theirs)) for _ in range(turns + 1)][1:]  # in turn, so that load falls on both
    speeds = [steps * NUM_ENVS / statistics.median(side) for side in zip(*pairs, strict=True)]
    name = f"steps of {NUM_ENVS} environments, beside single environments, {size} x {size}"
    return Measurement(name, speeds[0], speeds[1], "steps/s", higher_is_better=True)


def _median(operation: Callable[[], object], turns: int) -> float:
    operation()
    return statistics.median(_timed(operation) for _ in range(turns))


def _timed(operation: Callable[[], object]) -> float:
    start = time.perf_counter()
    operation()
    return time.perf_counter() - start


def _progress(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr, flush=True)
