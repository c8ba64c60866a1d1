"""Draws recorded episodes: the agent's view next to the map of its path and what it has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bonuslab.envs.caption import captioned
from bonuslab.envs.habitat.coverage import Coverage
from bonuslab.envs.habitat.env import HabitatEnv
from bonuslab.envs.habitat.render import PATH_COLOURS, fitted, labelled, side_by_side, stacked, top_down
from bonuslab.envs.habitat.simulator import NavigableMap, Pose

_VIEW_PIXELS = 240
_MAP_PIXELS = (_VIEW_PIXELS, 336)
_STRIP_VIEWS, _STRIP_PIXELS = 6, 140
_LARGE_MAP_HEIGHT = 420


@dataclass
class _Recording:
    """One episode."""

    first: int
    """Number of its first snapshot."""
    map: NavigableMap
    background: np.ndarray | None
    path: list[Pose] = field(default_factory=list)
    views: list[np.ndarray] = field(default_factory=list)

    def map_picture(self, coverage: Coverage, steps: int, height: int, width: int) -> np.ndarray:
        """[height, width, 3]: the map after `steps` steps."""
        rows, columns = self.map.navigable.shape
        scale = min(height / rows, width / columns) / self.map.cell
        path = self.path[: steps + 1]
        picture = top_down(self.map, coverage.revealed, path, background=self.background, pixels_per_metre=scale)
        return fitted(picture, height, width)


class HabitatAlbum:
    """See `envs.family.Album`. Revealed areas are recomputed from the path instead of being stored."""

    steps_per_frame = 4
    colours = PATH_COLOURS
    has_more_colours = True

    def __init__(self) -> None:
        self._episodes: list[_Recording] = []
        self._snapshots = 0

    def add(self, observation: dict[str, np.ndarray], env: HabitatEnv) -> str:
        """Record view and position."""
        path = env.path
        if len(path) == 1:
            self._episodes.append(_Recording(self._snapshots, env.map, env.from_above()))
        self._episodes[-1].path.append(path[-1])
        self._episodes[-1].views.append(observation["rgb"])
        self._snapshots += 1
        return f"coverage {env.coverage:.0%}"

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """View, map and caption."""
        for episode in self._episodes:
            coverage, looked = Coverage(episode.map), 0
            for number, caption in captions:
                step = number - episode.first
                if not 0 <= step < len(episode.path):
                    continue
                for pose in episode.path[looked : step + 1]:
                    coverage.look(pose)
                looked = step + 1
                seen = episode.map_picture(coverage, step, *_MAP_PIXELS)
                yield captioned(side_by_side([episode.views[step], seen], _VIEW_PIXELS), caption)

    def summary(self, caption: str) -> np.ndarray:
        """The whole path on the map, and a strip of views along it."""
        episode = self._episodes[-1]
        coverage, last = Coverage(episode.map), len(episode.path) - 1
        for pose in episode.path:
            coverage.look(pose)
        steps = [round(last * number / (_STRIP_VIEWS - 1)) for number in range(_STRIP_VIEWS)]
        strip = side_by_side([labelled(episode.views[step], f"step {step}", _STRIP_PIXELS) for step in steps])
        seen = episode.map_picture(coverage, last, _LARGE_MAP_HEIGHT, strip.shape[1])
        return captioned(stacked([seen, strip]), caption)

    def text(self, snapshot: int, width: int, colour: bool) -> list[str]:
        """Empty: text cannot show a house."""
        return []
