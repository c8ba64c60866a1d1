"""The apartments back end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.drawing import draw
from bonuslab.envs.habitat.apartments.navigation import move
from bonuslab.envs.habitat.apartments.scene import NUM_APARTMENTS, Apartment, apartment
from bonuslab.envs.habitat.simulator import FORWARD_METRES, TURN_DEGREES, Action, NavigableMap, Point, Pose

_SPLITS: Final = {"train": range(800), "val": range(800, 900), "test": range(900, NUM_APARTMENTS)}
_NUM_STARTS: Final = 1_000_000_000


class ApartmentScenes:
    """1,000 apartments, 800 for training, 100 for validation and 100 for testing; see `Scenes`."""

    name = "apartments"
    scene_steps = 0

    @property
    def splits(self) -> Sequence[str]:
        """train, val, test."""
        return tuple(_SPLITS)

    def split(self, name: str) -> Sequence[int]:
        """Indices of a split's apartments."""
        return _SPLITS[name]

    def num_starts(self, scene: int) -> int:
        """Practically unlimited: any cell and heading."""
        return _NUM_STARTS

    def start(self, scene: int, number: int) -> Pose:
        """The centre of a random navigable cell, with a random heading."""
        map_, random = apartment(scene).map, Random(f"start {scene} {number}")
        cells = _navigable_cells(scene)
        row, column = divmod(int(cells[random.randrange(len(cells))]), map_.navigable.shape[1])
        x, z = map_.x0 + (column + 0.5) * map_.cell, map_.z0 + (row + 0.5) * map_.cell
        return Pose(x, 0.0, z, random.uniform(-math.pi, math.pi))

    def goal(self, scene: int, number: int) -> None:
        """None: starts are not those of navigation episodes."""

    def scene_name(self, scene: int) -> str:
        """`apartment 7`."""
        return f"apartment {scene}"

    def from_above(self, scene: int) -> np.ndarray:
        """Top view with floors and furniture."""
        from bonuslab.envs.habitat.apartments.bird_view import bird_view  # rarely used: saves importing PIL

        return bird_view(apartment(scene))

    def check(self) -> None:
        """Nothing to check: there is no data."""

    def simulator(self, size: int) -> ApartmentSimulator:
        """A simulator; images have the size of the arrays passed to `render`."""
        return ApartmentSimulator()


@lru_cache(maxsize=8)
def _navigable_cells(scene: int) -> np.ndarray:
    return np.flatnonzero(apartment(scene).map.navigable)


class ApartmentSimulator:
    """One agent in one apartment; see `Simulator`."""

    def __init__(self) -> None:
        self._apartment: Apartment | None = None
        self._pose = Pose(0.0, 0.0, 0.0, 0.0)

    def prefetch_begin(self, scene: int, start: Pose) -> None:
        """No-op, like `prefetch`."""

    def begin(self, scene: int, start: Pose) -> None:
        """Enter an apartment."""
        self._apartment, self._pose = apartment(scene), start

    def prefetch(self, action: Action) -> None:
        """No-op: the work is done in this process."""

    def act(self, action: Action) -> None:
        """Move or turn."""
        x, y, z, heading = self._pose
        if action == Action.FORWARD:
            map_ = self._map()
            x, z = move(map_.navigable, map_.x0, map_.z0, x, z, heading, FORWARD_METRES)
        elif action == Action.LEFT:
            heading += math.radians(TURN_DEGREES)
        elif action == Action.RIGHT:
            heading -= math.radians(TURN_DEGREES)
        self._pose = Pose(x, y, z, math.remainder(heading, 2 * math.pi))

    @property
    def pose(self) -> Pose:
        """The agent's current pose."""
        return self._pose

    def render(self, rgb: np.ndarray, depth: np.ndarray) -> None:
        """Draw the agent's view."""
        assert self._apartment is not None
        draw(self._apartment.geometry, self._pose.x, self._pose.z, self._pose.heading, rgb, depth)

    def navigable_map(self) -> NavigableMap:
        """The reachable floor."""
        return self._map()

    def released_map(self, goal: Point | None) -> tuple[NavigableMap, Sequence[Point]]:
        """The same map, in cells of 5 cm."""
        return self._map(), []

    def close(self) -> None:
        """Release the apartment."""
        self._apartment = None

    def _map(self) -> NavigableMap:
        assert self._apartment is not None
        return self._apartment.map
