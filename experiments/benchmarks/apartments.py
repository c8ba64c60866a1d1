"""Speed of rendering and stepping apartments on one core, by image size.

Images are rendered from random poses in many apartments. Vector envs take random actions, with everything that belongs
to a step (movement, coverage, sensors, and new apartments when episodes end), and are measured beside as many single
Gymnasium environments stepped one after the other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from bonuslab.envs.habitat import HabitatEnv, HabitatVectorEnv
from bonuslab.envs.habitat.apartments.drawing import draw
from bonuslab.envs.habitat.apartments.scene import apartment
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import announce, take_turns

SIZES = (64, 128, 256)
NUM_ENVS = 4
MAX_STEPS = 500


def run(quick: bool) -> list[Measurement]:
    """Measure all sizes; under a minute when `quick`."""
    turns = 5 if quick else 30
    found = [_scenes(10 if quick else 100)]
    for size in SIZES:
        found += [_images(size, turns), _steps(size, turns)]
    return found


def _scenes(count: int) -> Measurement:
    announce("new apartments")
    apartment(0)
    seconds = [_seconds(lambda number=number: apartment(number)) for number in range(500, 500 + count)]  # type: ignore[misc]
    return Measurement("a new apartment", 1e3 * statistics.median(seconds), None, "ms")


def _images(size: int, turns: int) -> Measurement:
    """Rendering alone."""
    announce(f"images, {size} × {size}")
    scenes, rgb, depth = ApartmentScenes(), np.empty((size, size, 3), np.uint8), np.empty((size, size), np.float32)
    views = [(apartment(number).geometry, scenes.start(number, start)) for number in range(12) for start in range(4)]

    def render_all() -> None:
        for geometry, pose in views:
            draw(geometry, pose.x, pose.z, pose.heading, rgb, depth)

    render_all()
    seconds = statistics.median(_seconds(render_all) for _ in range(turns)) / len(views)
    return Measurement(f"RGB-D images, {size} × {size}", 1 / seconds, None, "frames/s", higher_is_better=True)


def _steps(size: int, turns: int) -> Measurement:
    """Whole steps: a vector env beside single environments."""
    announce(f"steps, {size} × {size}")
    rng, steps = np.random.default_rng(0), 50
    envs = HabitatVectorEnv("apartments", NUM_ENVS, size=size, max_steps=MAX_STEPS)
    single = [HabitatEnv(size=size, stream=(0, env_index), max_steps=MAX_STEPS) for env_index in range(NUM_ENVS)]
    envs.reset()
    for env in single:
        env.reset()

    def ours() -> int:
        for row in rng.integers(1, 4, (steps, NUM_ENVS)):
            envs.step(row)
        return steps * NUM_ENVS

    def theirs() -> int:
        for row in rng.integers(1, 4, (steps, NUM_ENVS)):
            for env, action in zip(single, row.tolist(), strict=True):
                if any(env.step(action)[2:4]):
                    env.reset()
        return steps * NUM_ENVS

    ours_seconds, peer_seconds = take_turns(ours, theirs, turns)
    name = f"steps of a vector env of {NUM_ENVS}, {size} × {size}; peer: single environments"
    return Measurement(name, 1 / ours_seconds, 1 / peer_seconds, "steps/s", higher_is_better=True)


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
