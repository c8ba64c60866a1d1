"""The `cnn` family reads images of any size, layout and type, and grids of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from bonuslab.algorithms.networks import as_tensors, build_encoder, build_policy
from bonuslab.algorithms.networks.cnn import image_layout, is_image

GRID = spaces.Box(0, 255, (7, 7, 3), np.uint8)


def rows_of(space: spaces.Dict, count: int) -> dict[str, np.ndarray]:
    space.seed(1)
    return {key: np.stack([space[key].sample() for _ in range(count)]) for key in space.spaces}


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((7, 7, 3), (3, 7, 7, True)),
        ((84, 84, 4), (4, 84, 84, True)),
        ((4, 84, 84), (4, 84, 84, False)),
        ((3, 60, 80), (3, 60, 80, False)),
        ((10, 10, 1), (1, 10, 10, True)),
        ((84, 84), (1, 84, 84, False)),
        ((5, 6), None),
        ((2, 2, 3), None),
        ((8,), None),
        ((4, 84, 84, 3), None),
    ],
)
def test_layouts(shape: tuple[int, ...], layout: Any) -> None:
    assert image_layout(shape) == layout
    assert is_image(spaces.Box(0, 255, shape, np.uint8)) == (layout is not None)
    assert not is_image(spaces.Box(0, 255, shape, np.int64))


@pytest.mark.parametrize(
    "image",
    [
        GRID,
        spaces.Box(0, 255, (3, 64, 48), np.uint8),
        spaces.Box(0, 255, (96, 96, 3), np.uint8),
        spaces.Box(0, 255, (30, 30), np.uint8),
        spaces.Box(-1.0, 1.0, (20, 20, 2), np.float32),
        spaces.Box(-np.inf, np.inf, (5, 5, 2), np.float32),
    ],
)
def test_every_image_is_seen_and_so_is_the_rest(image: spaces.Box) -> None:
    space = spaces.Dict({"a.image": image, "direction": spaces.MultiDiscrete([4])})
    torch.manual_seed(0)
    encoder = build_encoder("cnn", space)
    rows = {key: np.repeat(value, 4, axis=0) for key, value in rows_of(space, 1).items()}
    rows["a.image"][1] = rows["a.image"][1].ravel()[::-1].reshape(image.shape)
    rows["direction"][2] = (rows["direction"][2] + 1) % 4
    features = encoder(as_tensors(rows))
    assert features.shape == (4, encoder.output_size)
    apart = torch.cdist(features, features).detach()
    assert apart[0, 3] == 0
    assert min(apart[0, 1], apart[0, 2], apart[1, 2]) > 1e-4
    features.sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in encoder.parameters())


def test_channels_first_and_last_are_the_same_image() -> None:
    last, first = spaces.Box(0, 255, (40, 50, 3), np.uint8), spaces.Box(0, 255, (3, 40, 50), np.uint8)
    encoders = []
    for image in (last, first):
        torch.manual_seed(0)
        encoders.append(build_encoder("cnn", spaces.Dict({"obs": image})))
    rows = np.random.default_rng(0).integers(256, size=(2, 40, 50, 3)).astype(np.uint8)
    moved = np.ascontiguousarray(np.moveaxis(rows, 3, 1))
    torch.testing.assert_close(encoders[0](as_tensors({"obs": rows})), encoders[1](as_tensors({"obs": moved})))


def test_symbols_are_embedded_by_channel() -> None:
    """A cell's code is the sum of its channels' embeddings, and a value means something else in another channel."""
    torch.manual_seed(0)
    encoder = build_encoder("cnn", spaces.Dict({"image": GRID}))
    image = encoder.images[0]  # type: ignore[union-attr, index]
    weights = image.symbols.weight
    seen = []
    image.convolutions.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    rows = np.random.default_rng(0).integers(256, size=(2, 7, 7, 3)).astype(np.uint8)
    encoder(as_tensors({"image": rows}))
    x, y = 2, 5
    expected = sum(weights[256 * channel + int(rows[1, x, y, channel])] for channel in range(3))
    torch.testing.assert_close(seen[0][1, :, x, y], expected)
    assert (
        build_encoder("cnn", spaces.Dict({"obs": spaces.Box(0, 255, (64, 64, 3), np.uint8)})).images[0].symbols is None
    )  # type: ignore[union-attr, index]


def test_an_env_alone_gives_what_it_gives_among_others_in_any_precision() -> None:
    torch.manual_seed(0)
    space = spaces.Dict({"image": GRID, "large": spaces.Box(0.0, 1.0, (40, 40, 1), np.float32)})
    policy = build_policy("auto", space, 7).double()
    rows = as_tensors(rows_of(space, 5))
    first = torch.ones(5, dtype=torch.bool)
    together = policy.act(rows, first, policy.initial_state(5))
    for n in range(5):
        alone = policy.act({key: value[[n]] for key, value in rows.items()}, first[[n]], policy.initial_state(1))
        torch.testing.assert_close(alone.logits[0], together.logits[n], rtol=1e-10, atol=1e-10)
    assert policy.num_parameters() < 1_000_000
