"""A house that is one bare room, as a back end: what the shared logic does can be worked out by hand there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from bonuslab.envs.habitat.simulator import Action, NavigableMap, Pose


class BareRooms:
    """Empty rooms of 4 x 3 metres; scene and start say where the agent stands."""

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
        """There is no picture."""

    def check(self) -> None:
        """All is there."""

    def simulator(self, size: int) -> BareRoomSimulator:
        return BareRoomSimulator()


class BareRoomSimulator:
    """Walls stop the agent; a picture shows the step and the scene."""

    def __init__(self) -> None:
        self.closed = False
        self._pose, self._scene, self._acts = Pose(0, 0, 0, 0), 0, 0
        self._foreseen: Action | None = None

    def begin(self, scene: int, start: Pose) -> None:
        self._scene, self._pose, self._acts = scene, start, 0

    def foresee(self, action: Action) -> None:
        assert self._foreseen is None
        self._foreseen = action

    def act(self, action: Action) -> None:
        assert self._foreseen in (None, action)
        self._foreseen = None
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
