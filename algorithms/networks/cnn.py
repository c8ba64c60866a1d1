"""The `cnn` family: images of any size and name through convolutions, all other observations through one layer.

Small grids such as MiniGrid's 7 × 7 × 3 hold symbols, not brightness: each value of each channel has an embedding, and
a cell is the sum of those of its channels (the "bag of words" of BabyAI 1.1, Hui et al. 2020). All sizes are ours.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.mlp import FlatInputs, visible
from bonuslab.algorithms.networks.registry import register_family
from bonuslab.envs.errors import InvalidInput

HIDDEN = 256
OTHER_SIZE = 64
SYMBOL_SIZE = 16
LARGEST_GRID = 25
"""Cells in either direction of a grid of symbols: the largest of MiniGrid's. Larger uint8 images are photographs."""
LARGE_IMAGE = 36
"""Pixels in either direction from which convolutions take large steps."""
_SMALLEST, _SMALLEST_GREY = 3, 16
_BYTE = 256


def image_layout(shape: tuple[int, ...]) -> tuple[int, int, int, bool] | None:
    """(channels, height, width, channels come last) of an image, None for other shapes.

    Images are [H, W, C], [C, H, W] (C is smaller than the sides) or grey [H, W] of at least 16 × 16.
    """
    if len(shape) == 2 and min(shape) >= _SMALLEST_GREY:
        return 1, *shape, False
    if len(shape) != 3 or sorted(shape)[1] < _SMALLEST:
        return None
    last = shape[2] <= shape[0]
    height, width = shape[:2] if last else shape[1:]
    channels = shape[2] if last else shape[0]
    return (channels, height, width, last) if min(height, width) >= _SMALLEST else None


def is_image(space: gym.Space) -> bool:
    """Whether convolutions should look at observations of this space."""
    suits = isinstance(space, gym.spaces.Box) and (space.dtype == np.uint8 or np.dtype(space.dtype).kind in "fb")
    return suits and image_layout(space.shape) is not None  # type: ignore[arg-type]


def images_and_others(observation_space: gym.spaces.Dict) -> tuple[dict[str, gym.spaces.Box], dict[str, gym.Space]]:
    """The images among the observations, and the rest; none of the former is refused."""
    spaces = visible(observation_space)
    images = {key: space for key, space in sorted(spaces.items()) if is_image(space)}
    if not images:
        shown = ", ".join(f"{key} {space.shape}" for key, space in sorted(spaces.items()))
        raise InvalidInput(f"it needs images [H, W, C] or [C, H, W]; this environment has {shown}")
    return images, {key: space for key, space in spaces.items() if key not in images}  # type: ignore[return-value]


class _Image(nn.Module):
    """One image: symbols or scaled pixels, then three convolutions."""

    _first: Tensor

    def __init__(self, space: gym.spaces.Box) -> None:
        super().__init__()
        layout = image_layout(space.shape)
        assert layout is not None
        self._channels, self._height, self._width, self._channels_last = layout
        channels = self._channels
        low, high = float(space.low.min()), float(space.high.max())
        self._low, self._scale = (
            (low, 1 / (high - low)) if np.isfinite([low, high]).all() and high > low else (0.0, 1.0)
        )
        self.symbols: nn.EmbeddingBag | None = None
        if space.dtype == np.uint8 and max(self._height, self._width) <= LARGEST_GRID:
            self.symbols = nn.EmbeddingBag(_BYTE * self._channels, SYMBOL_SIZE, mode="sum")
            self.register_buffer("_first", _BYTE * torch.arange(self._channels), persistent=False)
            channels = SYMBOL_SIZE
        if min(self._height, self._width) >= LARGE_IMAGE:
            sizes = [(16, 8, 4, 0), (32, 4, 2, 0), (32, 3, 1, 0)]
        else:
            sizes = [(16, 3, 1, 1), (32, 3, 2, 1), (32, 3, 2, 1)]
        layers: list[nn.Module] = []
        for maps, kernel, stride, padding in sizes:
            layers += [nn.Conv2d(channels, maps, kernel, stride, padding), nn.ReLU()]
            channels = maps
        self.convolutions = nn.Sequential(*layers, nn.Flatten())
        with torch.no_grad():
            first = SYMBOL_SIZE if self.symbols is not None else self._channels
            self.size = self.convolutions(torch.zeros(1, first, self._height, self._width)).shape[1]

    def forward(self, rows: Tensor) -> Tensor:
        """[B, size]."""
        pixels = rows if self._channels_last else rows.reshape(-1, self._channels, *rows.shape[-2:]).movedim(1, 3)
        if self.symbols is None:
            weight: Tensor = self.convolutions[0].weight  # type: ignore[assignment]
            cells = (pixels.to(weight.dtype) - self._low) * self._scale  # [B, H, W, C]
        else:
            places = (pixels.long() + self._first).reshape(-1, self._channels)
            cells = self.symbols(places).view(len(rows), self._height, self._width, SYMBOL_SIZE)
        return self.convolutions(cells.permute(0, 3, 1, 2))


@register_family("cnn", core_size=128, check=images_and_others)
class CNNEncoder(Encoder):
    """Convolutions for every image and one layer for all other observations, joined by a fully-connected layer."""

    output_size = HIDDEN

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        images, others = images_and_others(observation_space)
        self._keys = list(images)
        self.images = nn.ModuleList([_Image(space) for space in images.values()])
        self.others: nn.Sequential | None = None
        size: int = sum(image.size for image in self.images)  # type: ignore[misc]
        if others:
            inputs = FlatInputs(others)
            self.others = nn.Sequential(inputs, nn.Linear(inputs.size, OTHER_SIZE), nn.ReLU())
            size += OTHER_SIZE
        self.join = nn.Linear(size, HIDDEN)

    def forward(self, observations: Observations) -> Tensor:
        """[B, 256]."""
        parts = [image(observations[key]) for key, image in zip(self._keys, self.images, strict=True)]
        if self.others is not None:
            parts.append(self.others(observations))
        return self.join(torch.cat(parts, dim=1)).relu()
