"""The agent steps 0.25 metres, turns 10 degrees, slides along walls and never leaves the floor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bonuslab.envs.habitat.apartments.navigation import largest_part, move
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.envs.habitat.simulator import Action


def test_free_step_moves_forward() -> None:
    floor = np.ones((100, 100), np.bool_)
    for heading in np.linspace(-3, 3, 13):
        x, z = move(floor, 0.0, 0.0, 2.5, 2.5, heading, 0.25)
        assert x == pytest.approx(2.5 - 0.25 * math.sin(heading))
        assert z == pytest.approx(2.5 - 0.25 * math.cos(heading))


def test_agent_slides_along_walls() -> None:
    floor = np.ones((100, 100), np.bool_)
    floor[:40] = False  # a wall at z = 2, to the north
    start = 2.5, 2.05
    x, z = move(floor, 0.0, 0.0, *start, math.radians(40), 0.25)
    assert z == pytest.approx(2.0, abs=0.011)
    assert x == pytest.approx(2.5 - 0.25 * math.sin(math.radians(40)), abs=0.011)  # its full sideways component
    assert move(floor, 0.0, 0.0, *start, 0.0, 0.25) == pytest.approx((2.5, 2.0), abs=0.011)


def test_corner_stops_the_agent() -> None:
    floor = np.zeros((100, 100), np.bool_)
    floor[40:, 40:] = True
    x, z = 2.02, 2.02
    for _ in range(4):
        x, z = move(floor, 0.0, 0.0, x, z, math.radians(45), 0.25)
    assert (x, z) == pytest.approx((2.0, 2.0), abs=0.011)


@pytest.mark.parametrize("scene", [1, 30, 77])
def test_agent_never_leaves_the_navigable_floor(scene: int) -> None:
    scenes, rng = ApartmentScenes(), np.random.default_rng(scene)
    simulator = scenes.simulator(16)
    simulator.begin(scene, scenes.start(scene, 0))
    map_ = simulator.navigable_map()
    moved = 0.0
    for action in rng.choice([1, 1, 1, 2, 3], 1500).tolist():
        before = simulator.pose
        simulator.act(Action(action))
        now = simulator.pose
        assert map_.navigable[map_.cell_of(now.x, now.z)]
        step = math.hypot(now.x - before.x, now.z - before.z)
        assert step <= 0.25 + 1e-9
        if action != Action.FORWARD:
            assert step == 0
            turned = math.remainder(now.heading - before.heading, 2 * math.pi)
            assert abs(turned) == pytest.approx(math.radians(10))
            assert (turned > 0) == (action == Action.LEFT)
        moved += step
    assert moved > 5


def test_starts_are_navigable_and_spread() -> None:
    scenes = ApartmentScenes()
    simulator = scenes.simulator(16)
    simulator.begin(12, scenes.start(12, 0))
    floor = simulator.navigable_map()
    poses = [scenes.start(12, number) for number in range(60)]
    assert all(floor.navigable[floor.cell_of(pose.x, pose.z)] for pose in poses)
    assert len(set(poses)) == 60
    assert np.ptp([pose.x for pose in poses]) > 3
    assert scenes.start(12, 5) == poses[5]


def test_narrow_gaps_and_islands_are_not_floor() -> None:
    free = np.zeros((40, 60), np.bool_)
    free[5:30, 5:30] = True
    free[12, 30:40] = True  # a gap of one cell
    free[5:30, 40:50] = True
    kept = largest_part(free)
    assert kept[6, 6]
    assert not kept[:, 30:].any()
