"""The `paper` family: the encoder of `paper.py` with the same weights, outputs and gradients, computed faster.

Optimisations, all exact up to rounding:

- Repeated maps, crops and messages of a batch go through their trunk once.
- A convolution of embedded glyphs is a convolution of the glyphs' one-hot vectors with weights W·E. A batch has about a
  dozen distinct glyphs, so this has a dozen input channels instead of the embedding's 64.
- Most of the map is blank rock. Far from anything drawn, the activations of every layer are those of a blank map, which
  are computed once; only a region around what is drawn goes through the layers, as its difference from the blank map:
  with x⁰ the blank map's activations, conv(x) = conv(x⁰) + conv(x − x⁰), and x − x⁰ is zero outside the region, so a
  convolution of the region with zero padding gives the second term.
- The layer after the concatenation uses regions likewise: see `region_linear.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn import functional

from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.distinct import distinct_rows, per_distinct
from bonuslab.algorithms.networks.encoder import Observations
from bonuslab.algorithms.networks.paper import CROP, FILTERS, GLYPH_SIZE, OUTSIDE, PlainPaperEncoder
from bonuslab.algorithms.networks.region_linear import region_linear
from bonuslab.algorithms.networks.regions import Region, cover
from bonuslab.algorithms.networks.registry import needs_keys, register_family

STONE = 2359
"""The glyph of solid rock and of unseen cells. Any other glyph would be correct too, but slower."""
FEWEST_TO_COMPARE = 64
"""In smaller batches, as in acting, encoding crops is faster than comparing them."""
KEYS = ("glyphs", "blstats", "message")
_BATCH_QUANTUM = 4
"""Batches are padded to a multiple of this: oneDNN compiles a convolution for every new shape."""


class _Blank(NamedTuple):
    """Activations of the map trunk for the blank map."""

    before: list[Tensor]
    """Output of each convolution [1, c, h, w], before the non-linearity."""
    after: list[Tensor]
    """And after it."""
    product: Tensor | None
    """[1024]: its contribution to the layer after the concatenation; None if gradients are needed."""


@register_family("paper", core_size=1024, check=needs_keys(*KEYS))
class PaperEncoder(PlainPaperEncoder):
    """The paper's encoder, with the optimisations above on the CPU."""

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__(observation_space)
        self._map_shape: tuple[int, int] = observation_space["glyphs"].shape  # type: ignore[assignment]
        self._cached: tuple[tuple[tuple[int, int], ...], Tensor, _Blank] | None = None

    def forward(self, observations: Observations) -> Tensor:
        """[B, 1024]."""
        glyphs, blstats, messages = observations["glyphs"], observations["blstats"], observations["message"]
        if glyphs.device.type != "cpu":
            return super().forward(observations)
        example, place = distinct_rows(glyphs.flatten(1))
        maps = glyphs[example]
        regions = cover((maps != STONE).numpy(), reach=len(FILTERS))
        blank = self._blank()
        differences = [self._region(maps, region, blank) for region in regions]
        others = [
            per_distinct(
                self._crop, crop_around_agent(glyphs, blstats, CROP, OUTSIDE, self.crop_before), FEWEST_TO_COMPARE
            ),
            self.blstats(blstats.to(self.join.weight.dtype)),
            per_distinct(self._message, messages),
        ]
        joined = region_linear(
            self.join.weight,
            self.join.bias,
            regions,
            differences,
            blank.after[-1][0].permute(1, 2, 0),
            blank.product,
            place,
            torch.cat(others, dim=1),
        )
        return self.hidden(joined.relu_()).relu_()

    def _region(self, maps: Tensor, region: Region, blank: _Blank) -> Tensor:
        """[n, h, w, 8]: the map trunk's output for one region of the maps it covers, minus the blank map's."""
        part = (slice(None), slice(None), region.rows, region.columns)
        shown = maps[torch.from_numpy(region.maps)][:, region.rows, region.columns]
        shown = functional.pad(shown, (0, 0, 0, 0, 0, -len(shown) % _BATCH_QUANTUM), value=STONE)
        first, *rest = _convolutions(self.map)
        x, first_weight = self._look_up(shown, first, background=STONE)
        weights = [first_weight, *(_channels_last(convolution.weight) for convolution in rest)]
        for weight, before, after in zip(weights, blank.before, blank.after, strict=True):
            x = functional.elu_(functional.conv2d(x, weight, padding=1).add_(before[part])) - after[part]
        return x.permute(0, 2, 3, 1)[: len(region.maps)]

    def _crop(self, crops: Tensor) -> Tensor:
        """[B, 9 · 9 · 8]: the crop trunk."""
        first, *rest = _convolutions(self.crop)
        x, weight = self._look_up(crops, first, background=None)
        x = functional.elu_(functional.conv2d(x, weight, first.bias, padding=1))
        for convolution in rest:
            x = functional.elu_(functional.conv2d(x, _channels_last(convolution.weight), convolution.bias, padding=1))
        return x.permute(0, 2, 3, 1).flatten(1)

    def _message(self, messages: Tensor) -> Tensor:
        """[B, 64]: the message trunk."""
        return self.message(self.character_embedding(messages.long()).transpose(1, 2))

    def _look_up(self, glyphs: Tensor, convolution: nn.Conv2d, background: int | None) -> tuple[Tensor, Tensor]:
        """Input and weight whose convolution is that of the embedded glyphs [n, h, w] minus that of the background."""
        table = self.glyph_embedding.weight
        ids = glyphs.long().clamp(max=len(table) - 1)  # "no glyph" has no row of its own
        present = torch.zeros(len(table), dtype=torch.bool)
        present[ids.flatten()] = True
        origin = table.new_zeros(())
        if background is not None:
            present[background] = False
            origin = table[background]
        vocabulary = present.nonzero().flatten()
        if len(vocabulary) > GLYPH_SIZE:  # the embedding is narrower than a one-hot vector
            embedded = functional.embedding(ids, table) - origin
            return embedded.permute(0, 3, 1, 2), _channels_last(convolution.weight)
        channels = max(8, -(-len(vocabulary) // 8) * 8)  # a multiple of the vector unit's width
        channel = torch.full((len(table),), channels)  # the background's channel is cut off below
        channel[vocabulary] = torch.arange(len(vocabulary))
        one_hot = table.new_zeros(ids.numel(), channels + 1).scatter_(1, channel[ids.view(-1, 1)], 1)
        inputs = one_hot[:, :channels].contiguous().view(*ids.shape, channels).permute(0, 3, 1, 2)
        weight = torch.einsum("oeyx,ge->ogyx", convolution.weight, table[vocabulary] - origin)
        weight = functional.pad(weight, (0, 0, 0, 0, 0, channels - len(vocabulary)))
        return inputs, _channels_last(weight)

    def _blank(self) -> _Blank:
        """The blank map's activations, cached while the weights stay the same and no gradients are needed."""
        needs_gradients = torch.is_grad_enabled() and any(weight.requires_grad for weight in self._blank_weights())
        if needs_gradients:
            return self._compute_blank(with_product=False)
        versions = tuple(
            (weight.data_ptr(), 0 if weight.is_inference() else weight._version) for weight in self._blank_weights()
        )
        # Writing through `weight.data` does not change the version, so a sample of the weights is compared too.
        sample = torch.cat([weight.detach().flatten()[:: 1 + weight.numel() // 64] for weight in self._blank_weights()])
        if self._cached is None or self._cached[0] != versions or not torch.equal(self._cached[1], sample):
            # As ordinary tensors even in inference mode: a later call may be outside of it.
            with torch.inference_mode(False), torch.no_grad():
                self._cached = (versions, sample, self._compute_blank(with_product=True))
        return self._cached[2]

    def _compute_blank(self, with_product: bool) -> _Blank:
        stone = self.glyph_embedding.weight[STONE].view(1, -1, 1, 1)
        x = stone.expand(1, -1, *self._map_shape).contiguous(memory_format=torch.channels_last)
        before, after = [], []
        for convolution in _convolutions(self.map):
            before.append(functional.conv2d(x, _channels_last(convolution.weight), convolution.bias, padding=1))
            x = functional.elu(before[-1])
            after.append(x)
        if not with_product:
            return _Blank(before, after, None)
        return _Blank(before, after, self.join.weight[:, : self.map_size] @ x.permute(0, 2, 3, 1).flatten())

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles start with an empty cache."""
        return {**self.__dict__, "_cached": None}

    def _blank_weights(self) -> list[Tensor]:
        return [self.glyph_embedding.weight, *self.map.parameters(), self.join.weight]


@register_family("paper-centred", core_size=1024, check=needs_keys(*KEYS))
class CentredPaperEncoder(PaperEncoder):
    """The same with the agent in the middle of the crop, as the paper describes it."""

    crop_before = CROP // 2


def _convolutions(trunk: nn.Sequential) -> list[nn.Conv2d]:
    return [layer for layer in trunk if isinstance(layer, nn.Conv2d)]


def _channels_last(weight: Tensor) -> Tensor:
    return weight.contiguous(memory_format=torch.channels_last)
