"""The `small` family: a network for laptops, about 300,000 parameters including its LSTM.

Comparable to the authors' Sample-Factory port (crop of at most 16 × 16, hidden 256, LSTM 128); the hyperparameters are
ours, chosen for speed.
"""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.distinct import per_distinct
from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.registry import needs_keys, register_family

CROP = 15
HIDDEN = 256
GLYPH_SIZE = 8
MESSAGE_SIZE = 16
BLSTATS_SIZE = 32
MESSAGE_BUCKETS = 512
FEWEST_TO_COMPARE = 200
"""In smaller batches, as in acting, encoding crops is faster than comparing them."""

# NetHack's glyphs for being swallowed: 381 monsters × 8 directions, half of all glyphs. Only the direction is kept.
_SWALLOW_FIRST, _SWALLOW_LAST = 2541, 5588
_DIRECTIONS = 8

# (index in blstats, divisor): position, health, energy, depth, levels, hunger, load and armour. Score and clock are
# left out: they grow without bound and would make every state of an episode new.
_SCALES = {0: 79, 1: 21, 10: 20, 11: 20, 12: 10, 14: 20, 16: 10, 18: 10, 21: 4, 22: 4, 23: 5, 24: 10}
_CONDITION = 25
_CONDITION_BITS = 13  # from "turning to stone" to "riding"; levitation and blindness are among them


@register_family("small", core_size=128, check=needs_keys("glyphs", "blstats", "message"))
class SmallEncoder(Encoder):
    """Crop of the map through two convolutions, scaled blstats, and the message as a bag of character trigrams."""

    output_size = HIDDEN
    _kind: Tensor
    _column: Tensor
    _scale: Tensor
    _bit: Tensor

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self._no_glyph = int(observation_space["glyphs"].high.max())  # type: ignore[attr-defined]
        kinds = torch.arange(self._no_glyph + 1)
        swallowed = (kinds >= _SWALLOW_FIRST) & (kinds <= _SWALLOW_LAST)
        folded = torch.where(swallowed, _SWALLOW_FIRST + (kinds - _SWALLOW_FIRST) % _DIRECTIONS, kinds)
        removed = _SWALLOW_LAST + 1 - _SWALLOW_FIRST - _DIRECTIONS
        folded = torch.where(kinds > _SWALLOW_LAST, kinds - removed, folded)
        self.register_buffer("_kind", folded, persistent=False)
        self.glyph_embedding = nn.Embedding(int(folded.max()) + 1, GLYPH_SIZE)
        self.map = nn.Sequential(
            nn.Conv2d(GLYPH_SIZE, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2), nn.ReLU(), nn.Flatten()
        )
        map_size = 16 * (((CROP - 1) // 2 - 1) // 2) ** 2
        self.blstats = nn.Sequential(nn.Linear(len(_SCALES) + _CONDITION_BITS, BLSTATS_SIZE), nn.ReLU())
        self.message = nn.EmbeddingBag(MESSAGE_BUCKETS, MESSAGE_SIZE, mode="mean", padding_idx=0)
        self.hidden = nn.Sequential(nn.Linear(map_size + BLSTATS_SIZE + MESSAGE_SIZE, HIDDEN), nn.ReLU())
        self.register_buffer("_column", torch.tensor(list(_SCALES)), persistent=False)
        self.register_buffer("_scale", 1 / torch.tensor(list(_SCALES.values())), persistent=False)
        self.register_buffer("_bit", torch.arange(_CONDITION_BITS), persistent=False)

    def forward(self, observations: Observations) -> Tensor:
        """[B, 256]."""
        glyphs, blstats = observations["glyphs"], observations["blstats"]
        crops = crop_around_agent(glyphs, blstats, CROP, outside=self._no_glyph)
        parts = [
            per_distinct(self._map, crops, FEWEST_TO_COMPARE),
            self.blstats(self._scaled(blstats)),
            per_distinct(self._message, observations["message"]),
        ]
        return self.hidden(torch.cat(parts, dim=1))

    def _map(self, crops: Tensor) -> Tensor:
        """[B, 144]: the map around the agent."""
        cells = self.glyph_embedding(self._kind[crops.long()])  # [B, CROP, CROP, GLYPH_SIZE]
        return self.map(cells.permute(0, 3, 1, 2))

    def _scaled(self, blstats: Tensor) -> Tensor:
        """[B, 25]: the useful stats, scaled to about 1, and the bits of the condition."""
        numbers = blstats[:, self._column].clamp(-1000, 1000) * self._scale
        bits = (blstats[:, _CONDITION, None] >> self._bit) & 1
        return torch.cat([numbers, bits.to(numbers.dtype)], dim=1)

    def _message(self, messages: Tensor) -> Tensor:
        """[B, MESSAGE_SIZE]: mean embedding of the message's character trigrams, each hashed into a bucket."""
        letters = messages.long()
        triples = (letters[:, :-2] * 131 + letters[:, 1:-1]) * 131 + letters[:, 2:]
        buckets = 1 + (triples * 2654435761 >> 12) % (MESSAGE_BUCKETS - 1)
        return self.message(buckets.masked_fill(letters[:, 2:] == 0, 0))  # beyond the end: bucket 0, the padding
