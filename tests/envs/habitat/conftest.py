"""A back end of bare rooms, simple enough to work out results by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from bonuslab.envs.habitat.simulator import Action, NavigableMap, Pose


class BareRooms:
    """Empty rooms of 4 x 3 metres; scene and start determine the agent's pose."""

    name = "bare rooms"
    splits = ("train", "val")

    def split(self, name: str) -> Sequence[int]:
        return {"train": range(4), "val": range(4, 6)}[name]

    def num_starts(self, scene: int) -> int:
        return 3

    def start(self, scene: int, number: int) -> Pose:
        return Pose(1.0 + 0.5 * number, 0.0, 1.0 + 0.1 * scene, 0.3 * scene)

    def scene_name(self, scene: int) -> str:
        return f"room {scene}"

    def from_above(self, scene: int) -> None:
        """No top view."""

    def check(self) -> None:
        """Nothing to check."""

    def simulator(self, size: int) -> BareRoomSimulator:
        return BareRoomSimulator()


class BareRoomSimulator:
    """Walls stop the agent; images encode step and scene."""

    def __init__(self) -> None:
        self.closed = False
        self._pose, self._scene, self._acts = Pose(0, 0, 0, 0), 0, 0
        self._prefetched: Action | None = None

    def begin(self, scene: int, start: Pose) -> None:
        self._scene, self._pose, self._acts = scene, start, 0

    def prefetch(self, action: Action) -> None:
        assert self._prefetched is None
        self._prefetched = action

    def act(self, action: Action) -> None:
        assert self._prefetched in (None, action)
        self._prefetched = None
        x, y, z, heading = self._pose
        self._acts += 1
        if action == Action.FORWARD:
            x = min(4.0 - 1e-6, max(0.0, x - 0.25 * math.sin(heading)))
            z = min(3.0 - 1e-6, max(0.0, z - 0.25 * math.cos(heading)))
        turn = {Action.LEFT: 10.0, Action.RIGHT: -10.0}.get(action, 0.0)
        self._pose = Pose(x, y, z, heading + math.radians(turn))

    @property
    def pose(self) -> Pose:
        return self._pose

    def render(self, rgb: np.ndarray, depth: np.ndarray) -> None:
        rgb[:] = (self._acts % 256, self._scene, 7)
        depth[:] = 2.0 + self._acts

    def navigable_map(self) -> NavigableMap:
        return NavigableMap(np.ones((60, 80), np.bool_), 0.0, 0.0)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bare_rooms() -> BareRooms:
    return BareRooms()
