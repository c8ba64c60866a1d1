"""Pictures of episodes in houses: what the agent sees beside the map of where it was and what it has seen."""

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
class _Walk:
    """One episode."""

    first: int
    """Number of its first moment."""
    map: NavigableMap
    background: np.ndarray | None
    path: list[Pose] = field(default_factory=list)
    views: list[np.ndarray] = field(default_factory=list)

    def map_picture(self, coverage: Coverage, steps: int, height: int, width: int) -> np.ndarray:
        """[height, width, 3]: after so many steps."""
        rows, columns = self.map.navigable.shape
        scale = min(height / rows, width / columns) / self.map.cell
        path = self.path[: steps + 1]
        picture = top_down(self.map, coverage.revealed, path, background=self.background, pixels_per_metre=scale)
        return fitted(picture, height, width)


class HabitatAlbum:
    """See `envs.family.Album`. What was revealed when is worked out again from the path: that takes no memory."""

    steps_a_frame = 4
    colours = PATH_COLOURS
    has_more_colours = True

    def __init__(self) -> None:
        self._walks: list[_Walk] = []
        self._moments = 0

    def add(self, observation: dict[str, np.ndarray], env: HabitatEnv) -> str:
        """Keep view and position."""
        path = env.path
        if len(path) == 1:
            self._walks.append(_Walk(self._moments, env.map, env.from_above()))
        self._walks[-1].path.append(path[-1])
        self._walks[-1].views.append(observation["rgb"])
        self._moments += 1
        return f"coverage {env.coverage:.0%}"

    def pictures(self, lines: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """View, map and line."""
        for walk in self._walks:
            coverage, looked = Coverage(walk.map), 0
            for number, line in lines:
                step = number - walk.first
                if not 0 <= step < len(walk.path):
                    continue
                for pose in walk.path[looked : step + 1]:
                    coverage.look(pose)
                looked = step + 1
                seen = walk.map_picture(coverage, step, *_MAP_PIXELS)
                yield captioned(side_by_side([walk.views[step], seen], _VIEW_PIXELS), line)

    def summary(self, line: str) -> np.ndarray:
        """The whole way on the map, and a strip of views along it."""
        walk = self._walks[-1]
        coverage, last = Coverage(walk.map), len(walk.path) - 1
        for pose in walk.path:
            coverage.look(pose)
        steps = [round(last * number / (_STRIP_VIEWS - 1)) for number in range(_STRIP_VIEWS)]
        strip = side_by_side([labelled(walk.views[step], f"step {step}", _STRIP_PIXELS) for step in steps])
        seen = walk.map_picture(coverage, last, _LARGE_MAP_HEIGHT, strip.shape[1])
        return captioned(stacked([seen, strip]), line)

    def text(self, moment: int, width: int, colour: bool) -> list[str]:
        """Nothing: letters do not show a house."""
        return []
