"""Crop the map around the agent."""

from __future__ import annotations

import torch
from torch import Tensor


def crop_around_agent(glyphs: Tensor, blstats: Tensor, size: int, outside: int, before: int | None = None) -> Tensor:
    """[B, size, size]: glyphs [B, 21, 79] around the agent, at column blstats[0] and row blstats[1].

    It begins `before` cells above and left of the agent; None: centred. Cells beyond the map's edge are `outside`.
    """
    height, width = glyphs.shape[1:]
    reach = torch.arange(size, device=glyphs.device) - (size // 2 if before is None else before)
    rows = blstats[:, 1, None] + reach  # [B, size]
    columns = blstats[:, 0, None] + reach
    cells = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
    cropped = glyphs.reshape(len(glyphs), -1).gather(1, cells.view(len(glyphs), -1)).view(-1, size, size)
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    return cropped.masked_fill_(~inside, outside)
