"""The fast `paper` encoder equals its literal definition, values and gradients, for any maps."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from bonuslab.algorithms.data.synthetic import OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.networks import as_tensors, build_encoder
from bonuslab.algorithms.networks.paper import PlainPaperEncoder
from bonuslab.algorithms.networks.paper_fast import STONE
from bonuslab.algorithms.networks.regions import cover


def rooms(seed: int, count: int) -> dict[str, np.ndarray]:
    """Maps with random rooms, some repeated, one blank, one full; the agent anywhere, corners included."""
    rng = np.random.default_rng(seed)
    glyphs = np.full((count, 21, 79), STONE, np.int16)
    for drawn in glyphs[1:]:
        top, left = rng.integers(21), rng.integers(79)
        height, width = rng.integers(1, 12), rng.integers(1, 30)
        room = drawn[top : top + height, left : left + width]
        room[:] = rng.integers(STONE + 1, STONE + 12, size=room.shape)
        room[0, 0] = rng.integers(400)
    glyphs[2] = rng.integers(STONE, STONE + 20, size=(21, 79))
    glyphs[4] = glyphs[3]
    blstats = rng.integers(0, 50, size=(count, 27))
    blstats[:, 0], blstats[:, 1] = rng.integers(79, size=count), rng.integers(21, size=count)
    blstats[0, :2], blstats[1, :2] = (0, 0), (78, 20)
    message = np.zeros((count, 256), np.uint8)
    message[::3, :20] = rng.integers(32, 127, size=20)
    message[1] = rng.integers(32, 127, size=256)
    return {"glyphs": glyphs, "blstats": blstats, "message": message}


def pair(dtype: torch.dtype, seed: int = 0) -> tuple[nn.Module, nn.Module]:
    """The fast encoder and the plain one with the same weights."""
    torch.manual_seed(seed)
    fast = build_encoder("paper", OBSERVATION_SPACE).to(dtype)
    plain = PlainPaperEncoder(OBSERVATION_SPACE).to(dtype)
    plain.load_state_dict(fast.state_dict())
    return fast, plain


CASES = {
    "rooms": lambda: rooms(1, 10),
    "many glyphs": lambda: Trajectory(4, 2).cut([2])[0].states(),
    "one blank map": lambda: {key: rows[:1] for key, rows in rooms(2, 5).items()},
    "one room": lambda: {key: rows[3:4] for key, rows in rooms(3, 5).items()},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 1e-4)])
def test_values_and_gradients_equal_the_definition(case: str, dtype: torch.dtype, tolerance: float) -> None:
    fast, plain = pair(dtype)
    observations = as_tensors(CASES[case]())
    direction = torch.randn(len(observations["glyphs"]), 1024, dtype=dtype)
    ours, theirs = fast(observations), plain(observations)
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    (ours * direction).sum().backward()
    (theirs * direction).sum().backward()
    expected = {name: weight.grad for name, weight in plain.named_parameters()}
    for name, weight in fast.named_parameters():
        assert weight.grad is not None, name
        scale = float(expected[name].abs().max())
        worst = float((weight.grad - expected[name]).abs().max())
        assert worst <= tolerance * scale, f"{name}: {worst} of {scale}"


def test_the_plain_network_has_the_papers_sizes() -> None:
    encoder = PlainPaperEncoder(OBSERVATION_SPACE)
    assert encoder.join.in_features == 64 + 21 * 79 * 8 + 9 * 9 * 8 + 64 == 14_048
    kinds = [(layer.out_channels, layer.kernel_size[0]) for layer in encoder.message if isinstance(layer, nn.Conv1d)]
    assert kinds == [(64, 7), (64, 7), (64, 3), (64, 3), (64, 3), (64, 3)]
    for trunk in (encoder.map, encoder.crop):
        assert [layer.out_channels for layer in trunk if isinstance(layer, nn.Conv2d)] == [16, 16, 16, 16, 8]
    assert encoder.output_size == 1024


def test_the_cached_blank_map_follows_the_weights() -> None:
    fast, plain = pair(torch.float64)
    observations = as_tensors(rooms(4, 5))

    def change_by_optimiser() -> None:
        # On one network: RMSprop would blow up the rounding errors of gradients that are almost zero.
        fast(observations).sum().backward()
        torch.optim.RMSprop(fast.parameters(), lr=1e-3).step()
        plain.load_state_dict(fast.state_dict())

    def change_by_loading() -> None:
        other = pair(torch.float64, seed=1)[0].state_dict()
        fast.load_state_dict(other)
        plain.load_state_dict(other)

    def change_by_data() -> None:
        for network in (fast, plain):
            for weight in network.parameters():
                weight.data.mul_(1.1)

    for change in (lambda: None, change_by_optimiser, change_by_loading, change_by_data):
        change()
        expected = plain(observations).detach()
        for _ in range(2):
            with torch.inference_mode():
                ours = fast(observations)
            torch.testing.assert_close(ours.clone(), expected, rtol=1e-11, atol=1e-11)


def test_a_frozen_trunk_next_to_a_trainable_one() -> None:
    fast, plain = pair(torch.float64)
    observations = as_tensors(rooms(5, 5))
    with torch.inference_mode():
        fast(observations)
    for network in (fast, plain):
        network.requires_grad_(False)
        network.crop.requires_grad_(True)
        network(observations).sum().backward()
    torch.testing.assert_close(fast.crop[0].weight.grad, plain.crop[0].weight.grad, rtol=1e-10, atol=1e-12)


def test_copies_and_pickles_after_acting() -> None:
    fast, _ = pair(torch.float32)
    observations = as_tensors(rooms(6, 5))
    with torch.inference_mode():
        expected = fast(observations).clone()
        for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
            assert torch.equal(other(observations), expected)


def test_regions_contain_every_map_once_with_a_margin() -> None:
    drawn = np.concatenate([rooms(seed, 30)["glyphs"] for seed in range(4)]) != STONE
    regions = cover(drawn, reach=5)
    assert sorted(np.concatenate([region.maps for region in regions])) == list(range(len(drawn)))
    for region in regions:
        for rows, columns in (np.nonzero(drawn[number]) for number in region.maps):
            if len(rows):
                assert region.top <= max(rows.min() - 5, 0)
                assert region.bottom >= min(rows.max() + 6, 21)
                assert region.left <= max(columns.min() - 5, 0)
                assert region.right >= min(columns.max() + 6, 79)
        assert 0 <= region.top < region.bottom <= 21
        assert 0 <= region.left < region.right <= 79
