"""Draws the agent's view."""

from __future__ import annotations

import math

import numpy as np

from bonuslab.envs.habitat.apartments.geometry import CEILING_HEIGHT, Geometry
from bonuslab.envs.habitat.apartments.raycast import UP, cast
from bonuslab.envs.habitat.apartments.shade import shade_level, shade_upright
from bonuslab.envs.habitat.apartments.textures import textures
from bonuslab.envs.habitat.compiled import compiled
from bonuslab.envs.habitat.simulator import CAMERA_HEIGHT


def draw(geometry: Geometry, x: float, z: float, heading: float, rgb: np.ndarray, depth: np.ndarray) -> None:
    """Write the view from (x, z): `rgb` [N, N, 3] uint8 and `depth` [N, N] float32 in metres."""
    _draw(*geometry, textures(), (x, CAMERA_HEIGHT, z), heading, rgb, depth)


@compiled
def _draw(
    frame: np.ndarray,
    solids: np.ndarray,
    materials: np.ndarray,
    tiles: np.ndarray,
    members: np.ndarray,
    floor: np.ndarray,
    light: np.ndarray,
    library: np.ndarray,
    eye: tuple[float, float, float],
    heading: float,
    rgb: np.ndarray,
    depth: np.ndarray,
) -> None:
    size = depth.shape[0]  # square images of 90 degrees: the focal length is half the width
    slope, plane, blur = np.empty(size), np.empty(size), np.empty(size)
    for row in range(size):
        slope[row] = ((size - 1) / 2 - row) / (size / 2)
        level = -eye[1] if slope[row] < 0 else frame[CEILING_HEIGHT] - eye[1]
        plane[row] = level / slope[row] if abs(slope[row]) > 1e-6 else 1e6
        # log2 of the metres that a pixel covers on a horizontal plane: mean of across and along.
        blur[row] = math.log2(2.0 * plane[row] / size) + 0.5 * math.log2(plane[row] / abs(level))
    seen = np.full(solids.shape[0], -1, np.int32)
    distance, shown = np.empty(size), np.empty(size, np.int64)
    forward_x, forward_z = -math.sin(heading), -math.cos(heading)
    for column in range(size):
        across = (column - (size - 1) / 2) / (size / 2)
        dx, dz = forward_x - across * forward_z, forward_z + across * forward_x
        cast(frame, solids, tiles, members, eye, dx, dz, slope, plane, seen, column, distance, shown)
        out = rgb[:, column]
        # A literal 0 has its own numba type, for which everything below would be compiled again.
        first: int = np.int64(0)  # type: ignore[assignment]
        while first < size:
            code, last = shown[first], first + 1
            while last < size and shown[last] == code:
                last += 1
            if code >= 0 and code % 8 < UP:
                near = distance[first]
                shade_upright(
                    frame, solids, materials, light, library, eye, dx, dz, slope, near, first, last, code, out
                )
            else:
                shade_level(
                    frame, solids, materials, floor, light, library, eye, dx, dz, blur, distance, first, last, code, out
                )
            first = last
        for row in range(size):
            depth[row, column] = distance[row]
