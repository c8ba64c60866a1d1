"""The `small` networks up to their LSTM: two convolutions, scaled stats and the message, joined by a hidden layer.

A row of the input contributes to a 3 × 3 convolution only through its nine products with the kernel. They are computed
once for each distinct row, and the convolution is a sum of nine of them. On the CPU all of it is one compiled function
with a gradient written out; PyTorch's small steps would cost more than their arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from bonuslab.algorithms.networks.compiled import arrays, is_compiled
from bonuslab.algorithms.networks.kernels import trunk as kernels
from bonuslab.algorithms.networks.kernels.gemm import gemm
from bonuslab.algorithms.networks.small_states import SmallStates

T = TypeVar("T")


class Weights(NamedTuple, Generic[T]):
    """The trunk's parameters, as tensors or arrays."""

    glyphs: T
    first: T
    first_bias: T
    second: T
    second_bias: T
    stats: T
    stats_bias: T
    words: T
    hidden: T
    hidden_bias: T


def trunk(states: SmallStates, weights: Weights[Tensor]) -> Tensor:
    """Features [U, d] of the distinct states."""
    return _Compiled.apply(states, *weights) if is_compiled(weights.glyphs) else plain_trunk(states, weights)


def plain_trunk(states: SmallStates, weights: Weights[Tensor]) -> Tensor:
    """The definition."""
    seen = _convolve(weights.glyphs[states.glyphs], states.patches, weights.first, weights.first_bias)  # [K, C]
    maps = _convolve(seen, states.crops, weights.second, weights.second_bias)  # [crops, places, C]
    stats = functional.linear(states.stats, weights.stats, weights.stats_bias).relu()
    words = states.shares @ weights.words
    maps = maps.transpose(1, 2).flatten(1)
    parts = [functional.embedding(states.crop, maps), stats, functional.embedding(states.message, words)]
    return functional.linear(torch.cat(parts, 1), weights.hidden, weights.hidden_bias).relu()


def _convolve(rows: Tensor, nine: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[..., C]: ReLU of the convolution of rows [R, d] over windows nine [..., 9]."""
    table = (rows @ _flat(weight)).view(len(rows), 9, -1)
    return (bias + table[nine, torch.arange(9, device=nine.device)].sum(-2)).relu()


def _flat(weight: Tensor) -> Tensor:
    """[d, 9 C]: the kernel [C, d, 3, 3] of a convolution."""
    return weight.permute(1, 2, 3, 0).flatten(1)


def _kernel(flat: Tensor) -> Tensor:
    """The inverse of `_flat`."""
    return flat.view(len(flat), 3, 3, -1).permute(3, 0, 1, 2).contiguous()


def as_read(states: SmallStates) -> list[np.ndarray]:
    """What the compiled trunk reads of states, besides the embeddings of their glyphs."""
    crops = states.crops.flatten(0, 1)
    return arrays(states.patches, crops, states.crop, states.message, states.stats, states.shares)


def as_weights(weights: Weights[Tensor]) -> Weights[np.ndarray]:
    """The weights as the compiled trunk reads them."""
    flat = weights._replace(first=_flat(weights.first), second=_flat(weights.second))
    return Weights._make(arrays(*flat))


def as_gradients(found: Iterable[np.ndarray], glyphs: Tensor, embedding: Tensor) -> Weights[Tensor]:
    """What the compiled trunk found, in the form of the parameters; the gradient of `glyphs`' embeddings is theirs."""
    gradients = Weights[Tensor]._make(map(torch.from_numpy, found))
    d_glyphs = torch.zeros_like(embedding)
    d_glyphs[glyphs] = gradients.glyphs
    return gradients._replace(glyphs=d_glyphs, first=_kernel(gradients.first), second=_kernel(gradients.second))


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: SmallStates, *parameters: Tensor) -> Tensor:
        weights = Weights[Tensor]._make(parameters)
        ctx.read = arrays(weights.glyphs[states.glyphs]) + as_read(states)
        ctx.weights = as_weights(weights)
        ctx.features, *ctx.steps = kernels.forward(gemm(), *ctx.read, *ctx.weights[1:])
        ctx.save_for_backward(states.glyphs, weights.glyphs)
        return torch.from_numpy(ctx.features)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_features: Tensor) -> tuple[Tensor | None, ...]:
        glyphs, embedding = ctx.saved_tensors
        w = ctx.weights
        read = (*arrays(d_features), ctx.features, *ctx.steps, *ctx.read, w.first, w.second, w.stats, w.words, w.hidden)
        return None, *as_gradients(kernels.backward(gemm(), *read), glyphs, embedding)
