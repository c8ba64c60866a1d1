"""What is counted in Gymnasium environments."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from bonuslab.algorithms.bonuses.features.gym_features import down_sampled
from bonuslab.algorithms.bonuses.features.state_features import feature_of
from bonuslab.envs.errors import InvalidInput

PLACES = spaces.Dict(
    {"image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "agent_position": spaces.Box(0, 9, (2,), np.int32)}
)


def test_positions_are_told_apart() -> None:
    cells = np.array([(x, y) for x in range(-3, 20) for y in range(20)] * 2, np.int32)
    keys = feature_of("agent_position", PLACES).keys({"agent_position": cells})
    np.testing.assert_array_equal(feature_of("position", PLACES).keys({"agent_position": cells}), keys)
    assert len(np.unique(keys)) == len(cells) / 2
    np.testing.assert_array_equal(keys[: len(keys) // 2], keys[len(keys) // 2 :])
    with pytest.raises(InvalidInput, match=r"needs the observation 'agent_position'.* 'observation' suits every"):
        feature_of("agent_position", spaces.Dict({"image": PLACES["image"]}))


def test_images_become_eleven_by_eight_with_eight_shades() -> None:
    rows = np.random.default_rng(0).integers(256, size=(3, 40, 33, 3)).astype(np.uint8)
    small = down_sampled(rows, 3, 40, 33, channels_last=True)
    grey = rows @ np.array([0.299, 0.587, 0.114])
    areas = grey.reshape(3, 8, 5, 11, 3).mean((2, 4))
    np.testing.assert_array_equal(small, np.minimum(areas / 255 * 8, 7).astype(np.uint8))
    np.testing.assert_array_equal(down_sampled(np.full_like(rows, 255), 3, 40, 33, True), 7)
    uneven = down_sampled(np.full((1, 84, 84), 100, np.uint8), 1, 84, 84, channels_last=False)
    assert uneven.shape == (1, 8, 11)
    assert (uneven == 3).all()
    assert down_sampled(rows[:, :7, :7], 3, 7, 7, True).shape == (3, 7, 7)


def test_pixels_are_coarse_and_of_stacked_frames_the_newest() -> None:
    feature = feature_of("pixels", spaces.Dict({"obs": spaces.Box(0, 255, (4, 84, 84), np.uint8)}))
    frames = np.repeat(np.random.default_rng(0).integers(256, size=(1, 4, 84, 84)).astype(np.uint8), 4, axis=0)
    frames[1, :3] = 0  # older frames
    frames[2, 3, 0, 0] ^= 1  # one shade of one pixel
    frames[3, 3, :20] = 255
    keys = feature.keys({"obs": frames, "agent_position": np.zeros((4, 2), np.int32)})
    assert keys[0] == keys[1] == keys[2] != keys[3]
    lights = np.array([0.0, 0.5], np.float32)[:, None, None, None].repeat(20, 1).repeat(20, 2)
    assert len(np.unique(feature.keys({"obs": lights}))) == 2
    flags = np.arange(2, dtype=bool)[:, None, None].repeat(20, 1).repeat(20, 2)
    assert len(np.unique(feature.keys({"obs": flags}))) == 2


def test_pixels_need_an_image() -> None:
    with pytest.raises(
        InvalidInput, match=r"state feature 'pixels': it needs images .* this environment has obs \(4,\)"
    ):
        feature_of("pixels", spaces.Dict({"obs": spaces.Box(-1, 1, (4,), np.float32)}))
