"""A batch without repetitions: most messages are blank, and a bump into a wall leaves the map as it was."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

ROUND_TO = 32
"""Where there are more distinct rows, their number is rounded up to a multiple of this."""
_WORD = 8  # bytes


def per_distinct(trunk: Callable[[Tensor], Tensor], rows: Tensor, fewest: int = 2) -> Tensor:
    """`trunk(rows)` [B, d] for rows [B, ...], computed once for equal rows; fewer than `fewest` are not compared.

    The trunk sees some rows twice, so that its batch sizes repeat. For each new size oneDNN compiles new programs and
    keeps a thousand of them; sizes that never repeat cost that time and scatter the programs over the heap, which
    cannot be used again between them and grows.
    """
    if len(rows) < fewest:
        return trunk(rows)
    example, place = distinct_rows(rows.flatten(1))
    if len(example) > ROUND_TO:
        example = torch.cat([example, example[: -len(example) % ROUND_TO]])
    return functional.embedding(place, trunk(rows[example]))


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Indices [U] of one example of each distinct row of `rows` [B, k], and for each row its place [B] among them.

    `rows[example][place]` equals `rows`. Sorting whole rows is slow, so they are told apart by a 64-bit hash; should
    two different rows ever share a hash, which the comparison at the end shows, every row counts as distinct.
    """
    if rows.dtype == torch.uint8 and rows.shape[1] % _WORD == 0:
        words = rows.contiguous().view(torch.int64)
    else:
        words = rows.long()
    hashes = (words * _multipliers(words.shape[1], rows.device)).sum(1)
    values, place = torch.unique(hashes, return_inverse=True)
    everyone = torch.arange(len(rows), device=rows.device)
    example = torch.full_like(values, len(rows)).scatter_reduce_(0, place, everyone, "amin")
    if not torch.equal(rows[example][place], rows):
        return everyone, everyone
    return example, place


_MULTIPLIERS: dict[tuple[int, torch.device], Tensor] = {}


def _multipliers(count: int, device: torch.device) -> Tensor:
    """`count` odd 64-bit numbers, always the same."""
    if (count, device) not in _MULTIPLIERS:
        random = torch.randint(-(2**62), 2**62, (count,), generator=torch.Generator().manual_seed(count))
        _MULTIPLIERS[count, device] = (random * 2 + 1).to(device)
    return _MULTIPLIERS[count, device]
