"""The part of the map to compute: the bounding box of what is drawn, plus the receptive field of the convolutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_QUANTUM = 4
"""Boxes are compared after rounding to multiples of this."""
_MOST_BOXES = 48
_SHARED_MAPS = 4
_OVERHEAD_CELLS = 800
"""Cost of a region in cells of one map: reading its weights costs about as much as 4 maps, a call about 800 cells."""


@dataclass(frozen=True)
class Region:
    """A rectangle of cells, ends exclusive, and the maps of a batch that differ from the blank map only inside it."""

    top: int
    bottom: int
    left: int
    right: int
    maps: np.ndarray
    """[n]: indices into the batch."""

    @property
    def rows(self) -> slice:
        """Its rows."""
        return slice(self.top, self.bottom)

    @property
    def columns(self) -> slice:
        """Its columns."""
        return slice(self.left, self.right)


def cover(drawn: np.ndarray, reach: int) -> list[Region]:
    """Regions that together contain every map of `drawn` [U, h, w] (bool) once, with a margin of `reach` cells.

    Few large regions waste cells, many small ones waste calls. Starting from one region per distinct box, the pair
    whose union saves most is merged while that saves anything.
    """
    boxes = _boxes(drawn, reach)  # [U, 4]
    quantum = _QUANTUM
    while True:
        rounded = np.stack([boxes[:, :2] // quantum * quantum, -(-boxes[:, 2:] // quantum) * quantum], axis=1)
        kinds, kind = np.unique(rounded.reshape(-1, 4), axis=0, return_inverse=True)
        if len(kinds) <= _MOST_BOXES:
            break
        quantum *= 2
    counts = np.bincount(kind, minlength=len(kinds))
    regions = []
    for members in _merge(kinds, counts, limits=np.array(drawn.shape[1:])):
        maps = np.flatnonzero(np.isin(kind, members))
        top, bottom = _even(boxes[maps, 0].min(), boxes[maps, 2].max(), drawn.shape[1])
        left, right = _even(boxes[maps, 1].min(), boxes[maps, 3].max(), drawn.shape[2])
        regions.append(Region(top, bottom, left, right, maps))
    return regions


def _boxes(drawn: np.ndarray, reach: int) -> np.ndarray:
    """[U, 4]: top, left, bottom, right of what is drawn, with a margin of `reach` cells."""
    edges = []
    for axis, size in ((2, drawn.shape[1]), (1, drawn.shape[2])):
        used = drawn.any(axis=axis)  # [U, size]
        begin = used.argmax(axis=1)
        end = size - used[:, ::-1].argmax(axis=1)
        end = np.where(used.any(axis=1), end, 1)  # a blank map: any corner will do
        edges.append((np.maximum(begin - reach, 0), np.minimum(end + reach, size)))
    (top, bottom), (left, right) = edges
    return np.stack([top, left, bottom, right], axis=1)


def _even(begin: int, end: int, size: int) -> tuple[int, int]:
    """The interval with even length if the map allows: oneDNN compiles a convolution for every new shape."""
    if (end - begin) % 2:
        begin, end = (begin - 1, end) if begin > 0 else (begin, min(end + 1, size))
    return int(begin), int(end)


def _merge(boxes: np.ndarray, counts: np.ndarray, limits: np.ndarray) -> list[list[int]]:
    """Indices of the boxes [k, 4] that are merged, pair by pair while that lowers the cost."""

    def cost(boxes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        size = np.minimum(boxes[..., 2:], limits) - boxes[..., :2]
        return (counts + _SHARED_MAPS) * size.prod(axis=-1) + _OVERHEAD_CELLS

    members = [[number] for number in range(len(boxes))]
    while len(members) > 1:
        first, second = np.triu_indices(len(members), k=1)
        unions = np.concatenate(
            [np.minimum(boxes[first, :2], boxes[second, :2]), np.maximum(boxes[first, 2:], boxes[second, 2:])], axis=1
        )
        single = cost(boxes, counts)
        saved = single[first] + single[second] - cost(unions, counts[first] + counts[second])
        best = int(saved.argmax())
        if saved[best] < 0:
            break
        kept, gone = first[best], second[best]
        boxes[kept] = unions[best]
        counts[kept] += counts[gone]
        members[kept] += members.pop(gone)
        boxes, counts = np.delete(boxes, gone, axis=0), np.delete(counts, gone)
    return members
