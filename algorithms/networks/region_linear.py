"""A linear layer over maps that differ from a blank map only in regions.

With x the features of a map, x⁰ those of the blank map, and R the region in which they differ,
W x = W x⁰ + W_R (x − x⁰)_R. The first term is the same for all maps; the second needs only the columns R of W. Likewise
the gradient outside R is an outer product, dW = (Σ dy) x⁰ᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bonuslab.algorithms.networks.regions import Region


def region_linear(
    weight: Tensor,
    bias: Tensor,
    regions: Sequence[Region],
    differences: Sequence[Tensor],
    blank: Tensor,
    blank_product: Tensor | None,
    place: Tensor,
    others: Tensor,
) -> Tensor:
    """[B, out]: `bias + weight @ [map; others]` for each of B states.

    `differences[r]` [n, h, w, c] is (x − x⁰) in region r of the n maps it covers, `blank` [H, W, c] is x⁰, `place` [B]
    is the map of each state, `others` [B, k] are its remaining inputs, and `blank_product` is W x⁰ if known.
    """
    return _RegionLinear.apply(weight, bias, blank, blank_product, place, others, list(regions), *differences)


class _RegionLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        bias: Tensor,
        blank: Tensor,
        blank_product: Tensor | None,
        place: Tensor,
        others: Tensor,
        regions: list[Region],
        *differences: Tensor,
    ) -> Tensor:
        map_size = blank.numel()
        if blank_product is None:
            blank_product = weight[:, :map_size] @ blank.flatten()
        of_maps = blank_product.repeat(sum(len(region.maps) for region in regions), 1)  # [U, out]
        for region, difference in zip(regions, differences, strict=True):
            product = weight.new_zeros(len(difference), len(weight))
            for row, columns in _rows(region, blank):
                product.addmm_(difference[:, row].flatten(1), weight[:, columns].t())
            of_maps[torch.from_numpy(region.maps)] += product
        ctx.save_for_backward(weight, blank, place, others, *differences)
        ctx.regions = regions
        return torch.addmm(bias, others, weight[:, map_size:].t()).add_(of_maps[place])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        weight, blank, place, others, *differences = ctx.saved_tensors
        regions: list[Region] = ctx.regions
        map_size = blank.numel()
        total = d_out.sum(0)
        d_weight = torch.empty_like(weight)
        torch.outer(total, blank.flatten(), out=d_weight[:, :map_size])
        torch.mm(d_out.t(), others, out=d_weight[:, map_size:])
        d_blank = (total @ weight[:, :map_size]).view_as(blank)
        num_maps = sum(len(region.maps) for region in regions)
        d_maps = d_out.new_zeros(num_maps, d_out.shape[1]).index_add_(0, place, d_out)
        d_differences = []
        for region, difference in zip(regions, differences, strict=True):
            d_product = d_maps[torch.from_numpy(region.maps)]
            d_difference = torch.empty_like(difference)
            for row, columns in _rows(region, blank):
                d_difference[:, row] = (d_product @ weight[:, columns]).view_as(d_difference[:, row])
                d_weight[:, columns].addmm_(d_product.t(), difference[:, row].flatten(1))
            d_differences.append(d_difference)
        d_others = d_out @ weight[:, map_size:]
        return d_weight, total, d_blank, None, None, d_others, None, *d_differences


def _rows(region: Region, blank: Tensor) -> list[tuple[int, slice]]:
    """Each row of the region and the contiguous columns of the weight for it."""
    _, width, channels = blank.shape
    return [
        (row, slice((y * width + region.left) * channels, (y * width + region.right) * channels))
        for row, y in enumerate(range(region.top, region.bottom))
    ]
