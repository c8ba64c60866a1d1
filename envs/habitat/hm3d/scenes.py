"""The HM3D back end: finds simulator, scenes and episodes, and reports what is missing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os.path import expanduser
from pathlib import Path
from typing import Final

from bonuslab.envs.errors import InvalidInput, Unavailable, unknown
from bonuslab.envs.habitat.contexts import MAX_SCENES
from bonuslab.envs.habitat.hm3d.devices import AUTO, check_device
from bonuslab.envs.habitat.hm3d.episodes import SCENES_FOLDER, SceneEpisodes, check_file, episode_files, read_episodes
from bonuslab.envs.habitat.hm3d.own_process import HM3DSimulator
from bonuslab.envs.habitat.hm3d.simulator import import_habitat_sim
from bonuslab.envs.habitat.simulator import Point, Pose

DATA_VARIABLE: Final = "HABITAT_DATA"
ISLANDS: Final = ("largest", "all")
_DATASET_FILES: Final = ("hm3d_basis.scene_dataset_config.json", "hm3d_annotated_basis.scene_dataset_config.json")
SPLITS: Final = ("train", "val")
"""The public ones."""
_GET_SCENES: Final = (
    "`python -m habitat_sim.utils.datasets_download --username ID --password SECRET --uids hm3d --data-path {data}` "
    "(ID and SECRET are a Matterport API token, free for academic use)"
)
_CHECKERS: Final = 16


def data_folder(data_path: str | Path | None = None) -> Path:
    """Habitat's `data` folder: the setting, HABITAT_DATA or `./data`."""
    return Path(expanduser(data_path or os.environ.get(DATA_VARIABLE) or "data"))


class HM3DScenes:
    """HM3D's scenes with the starts of Habitat's PointNav episodes; see `Scenes`.

    `data_path` is Habitat's `data` folder with `scene_datasets/hm3d` and `datasets/pointnav/hm3d/v1`; defaults to the
    environment variable HABITAT_DATA, then to `./data`. `gpu_device` is a CUDA device, -1 for any device that EGL has
    (software rendering), or `auto`, which takes a CUDA device if EGL shows one. `islands` says what of a floor counts
    for coverage: the `largest` connected part, or `all` (as released), such as the tops of beds, where nobody gets.
    """

    name = "hm3d"
    scene_steps = 10_000

    def __init__(
        self, data_path: str | Path | None = None, gpu_device: int | str = AUTO, islands: str = ISLANDS[0]
    ) -> None:
        self._data = data_folder(data_path)
        self._gpu_device = check_device(gpu_device)
        if islands not in ISLANDS:
            raise unknown("choice of islands", islands, ISLANDS)
        self._islands = islands
        import_habitat_sim()  # only a check: it runs in separate processes
        scenes = self._data / SCENES_FOLDER / "hm3d"
        if not scenes.is_dir():
            raise Unavailable(
                f"no HM3D scenes in {scenes}; get them with {_GET_SCENES.format(data=self._data)}, "
                f"or set {DATA_VARIABLE}"
            )
        found = (scenes / name for name in _DATASET_FILES)
        self._dataset = next((str(file) for file in found if file.is_file()), "default")
        self._files: list[Path] = []
        self._ranges: dict[str, range] = {}
        for split in SPLITS:
            first = len(self._files)
            self._files += episode_files(self._data, split)
            self._ranges[split] = range(first, len(self._files))
        if len(self._files) > MAX_SCENES:
            raise InvalidInput(
                f"{self._data} has episodes of {len(self._files)} scenes; at most {MAX_SCENES} can be used"
            )
        for numbers in self._ranges.values():  # the first scene of each split, to detect a wrong folder
            self.scene_file(numbers[0])

    @property
    def splits(self) -> Sequence[str]:
        """train, val."""
        return SPLITS

    def split(self, name: str) -> Sequence[int]:
        """Indices of a split's scenes."""
        return self._ranges[name]

    def num_starts(self, scene: int) -> int:
        """Number of episodes in a scene."""
        return len(self._episodes(scene).starts)

    def start(self, scene: int, number: int) -> Pose:
        """Start pose of an episode."""
        return self._episodes(scene).start(number)

    def goal(self, scene: int, number: int) -> Point | None:
        """Goal of an episode."""
        return self._episodes(scene).goal(number)

    def scene_name(self, scene: int) -> str:
        """`00800-TEEsavR23oF`."""
        return Path(self._episodes(scene).scene).parent.name

    def scene_file(self, scene: int) -> Path:
        """The .glb of a scene; raises if it is missing."""
        return self._existing(self._episodes(scene).scene)

    def from_above(self, scene: int) -> None:
        """None: only the plain map is available."""

    def check(self) -> None:
        """Check that every episode file is intact and every scene exists; the driver does so before a run."""
        with ThreadPoolExecutor(_CHECKERS) as threads:  # decompression releases the GIL
            for scene in threads.map(check_file, self._files):
                self._existing(scene)

    def simulator(self, size: int) -> HM3DSimulator:
        """A simulator with images of `size` x `size` pixels."""
        return HM3DSimulator(self.scene_file, self._dataset, size, self._gpu_device, self._islands)

    def _existing(self, scene: str) -> Path:
        file = self._data / SCENES_FOLDER / scene
        if not file.is_file():
            raise Unavailable(f"the scene {file} is missing; get it with {_GET_SCENES.format(data=self._data)}")
        return file

    def _episodes(self, scene: int) -> SceneEpisodes:
        return read_episodes(self._files[scene])
