"""Two convolutions over a map of embedded glyphs, as a table: the first sees few different glyphs, never a picture.

A glyph contributes to a 3 × 3 convolution only through nine products of its embedding with the kernel. They are
computed once for each glyph that occurs, and the convolution is a sum of table rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from bonuslab.algorithms.networks.kernels import glyphs as kernels
from bonuslab.algorithms.networks.kernels.distinct import renumber


def glyph_convolutions(kinds: Tensor, embedding: nn.Embedding, layers: nn.Sequential) -> Tensor:
    """[B, d]: `layers(embedding(kinds))` for kinds [B, S, S]; two convolutions 3 × 3 of stride 2, each with a ReLU."""
    first, second = layers[0], layers[2]
    assert isinstance(first, nn.Conv2d)
    assert isinstance(second, nn.Conv2d)
    if kinds.device.type != "cpu" or embedding.weight.dtype != torch.float32:
        return plain_glyph_convolutions(kinds, embedding, layers)
    patches = _FirstConvolution.apply(kinds, embedding.weight, first.weight, first.bias)  # [B, Q, Q, 9 C]
    weight = second.weight.permute(0, 2, 3, 1).flatten(1)  # [C', 9 C]
    maps = functional.linear(patches.flatten(0, 2), weight, second.bias).relu()  # [B Q Q, C']
    return maps.view(len(kinds), -1, len(weight)).transpose(1, 2).flatten(1)


def plain_glyph_convolutions(kinds: Tensor, embedding: nn.Embedding, layers: nn.Sequential) -> Tensor:
    """The definition."""
    return layers(embedding(kinds.long()).permute(0, 3, 1, 2))


class _FirstConvolution(torch.autograd.Function):
    """ReLU(first(embedding(kinds))), as the patches that the second convolution multiplies."""

    @staticmethod
    def forward(ctx: Any, kinds: Tensor, embedding: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        C, d = weight.shape[:2]
        B, S = kinds.shape[:2]
        P = (S - 3) // 2 + 1
        Q = (P - 3) // 2 + 1
        index = np.empty((B, S, S), np.uint16)
        found = torch.from_numpy(renumber(kinds.flatten().numpy(), len(embedding), index.reshape(-1)))
        embedded, flat = embedding[found], weight.permute(1, 2, 3, 0).reshape(d, 9 * C)
        out, patches = np.empty((B, P, P, C), np.float32), np.empty((B, Q, Q, 3, 3 * C), np.float32)
        kernels.convolve(index, (embedded @ flat).view(-1, 9, C).numpy(), bias.detach().numpy(), out)
        kernels.patches(out, patches)
        ctx.save_for_backward(found, embedding, embedded, flat)
        ctx.layer = index, out
        return torch.from_numpy(patches).flatten(3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_patches: Tensor) -> tuple[Tensor | None, ...]:
        found, embedding, embedded, flat = ctx.saved_tensors
        index, out = ctx.layer
        C, d = out.shape[3], len(flat)
        d_out = np.zeros_like(out)
        kernels.patches_backward(d_patches.contiguous().unflatten(3, (3, 3 * C)).numpy(), d_out)
        d_table, d_bias = torch.zeros(len(found), 9, C), torch.zeros(C)
        kernels.convolve_backward(index, out, d_out, d_table.numpy(), d_bias.numpy())
        d_table = d_table.view(-1, 9 * C)
        d_embedding = torch.zeros_like(embedding)
        d_embedding[found] = d_table @ flat.t()
        d_weight = (embedded.t() @ d_table).view(d, 3, 3, C).permute(3, 0, 1, 2)
        return None, d_embedding, d_weight.contiguous(), d_bias
