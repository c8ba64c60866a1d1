"""A back end of bare rooms, simple enough to work out results by hand, and a `data` folder like HM3D's."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.habitat.hm3d.episodes import read_episodes
from bonuslab.envs.habitat.simulator import Action, NavigableMap, Point, Pose


class BareRooms:
    """Empty rooms of 4 x 3 metres; scene and start determine the agent's pose."""

    name = "bare rooms"
    splits = ("train", "val")
    scene_steps = 0

    def split(self, name: str) -> Sequence[int]:
        return {"train": range(4), "val": range(4, 6)}[name]

    def num_starts(self, scene: int) -> int:
        return 3

    def start(self, scene: int, number: int) -> Pose:
        return Pose(1.0 + 0.5 * number, 0.0, 1.0 + 0.1 * scene, 0.3 * scene)

    def goal(self, scene: int, number: int) -> None:
        """No goal."""

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

    def prefetch_begin(self, scene: int, start: Pose) -> None:
        """Nothing to load."""

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

    def released_map(self, goal: Point | None) -> tuple[NavigableMap, list[Point]]:
        return self.navigable_map(), []

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bare_rooms() -> BareRooms:
    return BareRooms()


SCENES = {"train": ("00001-aaa", "00004-bbb"), "val": ("00800-TEE",)}


def episode(scene: str, split: str, number: int) -> dict[str, Any]:
    heading = 0.4 * number
    return {
        "episode_id": str(number),
        "scene_id": f"hm3d/{split}/{scene}/{scene[6:]}.basis.glb",
        "scene_dataset_config": "./data/scene_datasets/hm3d/hm3d_basis.scene_dataset_config.json",
        "start_position": [1.0 + number, 0.5, 5.0],
        "start_rotation": [0, math.sin(heading / 2), 0, math.cos(heading / 2)],
        "goals": [{"position": [0, 0, 0], "radius": None}],
    }


def write_episodes(file: Path, episodes: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt") as text:
        json.dump({"episodes": episodes}, text)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Habitat's `data` folder, with three scenes of two episodes each."""
    for split, scenes in SCENES.items():
        episodes = tmp_path / "datasets/pointnav/hm3d/v1" / split
        write_episodes(episodes / f"{split}.json.gz", [])
        for scene in scenes:
            write_episodes(episodes / f"content/{scene[6:]}.json.gz", [episode(scene, split, k) for k in range(2)])
            glb = tmp_path / f"scene_datasets/hm3d/{split}/{scene}/{scene[6:]}.basis.glb"
            glb.parent.mkdir(parents=True)
            glb.write_bytes(b"glTF")
    (tmp_path / "scene_datasets/hm3d/hm3d_basis.scene_dataset_config.json").write_text("{}")
    read_episodes.cache_clear()
    return tmp_path
