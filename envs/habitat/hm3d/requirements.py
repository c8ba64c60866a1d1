"""What HM3D needs, part by part, for `bonuslab doctor`: each check describes what it found or raises."""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from bonuslab.envs.errors import Unavailable
from bonuslab.envs.habitat.hm3d.devices import choose_device, egl_devices
from bonuslab.envs.habitat.hm3d.episodes import EPISODES_FOLDER, SCENES_FOLDER, check_file, episode_files
from bonuslab.envs.habitat.hm3d.scenes import SPLITS, data_folder
from bonuslab.envs.habitat.hm3d.simulator import import_habitat_sim

VERSION: Final = "0.3.3"
_NAMED: Final = 3


def check_simulator() -> str:
    """Whether habitat-sim can be imported, in the version that we know."""
    try:
        found = str(getattr(import_habitat_sim(), "__version__", "of unknown version"))
    except Unavailable as error:
        raise Unavailable(str(error.__cause__)) from error
    if found != VERSION:
        raise Unavailable(f"habitat-sim is {found}, not {VERSION}")
    return f"imported habitat-sim {found}, with Python {sys.version.split()[0]} and numpy {np.__version__}"


def check_rendering() -> str:
    """Whether EGL has a device to render on."""
    devices = egl_devices()
    if not devices:
        raise Unavailable("EGL has no device")
    device, count = choose_device("auto"), f"{len(devices)} device{'s' if len(devices) > 1 else ''}"
    return f"{count}, CUDA device {device} among them" if device >= 0 else f"{count}, none of them NVIDIA's (slow)"


def check_scenes() -> str:
    """Whether the scenes have geometry and navigation mesh."""
    folder = data_folder() / SCENES_FOLDER / "hm3d"
    counts, bare = [], []
    for split in SPLITS:
        scenes = sorted((folder / split).glob("*/*.basis.glb"))
        if not scenes:
            raise Unavailable(f"no scenes (*/*.basis.glb) in {folder / split}")
        bare += [scene.parent.name for scene in scenes if not scene.with_suffix(".navmesh").is_file()]
        counts.append(f"{len(scenes)} {split}")
    if bare:
        named = ", ".join(bare[:_NAMED]) + (f" and {len(bare) - _NAMED} more" if len(bare) > _NAMED else "")
        return f"{' and '.join(counts)} scenes in {folder}; habitat-sim computes the navigation mesh of {named}"
    return f"{' and '.join(counts)} scenes in {folder}"


def check_episodes() -> str:
    """Whether the start poses are there, intact, and in scenes that are."""
    data, counts = data_folder(), []
    for split in SPLITS:
        files = episode_files(data, split)
        for file in files:
            if not (scene := data / SCENES_FOLDER / check_file(file)).is_file():
                raise Unavailable(f"{file} is about the scene {scene}, which is missing")
        counts.append(f"{len(files)} {split}")
    return f"{' and '.join(counts)} files in {data / EPISODES_FOLDER}"
