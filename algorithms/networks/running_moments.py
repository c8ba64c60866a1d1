"""Normalise images by the running mean and variance of their channels, as DD-PPO does.

Source: habitat-baselines, rl/ddppo/policy/running_mean_and_var.py, for the definition; the code is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Sum = Callable[[Tensor], Tensor]
"""The sum of a tensor over all replicas."""
SMALLEST_VARIANCE = 1e-2


def _own(tensor: Tensor) -> Tensor:
    """The sum over a single replica."""
    return tensor


class RunningMoments(nn.Module):
    """(x − mean) / √max(variance, 0.01) per channel, over all images that this network was trained on, of all replicas.

    A pass that computes gradients adds its images to the statistics first; acting and evaluation leave them unchanged.
    """

    count: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(channels, dtype=torch.float64))
        self.register_buffer("variance", torch.zeros(channels, dtype=torch.float64))
        self.sum_over_replicas: Sum = _own

    def forward(self, images: Tensor) -> Tensor:
        """[B, channels, H, W]."""
        if torch.is_grad_enabled():
            self._add(images.detach())
        scale = self.variance.clamp(min=SMALLEST_VARIANCE).rsqrt()
        mean, scale = (part.to(images.dtype)[:, None, None] for part in (self.mean, scale))
        return (images - mean) * scale

    @torch.no_grad()
    def _add(self, images: Tensor) -> None:
        """Merge the moments of a batch of all replicas (Chan et al., 1979), in one exchange."""
        pixels = images.double().transpose(0, 1).flatten(1)  # [channels, B · H · W]
        own = pixels.sum(1)
        mean = own / pixels.shape[1]
        squares = (pixels - mean[:, None]).square().sum(1)
        sizes = pixels.new_tensor([len(images), pixels.shape[1]])
        # Σ n_i m_i² − n m² is what the replicas' means add to the squares: exactly 0 for a single one
        count, number, *_ = joint = self.sum_over_replicas(torch.cat([sizes, own, own * mean, squares]))
        own, between, squares = joint[2:].chunk(3)
        mean = own / number
        variance = (squares + (between - own * mean).clamp(min=0)) / number
        total = self.count + count
        delta = mean - self.mean
        spread = self.count * self.variance + count * variance + delta.square() * self.count * count / total
        self.variance.copy_(spread / total)
        self.mean.add_(delta * count / total)
        self.count.copy_(total)

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles are connected to nothing."""
        return {**self.__dict__, "sum_over_replicas": _own}


def connect(network: nn.Module, sum_over_replicas: Sum) -> None:
    """Share all running moments of a network with its replicas."""
    for part in network.modules():
        if isinstance(part, RunningMoments):
            part.sum_over_replicas = sum_over_replicas
