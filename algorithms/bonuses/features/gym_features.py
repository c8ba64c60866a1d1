"""What can be counted in Gymnasium environments: the agent's cell where it is known, and down-sampled images."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.bonuses.features.state_features import Array, Observations, state_feature
from bonuslab.algorithms.networks.cnn import image_layout, images_and_others

IMAGE_HEIGHT, IMAGE_WIDTH, SHADES = 8, 11, 8
"""Of the cells of Go-Explore (Ecoffet et al., 2021)."""
_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)


@state_feature("position", "agent_position")
@state_feature("agent_position", "agent_position")
def agent_position(observations: Observations) -> Array:
    """The cell the agent is in (MiniGrid)."""
    return observations["agent_position"]


@state_feature("pixels", check=images_and_others)
def pixels(observations: Observations) -> Array:
    """Every image in grey, 11 × 8 with 8 shades, as in Go-Explore; of stacked frames only the newest."""
    found = []
    for _, rows in sorted(observations.items()):
        layout = image_layout(rows.shape[1:])
        if layout is not None and (rows.dtype == np.uint8 or rows.dtype.kind in "fb"):
            found.append(down_sampled(rows, *layout).reshape(len(rows), -1))
    return np.concatenate(found, axis=1)


def down_sampled(rows: Array, channels: int, height: int, width: int, channels_last: bool) -> Array:
    """[B, at most 8, at most 11] uint8 from 0 to 7: means of grey areas. Images of floats range from 0 to 1."""
    images = rows if channels_last else np.moveaxis(rows.reshape(-1, channels, height, width), 1, 3)
    grey = images.astype(np.float32) @ _LUMINANCE if channels == 3 else images[..., -1].astype(np.float32)
    for axis, size, wanted in ((1, height, IMAGE_HEIGHT), (2, width, IMAGE_WIDTH)):
        borders = np.arange(min(wanted, size)) * size // min(wanted, size)
        areas = np.diff(np.append(borders, size)).astype(np.float32)
        grey = np.add.reduceat(grey, borders, axis) / (areas[:, None] if axis == 1 else areas)
    brightest = 255.0 if rows.dtype == np.uint8 else 1.0
    return (grey * (SHADES / brightest)).clip(0, SHADES - 1).astype(np.uint8)
