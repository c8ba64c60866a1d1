"""The `mlp` family: all observations as one vector, through two layers of 256 (RLlib's default)."""

from __future__ import annotations

from collections.abc import Mapping

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.registry import register_family
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym.observations import POSITION_KEY

HIDDEN = 256
LARGEST_BOUND = 1e6
"""Bounds beyond it say nothing about the values to expect."""


class FlatInputs(nn.Module):
    """Observations [B, ...] of any shape, joined to [B, size], each number of about the size of 1.

    Bounded numbers are scaled to [-1, 1], unbounded ones are x ↦ sign(x) ln(1 + |x|), which leaves small numbers alone
    (symlog, Hafner et al. 2023), and categories are one-hot.
    """

    def __init__(self, spaces: Mapping[str, gym.Space]) -> None:
        super().__init__()
        self._keys = sorted(spaces)
        self.parts = nn.ModuleList([_part(key, spaces[key]) for key in self._keys])
        self.size = sum(part.size for part in self.parts)  # type: ignore[misc]

    def forward(self, observations: Observations) -> Tensor:
        """[B, size]."""
        return torch.cat([part(observations[key]) for key, part in zip(self._keys, self.parts, strict=True)], dim=1)


class _Numbers(nn.Module):
    _centre: Tensor
    _scale: Tensor
    _is_bounded: Tensor

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        super().__init__()
        low, high = (np.asarray(bound, np.float64).ravel() for bound in (low, high))
        bounded = (low > -LARGEST_BOUND) & (high < LARGEST_BOUND)
        low, high = np.where(bounded, low, -1), np.where(bounded, high, 1)
        half = np.where(high > low, (high - low) / 2, 1)
        self.size = len(low)
        self.register_buffer("_centre", torch.tensor((low + high) / 2, dtype=torch.float32), persistent=False)
        self.register_buffer("_scale", torch.tensor(1 / half, dtype=torch.float32), persistent=False)
        self.register_buffer("_is_bounded", torch.tensor(bounded), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        """[B, size]."""
        x = rows.reshape(len(rows), -1).to(self._scale.dtype)
        return torch.where(self._is_bounded, (x - self._centre) * self._scale, x.sign() * x.abs().log1p())


class _Categories(nn.Module):
    _offset: Tensor
    _one: Tensor

    def __init__(self, start: np.ndarray, counts: np.ndarray) -> None:
        super().__init__()
        counts, start = np.ravel(counts), np.ravel(start)
        self.size = int(counts.sum())
        self.register_buffer("_offset", torch.tensor(np.cumsum(counts) - counts - start), persistent=False)
        self.register_buffer("_one", torch.ones(()), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        """[B, size]: a one in the place of each category."""
        places = rows.reshape(len(rows), -1).long() + self._offset
        return self._one.new_zeros(len(rows), self.size).scatter_(1, places, 1.0)


def _part(key: str, space: gym.Space) -> nn.Module:
    match space:
        case gym.spaces.Box():
            return _Numbers(space.low, space.high)
        case gym.spaces.MultiBinary():
            return _Numbers(np.zeros(space.shape), np.ones(space.shape))
        case gym.spaces.MultiDiscrete():
            return _Categories(space.start, space.nvec)
        case gym.spaces.Discrete():
            return _Categories(np.array(space.start), np.array(space.n))
    raise InvalidInput(f"observation {key!r} is a {type(space).__name__}, which networks cannot read")


def visible(observation_space: gym.spaces.Dict) -> dict[str, gym.Space]:
    """What networks look at: all but the agent's position, which is there for counts alone."""
    spaces = {key: space for key, space in observation_space.spaces.items() if key != POSITION_KEY}
    if not spaces:
        raise InvalidInput("this environment has no observations besides the agent's position")
    return spaces


@register_family("mlp", core_size=128, check=lambda space: FlatInputs(visible(space)))
class MLPEncoder(Encoder):
    """Two fully-connected layers on all observations as one vector."""

    output_size = HIDDEN

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.inputs = FlatInputs(visible(observation_space))
        self.layers = nn.Sequential(
            nn.Linear(self.inputs.size, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        )

    def forward(self, observations: Observations) -> Tensor:
        """[B, 256]."""
        return self.layers(self.inputs(observations))
