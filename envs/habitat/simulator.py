"""The interface of the back ends.

Coordinates are Habitat's: x to the right, y up, z towards the viewer, in metres; at heading 0 the agent looks along -z,
and turning left increases the heading.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import numpy as np

FORWARD_METRES: Final = 0.25
TURN_DEGREES: Final = 10.0
FIELD_OF_VIEW_DEGREES: Final = 90.0
CAMERA_HEIGHT: Final = 1.25
"""Metres above the floor, as in Habitat's navigation tasks."""
AGENT_RADIUS: Final = 0.1
AGENT_HEIGHT: Final = 1.5
CELL_METRES: Final = 0.05
"""Side of a cell of the navigable map."""


class SimulatorDied(RuntimeError):  # noqa: N818 (it reads as what it is)
    """The simulator's process has ended; the next `begin` starts another."""


class Action(IntEnum):
    """The paper's four actions."""

    STOP = 0
    FORWARD = 1
    LEFT = 2
    RIGHT = 3


Point = tuple[float, float, float]
"""x, y and z."""


class Pose(NamedTuple):
    """Position and heading of the agent."""

    x: float
    y: float
    z: float
    heading: float
    """Radians."""


@dataclass(frozen=True, slots=True)
class NavigableMap:
    """Where an agent can stand on one floor."""

    navigable: np.ndarray
    """[rows along z, columns along x] bool."""
    x0: float
    z0: float
    """The corner of cell (0, 0) with the smallest coordinates."""
    cell: float = CELL_METRES
    """Side of a cell in metres."""

    @property
    def area(self) -> float:
        """Square metres on which the agent's centre can be."""
        return float(np.count_nonzero(self.navigable)) * self.cell**2

    def cell_of(self, x: float, z: float) -> tuple[int, int]:
        """(row, column) of the cell around a point."""
        return int((z - self.z0) // self.cell), int((x - self.x0) // self.cell)


class Simulator(Protocol):
    """One agent in one house at a time."""

    def prefetch_begin(self, scene: int, start: Pose) -> None:
        """Announce the next `begin`, so that several simulators can load their scenes in parallel."""
        ...

    def begin(self, scene: int, start: Pose) -> None:
        """Load a scene, unless it is already loaded, and put the agent at `start`."""
        ...

    def prefetch(self, action: Action) -> None:
        """Announce the next `act` and `render`, so that a simulator in another process can start on them."""
        ...

    def act(self, action: Action) -> None:
        """Move or turn; the agent slides along walls. STOP is a no-op."""
        ...

    @property
    def pose(self) -> Pose:
        """The agent's current pose."""
        ...

    def render(self, rgb: np.ndarray, depth: np.ndarray) -> None:
        """Write the agent's view: [H, W, 3] uint8, and [H, W] float32 metres along the viewing direction."""
        ...

    def navigable_map(self) -> NavigableMap:
        """The navigable part of the agent's floor."""
        ...

    def released_map(self, goal: Point | None) -> tuple[NavigableMap, Sequence[Point]]:
        """The map of the released program's coverage, and the shortest path to `goal`, which is drawn on it."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Scenes(Hashable, Protocol):
    """A collection of houses, with splits for training and evaluation."""

    name: str
    scene_steps: int
    """Steps for which an env stays in a scene by default; 0 where loading costs nothing."""

    @property
    def splits(self) -> Sequence[str]:
        """Names of the splits."""
        ...

    def split(self, name: str) -> Sequence[int]:
        """Indices of a split's scenes."""
        ...

    def num_starts(self, scene: int) -> int:
        """Number of start poses in a scene."""
        ...

    def start(self, scene: int, number: int) -> Pose:
        """Start pose `number` of a scene."""
        ...

    def goal(self, scene: int, number: int) -> Point | None:
        """Goal of the navigation episode that start `number` was made for; None if there is none."""
        ...

    def scene_name(self, scene: int) -> str:
        """A readable name."""
        ...

    def from_above(self, scene: int) -> np.ndarray | None:
        """Top view [H, W, 3] of a scene without its ceiling, to the extent of its map; None if there is none."""
        ...

    def check(self) -> None:
        """Check all data files; raises `InvalidInput` if any is missing or broken. May take a minute."""
        ...

    def simulator(self, size: int) -> Simulator:
        """A simulator of these scenes with images of `size` times `size` pixels."""
        ...
