"""Reads Habitat's navigation episodes: the scenes of a split and the start poses in them."""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bonuslab.envs.errors import InvalidInput, Unavailable
from bonuslab.envs.habitat.simulator import Point, Pose

EPISODES_FOLDER: Final = Path("datasets/pointnav/hm3d/v1")
SCENES_FOLDER: Final = Path("scene_datasets")
_KEPT_FILES: Final = 64
_PIECE_BYTES: Final = 1 << 20
_SCENE_ID: Final = re.compile(rb'"scene_id"\s*:\s*"([^"]+)"')
_GET_EPISODES: Final = "get pointnav_hm3d_v1.zip (habitat-lab's DATASETS.md says where) and unpack it there"


class SceneEpisodes(NamedTuple):
    """All episodes of one scene."""

    scene: str
    """Path of its .glb relative to the scenes folder."""
    starts: np.ndarray
    """[E, 4] float64: x, y, z and heading."""
    goals: np.ndarray
    """[E, 3] float64: x, y and z; NaN in episodes without a goal."""

    def start(self, number: int) -> Pose:
        """Where episode `number` starts."""
        x, y, z, heading = self.starts[number].tolist()
        return Pose(x, y, z, heading)

    def goal(self, number: int) -> Point | None:
        """Where episode `number` should end."""
        x, y, z = self.goals[number].tolist()
        return None if math.isnan(x) else (x, y, z)


def episode_files(data: Path, split: str) -> list[Path]:
    """The file of each scene of a split, sorted by name."""
    folder = data / EPISODES_FOLDER / split
    if not folder.is_dir():
        raise Unavailable(f"no episodes of HM3D's {split} split in {folder}; {_GET_EPISODES}, or set HABITAT_DATA")
    files = sorted((folder / "content").glob("*.json.gz")) or sorted(folder.glob("*.json.gz"))
    if not files:
        raise Unavailable(f"{folder} holds no episode file (*.json.gz); {_GET_EPISODES}")
    return files


@lru_cache(maxsize=_KEPT_FILES)
def read_episodes(file: Path) -> SceneEpisodes:
    """Parse an episode file, which must be about a single scene."""
    try:
        with gzip.open(file, "rt", encoding="utf-8") as text:
            episodes: list[dict[str, Any]] = json.load(text)["episodes"]
        scenes = {_below_scenes(str(episode["scene_id"])) for episode in episodes}
        starts = np.array([_start(episode) for episode in episodes], np.float64).reshape(-1, 4)
        goals = np.array([_goal(episode) for episode in episodes], np.float64).reshape(-1, 3)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise _unreadable(file, error) from error
    if len(scenes) != 1 or not np.isfinite(starts).all():
        found = f"{len(scenes)} scenes" if len(scenes) != 1 else "starts that are not finite"
        raise InvalidInput(f"the episode file {file} holds {found}, not the episodes of one scene; {_GET_EPISODES}")
    return SceneEpisodes(scenes.pop(), starts, goals)


def check_file(file: Path) -> str:
    """Check that a file is intact without parsing it, which is ten times faster; returns its scene."""
    known = file.stat()
    return _check(file, known.st_size, known.st_mtime_ns)


@cache  # a grid checks once per trial
def _check(file: Path, size: int, changed: int) -> str:
    try:
        with gzip.open(file) as content:
            beginning = content.read(_PIECE_BYTES)
            while content.read(_PIECE_BYTES):
                pass  # the checksum is at the end
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(file, error) from error
    found = _SCENE_ID.search(beginning)
    return _below_scenes(found[1].decode()) if found else read_episodes(file).scene


def _unreadable(file: Path, error: Exception) -> InvalidInput:
    reason = f"{type(error).__name__}: {error}"
    return InvalidInput(f"the episode file {file} cannot be read ({reason}); {_GET_EPISODES}")


def _below_scenes(scene_id: str) -> str:
    """Strip the scenes folder, which some episodes include."""
    return scene_id.removeprefix("./").removeprefix("data/scene_datasets/")


def _start(episode: dict[str, Any]) -> tuple[float, float, float, float]:
    x, y, z = (float(value) for value in episode["start_position"])
    return x, y, z, heading_of(*(float(value) for value in episode["start_rotation"]))


def _goal(episode: dict[str, Any]) -> tuple[float, float, float]:
    goals = episode.get("goals") or [{"position": [math.nan] * 3}]
    x, y, z = (float(value) for value in goals[0]["position"])
    return x, y, z


def heading_of(x: float, y: float, z: float, w: float) -> float:
    """The heading of a quaternion: where it rotates -z, seen from above."""
    return math.atan2(2 * (x * z + w * y), 1 - 2 * (x * x + y * y))
