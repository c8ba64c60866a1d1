"""Deduplicate a batch: most messages are blank, and bumping into a wall leaves the map unchanged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bonuslab.algorithms.networks.kernels.distinct import distinct, renumber

ROUND_TO = 32
"""Larger numbers of distinct rows are rounded up to a multiple of this."""
_WORD = 8  # bytes


def per_distinct(trunk: Callable[[Tensor], Tensor], rows: Tensor, fewest: int = 2) -> Tensor:
    """`trunk(rows)` [B, d] for rows [B, ...], computed once for equal rows; batches below `fewest` are not compared.

    The batch is padded with repeated rows so that its sizes recur: oneDNN compiles kernels for each new size and caches
    a thousand of them, which costs time and fragments the heap.
    """
    if len(rows) < fewest:
        return trunk(rows)
    example, place = distinct_rows(rows.flatten(1))
    if len(example) > ROUND_TO:
        example = torch.cat([example, example[: -len(example) % ROUND_TO]])
    return functional.embedding(place, trunk(rows[example]))


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Indices [U] of one example of each distinct row of `rows` [B, k], and the place [B] of each row among them.

    `rows[example][place]` equals `rows`, bit for bit. Sorting whole rows is slow, so on other devices than the CPU they
    are compared by a 64-bit hash; if two different rows ever collide, which the final comparison detects, all count as
    distinct.
    """
    words = rows
    if rows.is_floating_point():
        words = rows.detach().contiguous().view(torch.int32 if rows.element_size() == 4 else torch.int64)
    elif rows.dtype == torch.uint8 and rows.shape[1] % _WORD == 0:
        words = rows.contiguous().view(torch.int64)
    factors = multipliers(words.shape[1], rows.device)
    if rows.device.type == "cpu":
        example, place = np.empty((2, len(rows)), np.int64)
        count = distinct(words.numpy(), factors.numpy(), example, place)
        return torch.from_numpy(example[:count]), torch.from_numpy(place)
    hashes = (words * factors).sum(1)
    values, place = torch.unique(hashes, return_inverse=True)
    everyone = torch.arange(len(rows), device=rows.device)
    example = torch.full_like(values, len(rows)).scatter_reduce_(0, place, everyone, "amin")
    if not torch.equal(rows[example][place], rows):
        return everyone, everyone
    return example, place


def used_ids(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The ids below `size` that occur [U], and the place of each id among them, in the shape of `ids`."""
    if ids.device.type != "cpu":
        return torch.unique(ids, return_inverse=True)
    place = np.empty(ids.shape, np.int64)
    used = renumber(ids.flatten().numpy(), size, place.reshape(-1))
    return torch.from_numpy(used), torch.from_numpy(place)


_MULTIPLIERS: dict[tuple[int, torch.device], Tensor] = {}


def multipliers(count: int, device: torch.device) -> Tensor:
    """`count` fixed odd 64-bit integers."""
    if (count, device) not in _MULTIPLIERS:
        random = torch.randint(-(2**62), 2**62, (count,), generator=torch.Generator().manual_seed(count))
        _MULTIPLIERS[count, device] = (random * 2 + 1).to(device)
    return _MULTIPLIERS[count, device]
