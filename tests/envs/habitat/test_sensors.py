"""GPS, compass and depth match Habitat's sensors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bonuslab.envs.habitat.hm3d.episodes import heading_of
from bonuslab.envs.habitat.sensors import compass, gps, write_depth
from bonuslab.envs.habitat.simulator import Pose


def rotation(heading: float) -> np.ndarray:
    """[3, 3]: a left turn about the up axis."""
    cos, sin = math.cos(heading), math.sin(heading)
    return np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])


@pytest.mark.parametrize("seed", range(5))
def test_gps_and_compass_follow_habitats_definition(seed: int) -> None:
    """GPS: R_start^-1 (p - p_start), then (-z, x). Compass: the angle of R_agent^-1 R_start (0, 0, -1)."""
    rng = np.random.default_rng(seed)
    start, pose = (Pose(*rng.normal(0, 3, 3), rng.uniform(-4, 4)) for _ in range(2))
    moved = rotation(start.heading).T @ (np.array(pose[:3]) - np.array(start[:3]))
    assert gps(start, pose) == pytest.approx((-moved[2], moved[0]))
    ahead = rotation(pose.heading).T @ rotation(start.heading) @ np.array([0, 0, -1])
    assert compass(start, pose) == pytest.approx(math.atan2(ahead[0], -ahead[2]))


def test_signs_of_gps_and_compass() -> None:
    start = Pose(5.0, 0.0, 5.0, math.pi / 2)  # looks along -x
    assert gps(start, Pose(3.0, 0.0, 5.0, 0.0)) == pytest.approx((2.0, 0.0))
    assert gps(start, Pose(5.0, 0.0, 4.0, 0.0)) == pytest.approx((0.0, 1.0))  # -z is to its right
    assert compass(start, start._replace(heading=start.heading + 0.2)) == pytest.approx(0.2)
    assert abs(compass(start, start._replace(heading=start.heading + math.pi))) == pytest.approx(math.pi)


@pytest.mark.parametrize("seed", range(5))
def test_headings_of_quaternions(seed: int) -> None:
    heading = np.random.default_rng(seed).uniform(-math.pi, math.pi)
    assert heading_of(0.0, math.sin(heading / 2), 0.0, math.cos(heading / 2)) == pytest.approx(heading)
    assert heading_of(0.0, -math.sin(heading / 2), 0.0, -math.cos(heading / 2)) == pytest.approx(heading)


def test_depth_is_rounded_like_numpy() -> None:
    rng = np.random.default_rng(0)
    metres = rng.uniform(0.01, 14.0, (64, 64)).astype(np.float32)
    metres[0, :4] = (10.0, 9.9999, 10.0001, 500.0)
    expected = np.minimum(metres * np.float32(0.1), 1).astype(np.float16)
    out = np.zeros((64, 64, 1), np.float16)
    write_depth(metres.copy(), out)
    np.testing.assert_array_equal(out[..., 0], expected)
    error = np.abs(out[..., 0].astype(np.float64) * 10 - np.minimum(metres, 10))
    assert error.max() < 0.005  # metres


def test_depth_below_a_millimetre_does_not_wrap_around() -> None:
    out = np.zeros((1, 3, 1), np.float16)
    write_depth(np.array([[0.0, 1e-7, 0.002]], np.float32), out)
    assert (out >= 0).all()
    assert (out < 3e-4).all()
