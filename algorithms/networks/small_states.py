"""States as the `small` networks read them: each distinct state, crop, patch of nine cells and message once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.networks.distinct import distinct_rows, multipliers, used_ids
from bonuslab.algorithms.networks.encoder import States
from bonuslab.algorithms.networks.kernels.observations import distinct_windows, states_of_envs


@dataclass(frozen=True)
class SmallStates(States):
    """Distinct states of T + 1 rows of N envs, and the distinct parts that they consist of."""

    place: Tensor
    """[T + 1, N]: the state that each row shows."""
    stats: Tensor
    """[U, 25]."""
    crop: Tensor
    """[U]: the crop of each state."""
    message: Tensor
    """[U]: the message of each state."""
    crops: Tensor
    """[crops, places, 9]: the patches under each window of the second convolution."""
    patches: Tensor
    """[K, 9]: the glyphs under the first convolution's window, where they differ."""
    glyphs: Tensor
    """[V]: kinds of glyphs."""
    shares: Tensor
    """[M, buckets]: trigrams of the messages."""

    def of_envs(self, columns: Tensor) -> SmallStates:
        """Those of some of the envs; what only others see is left out, but for glyphs, which are few."""
        if columns.device.type == "cpu":
            read = (self.place, self.stats, self.crop, self.message, self.crops, self.patches, self.shares)
            found = states_of_envs(columns.numpy(), *(part.numpy() for part in read))
            place, stats, crop, message, crops, patches, shares = map(torch.from_numpy, found)
            return SmallStates(place, stats, crop, message, crops, patches, self.glyphs, shares)
        shown, place = used_ids(self.place[:, columns], len(self.stats))
        used_crops, crop = used_ids(self.crop[shown], len(self.crops))
        used_messages, message = used_ids(self.message[shown], len(self.shares))
        used_patches, crops = used_ids(self.crops[used_crops], len(self.patches))
        patches, shares = self.patches[used_patches], self.shares[used_messages]
        return SmallStates(place, self.stats[shown], crop, message, crops, patches, self.glyphs, shares)


def find_patches(crops: Tensor, num_kinds: int) -> tuple[Tensor, Tensor, Tensor]:
    """`SmallStates`' crops, patches and glyphs for kinds of glyphs [B, S, S]."""
    P = (crops.shape[1] - 3) // 2 + 1
    if crops.device.type == "cpu":
        found, place = np.empty((crops.shape[0] * P * P + 1, 9), np.int16), np.empty((len(crops), P, P), np.int64)
        count = distinct_windows(crops.numpy(), multipliers(9, crops.device).numpy(), found, place)
        windows, places = torch.from_numpy(found[:count]), torch.from_numpy(place)
    else:
        example, flat = distinct_rows(_windows(crops).flatten(0, 2))
        windows, places = _windows(crops).flatten(0, 2)[example], flat.view(-1, P, P)
    glyphs, patches = used_ids(windows, num_kinds)
    return _windows(places).flatten(1, 2), patches, glyphs


def _windows(grid: Tensor) -> Tensor:
    """[B, P, P, 9]: what 3 × 3 windows at every second place of a grid [B, S, S] show."""
    return grid.unfold(1, 3, 2).unfold(2, 3, 2).flatten(3)
