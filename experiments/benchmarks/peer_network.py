"""The `laptop` preset's network in PyTorch's own modules, for the peers: the same weights, the same function.

Without our compiled kernels and without telling distinct states apart. Crops, stats and trigrams can be prepared once
and stored.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.lstm import ResettingLSTM
from bonuslab.algorithms.networks.small import _CONDITION, MESSAGE_BUCKETS, SmallEncoder

CROP, HIDDEN, CORE = 11, 128, 64
"""Those of `tiny`."""


class PlainEncoder(SmallEncoder):
    """The `tiny` encoder, every row by itself."""

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__(observation_space, CROP, HIDDEN)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:  # type: ignore[override]
        """[B, d]."""
        return self.encode_rows(self.prepare_rows(observations))

    def prepare_rows(self, observations: dict[str, Tensor]) -> dict[str, Tensor]:
        """What needs no weights: kinds of glyphs [B, crop, crop], stats [B, 25], buckets of trigrams [B, 254]."""
        glyphs, blstats, letters = (observations[key] for key in ("glyphs", "blstats", "message"))
        crops = crop_around_agent(glyphs, blstats, self.crop, outside=self._no_glyph)
        numbers = blstats[:, self._column].clamp(-1000, 1000) * self._scale
        bits = (blstats[:, _CONDITION, None] >> self._bit) & 1
        letters = letters.long()
        triples = (letters[:, :-2] * 131 + letters[:, 1:-1]) * 131 + letters[:, 2:]
        buckets = 1 + (triples * 2654435761 >> 12) % (MESSAGE_BUCKETS - 1)
        return {
            "kinds": self._kind[crops.long()].int(),
            "stats": torch.cat([numbers, bits.to(numbers.dtype)], dim=1),
            "trigrams": buckets.masked_fill(letters[:, 2:] == 0, 0).int(),  # the bucket 0 is empty
        }

    def encode_rows(self, rows: dict[str, Tensor]) -> Tensor:
        """[B, d]."""
        longest = int((rows["trigrams"] != 0).any(0).sum().clamp(min=1))  # most of a message is empty
        parts = [
            self.map(self.glyph_embedding(rows["kinds"]).permute(0, 3, 1, 2)),
            self.blstats(rows["stats"]),
            self.message(rows["trigrams"][:, :longest]),
        ]
        return self.hidden(torch.cat(parts, dim=1))


class PlainPolicy(nn.Module):
    """Encoder, `nn.LSTM` and heads, with the names of `PolicyNetwork`."""

    def __init__(self, observation_space: gym.spaces.Dict, num_actions: int) -> None:
        super().__init__()
        self.encoder = PlainEncoder(observation_space)
        self.core = ResettingLSTM(HIDDEN, CORE)
        self.policy_head = nn.Linear(CORE, num_actions)
        self.value_head = nn.Linear(CORE, 1)

    def initial_state(self, num_envs: int) -> tuple[Tensor, Tensor]:
        """Zeros [1, N, hidden], twice."""
        return self.core.initial_state(num_envs, self.policy_head.weight)

    def forward(self, rows: dict[str, Tensor], first: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        """Logits [T, N, A], values [T, N] and the last state from prepared rows [T, N, ...]."""
        features = self.encoder.encode_rows({key: each.flatten(0, 1) for key, each in rows.items()})
        core, state = self.core.forward_segments(features.view(*first.shape, -1), first, state)
        return self.policy_head(core), self.value_head(core).squeeze(-1), state
