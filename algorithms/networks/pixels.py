"""What pictures and places become before a network looks at them, whatever the environment calls them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Observations
from bonuslab.envs.errors import InvalidInput

_CHANNELS_LAST = ("rgb", "depth")  # [H, W, channels]
_CHANNELS_FIRST = ("frames",)  # [channels, H, W]
_PLACES = {"gps": 2, "compass": 1}
_PLACE_SIZE = 32
_BLOCK = 16
"""Pictures that a CPU converts at a time, so that what lies between stays in its cache: 2 to 4 times as fast."""


class Pictures(nn.Module):
    """All pictures of an observation as one [B, channels, H, W], each scaled to [0, 1] by its space's bounds."""

    def __init__(self, observation_space: gym.spaces.Dict, smallest: int = 1) -> None:
        """`smallest` is how many pixels the network needs in either direction."""
        super().__init__()
        spaces = observation_space.spaces
        self._keys = [key for key in (*_CHANNELS_LAST, *_CHANNELS_FIRST) if key in spaces]
        if not self._keys:
            raise InvalidInput(
                f"this network looks at pictures ({', '.join((*_CHANNELS_LAST, *_CHANNELS_FIRST))}); "
                f"this environment shows {', '.join(sorted(spaces))}"
            )
        shapes = [_channels_first(key, spaces[key].shape) for key in self._keys]  # type: ignore[arg-type]
        if len({shape[1:] for shape in shapes}) > 1:
            sizes = ", ".join(
                f"{key} {height} × {width}" for key, (_, height, width) in zip(self._keys, shapes, strict=True)
            )
            raise InvalidInput(f"pictures of different sizes cannot be stacked: {sizes}")
        self.channels = sum(shape[0] for shape in shapes)
        self.height, self.width = shapes[0][1:]
        if min(self.height, self.width) < smallest:
            raise InvalidInput(
                f"this network needs pictures of at least {smallest} × {smallest} pixels; "
                f"this environment's are {self.height} × {self.width}"
            )
        self._scales = [1 / float(np.max(spaces[key].high)) for key in self._keys]  # type: ignore[attr-defined]

    def forward(self, observations: Observations, dtype: torch.dtype) -> Tensor:
        """[B, channels, H, W], stored with the channels last, which is what convolutions on a CPU like."""
        rows = [observations[key] if key in _CHANNELS_LAST else observations[key].movedim(1, 3) for key in self._keys]
        count, device = len(rows[0]), rows[0].device
        stacked = torch.empty(count, self.height, self.width, self.channels, dtype=dtype, device=device)
        block = _BLOCK if device.type == "cpu" else max(count, 1)
        for start in range(0, count, block):
            some = slice(start, start + block)
            parts = [picture[some].to(dtype) * scale for picture, scale in zip(rows, self._scales, strict=True)]
            torch.cat(parts, dim=3, out=stacked[some])
        return stacked.permute(0, 3, 1, 2)


class Places(nn.Module):
    """Where the agent is: GPS [2] and compass [1], if there are any, each as 32 numbers (as in DD-PPO)."""

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        present = [key for key in _PLACES if key in observation_space.spaces]
        self.layers = nn.ModuleDict({key: nn.Linear(2, _PLACE_SIZE) for key in present})
        self.size = _PLACE_SIZE * len(present)

    def forward(self, observations: Observations) -> list[Tensor]:
        """[B, 32] of each; the compass enters as cosine and sine, so that a full turn is no turn."""
        parts = []
        for key, layer in self.layers.items():
            rows = observations[key].to(layer.weight.dtype)  # type: ignore[arg-type]
            parts.append(layer(torch.cat([rows.cos(), rows.sin()], 1) if key == "compass" else rows))
        return parts


def _channels_first(key: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[2], shape[0], shape[1]) if key in _CHANNELS_LAST else shape
