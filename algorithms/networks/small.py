"""The `small` and `tiny` families: networks for laptops, about 300,000 and 100,000 parameters including their LSTMs.

`small` is comparable to the authors' Sample-Factory port (crop of at most 16 × 16, hidden 256, LSTM 128). `tiny` is
ours: on small tasks it learns in as many steps for less time (`speed.py time-to-solve`).
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.distinct import distinct_rows
from bonuslab.algorithms.networks.encoder import Encoder, Observations, States
from bonuslab.algorithms.networks.kernels import observations as kernels
from bonuslab.algorithms.networks.registry import needs_keys, register_family
from bonuslab.algorithms.networks.small_states import SmallStates, find_patches
from bonuslab.algorithms.networks.small_trunk import Weights, trunk

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

    _kind: Tensor
    _column: Tensor
    _scale: Tensor
    _bit: Tensor
    _read: Tensor

    def __init__(self, observation_space: gym.spaces.Dict, crop: int = 15, hidden: int = 256) -> None:
        super().__init__()
        self.crop, self.output_size = crop, hidden
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
        map_size = 16 * (((crop - 1) // 2 - 1) // 2) ** 2
        self.blstats = nn.Sequential(nn.Linear(len(_SCALES) + _CONDITION_BITS, BLSTATS_SIZE), nn.ReLU())
        self.message = nn.EmbeddingBag(MESSAGE_BUCKETS, MESSAGE_SIZE, mode="mean", padding_idx=0)
        self.hidden = nn.Sequential(nn.Linear(map_size + BLSTATS_SIZE + MESSAGE_SIZE, hidden), nn.ReLU())
        self.register_buffer("_column", torch.tensor(list(_SCALES)), persistent=False)
        self.register_buffer("_scale", 1 / torch.tensor(list(_SCALES.values())), persistent=False)
        self.register_buffer("_bit", torch.arange(_CONDITION_BITS), persistent=False)
        self.register_buffer("_read", torch.tensor([*_SCALES, _CONDITION]), persistent=False)

    def forward(self, observations: Observations) -> Tensor:
        """[B, d]."""
        features, rows = self.encode(self.prepare({key: rows[None] for key, rows in observations.items()}))
        return functional.embedding(rows[0], features)

    def prepare(self, observations: Observations) -> SmallStates:
        """The distinct states; with few rows, as in acting, comparing states costs more than encoding them all."""
        shape = observations["blstats"].shape[:2]
        glyphs, blstats, messages = (observations[key].flatten(0, 1) for key in ("glyphs", "blstats", "message"))
        crops = self._crop(glyphs, blstats)
        message_example, message = distinct_rows(messages)
        shares = self._trigram_shares(messages[message_example])
        if len(blstats) < FEWEST_TO_COMPARE:
            everyone = torch.arange(len(blstats), device=blstats.device)
            place, stats, crop = everyone, self._scaled(blstats), everyone
        else:
            crop_example, crop = distinct_rows(crops.flatten(1))
            example, place = distinct_rows(torch.cat([crop[:, None], message[:, None], blstats[:, self._read]], 1))
            stats, crop, message, crops = (
                self._scaled(blstats[example]),
                crop[example],
                message[example],
                crops[crop_example],
            )
        parts = find_patches(crops, self.glyph_embedding.num_embeddings)
        return SmallStates(place.view(shape), stats, crop, message, *parts, shares)

    def encode(self, states: Observations | States) -> tuple[Tensor, Tensor]:
        """Features [U, d] of the distinct states, and the state that each row shows [T + 1, N]."""
        assert isinstance(states, SmallStates)
        return trunk(states, self.weights()), states.place

    def weights(self) -> Weights[Tensor]:
        """The parameters, by what they read."""
        first, second, stats, hidden = self.map[0], self.map[2], self.blstats[0], self.hidden[0]
        layers: list[Any] = [item for layer in (first, second, stats) for item in (layer.weight, layer.bias)]
        return Weights._make([self.glyph_embedding.weight, *layers, self.message.weight, hidden.weight, hidden.bias])

    # On the CPU these three are compiled: PyTorch's small steps cost more than their arithmetic.
    def _crop(self, glyphs: Tensor, blstats: Tensor) -> Tensor:
        """[B, crop, crop] int16: kinds of glyphs around the agent."""
        if glyphs.device.type != "cpu":
            return self._kind[crop_around_agent(glyphs, blstats, self.crop, outside=self._no_glyph).long()].short()
        kind, crops = self._kind.numpy(), np.empty((len(glyphs), self.crop, self.crop), np.int16)
        kernels.crop_kinds(glyphs.numpy(), blstats.numpy(), kind, kind[self._no_glyph], crops)
        return torch.from_numpy(crops)

    def _scaled(self, blstats: Tensor) -> Tensor:
        """[B, 25]: the useful stats, scaled to about 1, and the bits of the condition."""
        if blstats.device.type != "cpu" or self._scale.dtype != torch.float32:
            numbers = blstats[:, self._column].clamp(-1000, 1000) * self._scale
            bits = (blstats[:, _CONDITION, None] >> self._bit) & 1
            return torch.cat([numbers, bits.to(numbers.dtype)], dim=1)
        stats = np.empty((len(blstats), len(_SCALES) + _CONDITION_BITS), np.float32)
        kernels.scale_stats(blstats.numpy(), self._column.numpy(), self._scale.numpy(), _CONDITION, stats)
        return torch.from_numpy(stats)

    def _trigram_shares(self, messages: Tensor) -> Tensor:
        """[B, MESSAGE_BUCKETS]: shares of the message's character trigrams, each hashed into a bucket."""
        if messages.device.type != "cpu":
            letters = messages.long()
            triples = (letters[:, :-2] * 131 + letters[:, 1:-1]) * 131 + letters[:, 2:]
            buckets = 1 + (triples * 2654435761 >> 12) % (MESSAGE_BUCKETS - 1)
            within = (letters[:, 2:] != 0).to(self._scale.dtype)  # not beyond the message's end
            shares = within.new_zeros(len(messages), MESSAGE_BUCKETS).scatter_add_(1, buckets, within)
            return shares / within.sum(1, keepdim=True).clamp(min=1)
        shares = torch.zeros(len(messages), MESSAGE_BUCKETS, dtype=self._scale.dtype)
        kernels.trigram_shares(messages.numpy(), shares.numpy())
        return shares


@register_family("tiny", core_size=64, check=needs_keys("glyphs", "blstats", "message"))
def tiny_encoder(observation_space: gym.spaces.Dict) -> SmallEncoder:
    """The same network with a smaller crop and fewer units."""
    return SmallEncoder(observation_space, crop=11, hidden=128)
