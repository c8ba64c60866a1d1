"""The paper's MiniHack encoder, written out literally (its appendix, and facebookresearch/e3b: src/models.py).

Four trunks: the whole map, a 9 × 9 crop around the agent, the stats, and the message. Interpretation of the text:

- Convolutions of the maps keep the size (padding 1); the concatenation has 21·79·8 + 9·9·8 + 64 + 64 = 14,048 units.
- The message's "two fully-connected layers of 128 hidden units and ReLU" are 320 → 128, ReLU, 128 → 64: the size of the
  concatenation requires 64 outputs. Its first convolution has 32 input channels (the character embedding), not 64.
- The stats are not scaled: always finite, but not small.
- As released, and not in the paper: the crop is off centre by one cell (offsets −5 … +3), the embedding of NUL, which
  pads messages, is zero, a ReLU follows each convolution of the message and none its last layer, and glyph 0 lies
  beyond the map's edge in the crop. The family `paper-centred` has the crop of the paper's text (−4 … +4).

`paper_fast.py` computes the same function and gradients in a fraction of the time; this file is its reference in tests,
and runs on GPUs.
"""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.encoder import Encoder, Observations

GLYPH_SIZE = 64
CROP = 9
CROP_BEFORE = 5
"""Cells of the crop above and left of the agent: one more than half, as released."""
GLYPHS = 5976
"""NetHack's MAX_GLYPH; NLE's observation space includes it, but no cell ever shows it."""
FILTERS = (16, 16, 16, 16, 8)
CHARACTER_SIZE = 32
MESSAGE_MAPS = 64
HIDDEN = 1024
OUTSIDE = 0


class PlainPaperEncoder(Encoder):
    """The definition: glyph embedding, four trunks, two fully-connected layers of 1024."""

    output_size = HIDDEN
    crop_before = CROP_BEFORE

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        glyphs, blstats = observation_space["glyphs"], observation_space["blstats"]
        height, width = glyphs.shape  # type: ignore[misc]
        self.map_size = height * width * FILTERS[-1]
        self.glyph_embedding = nn.Embedding(GLYPHS, GLYPH_SIZE)
        self.map = _map_trunk()
        self.crop = _map_trunk()
        self.blstats = nn.Sequential(nn.Linear(blstats.shape[0], 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())  # type: ignore[index]
        self.character_embedding = nn.Embedding(256, CHARACTER_SIZE, padding_idx=0)
        self.message = _message_trunk()
        self.join = nn.Linear(self.map_size + CROP * CROP * FILTERS[-1] + 64 + 64, HIDDEN)
        self.hidden = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, observations: Observations) -> Tensor:
        """[B, 1024]."""
        glyphs, blstats = observations["glyphs"].long().clamp(max=GLYPHS - 1), observations["blstats"]
        crop = crop_around_agent(glyphs, blstats, CROP, OUTSIDE, self.crop_before)
        characters = self.character_embedding(observations["message"].long())  # [B, 256, 32]
        parts = [
            _flat(self.map(self.glyph_embedding(glyphs).permute(0, 3, 1, 2))),
            _flat(self.crop(self.glyph_embedding(crop).permute(0, 3, 1, 2))),
            self.blstats(blstats.to(self.join.weight.dtype)),
            self.message(characters.transpose(1, 2)),
        ]
        joined = self.join(torch.cat(parts, dim=1)).relu()
        return self.hidden(joined).relu()


def _map_trunk() -> nn.Sequential:
    """Five 3 × 3 convolutions: [B, 64, h, w] -> [B, 8, h, w]."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip((GLYPH_SIZE, *FILTERS), FILTERS, strict=False):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ELU()]
    return nn.Sequential(*layers)


def _message_trunk() -> nn.Sequential:
    """Six convolutions over the characters and two fully-connected layers: [B, 32, 256] -> [B, 64]."""
    layers: list[nn.Module] = []
    inputs = CHARACTER_SIZE
    for number, kernel in enumerate((7, 7, 3, 3, 3, 3), start=1):
        layers += [nn.Conv1d(inputs, MESSAGE_MAPS, kernel), nn.ReLU()]
        if number in (1, 2, 6):
            layers.append(nn.MaxPool1d(3, stride=3))
        inputs = MESSAGE_MAPS
    length = 5  # 256 -> 250 -> 83 -> 77 -> 25 -> 23 -> 21 -> 19 -> 17 -> 5
    layers += [nn.Flatten(), nn.Linear(length * MESSAGE_MAPS, 128), nn.ReLU(), nn.Linear(128, 64)]
    return nn.Sequential(*layers)


def _flat(maps: Tensor) -> Tensor:
    """[B, h · w · channels] from [B, channels, h, w]: cell by cell, so that parts of a row are contiguous."""
    return maps.permute(0, 2, 3, 1).flatten(1)
