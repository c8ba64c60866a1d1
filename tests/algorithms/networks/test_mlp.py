"""The `mlp` family reads every observation that is not an image, and `auto` finds the family that suits a space."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from bonuslab.algorithms.data.synthetic import OBSERVATION_SPACE
from bonuslab.algorithms.networks import as_tensors, build_encoder, build_policy, resolve_family
from bonuslab.algorithms.networks.mlp import FlatInputs
from bonuslab.envs.errors import InvalidInput

POLE = gym.make("CartPole-v1").observation_space
MIXED = spaces.Dict(
    {
        "pole": POLE,
        "bounded": spaces.Box(0, 255, (2, 2), np.uint8),
        "fixed": spaces.Box(3.0, 3.0, (1,), np.float32),
        "kinds": spaces.MultiDiscrete([3, 2], start=[1, 0]),
        "state": spaces.Discrete(4, start=-1),
        "switches": spaces.MultiBinary(3),
        "agent_position": spaces.Box(0, 9, (2,), np.int32),
    }
)


def samples(space: spaces.Dict, count: int) -> dict[str, np.ndarray]:
    space.seed(0)
    rows = [space.sample() for _ in range(count)]
    return {key: np.stack([np.asarray(row[key]) for row in rows]) for key in space.spaces}


def test_inputs_are_scaled_and_one_hot() -> None:
    space = spaces.Dict({key: MIXED[key] for key in ("bounded", "fixed", "kinds", "pole", "state", "switches")})
    inputs = FlatInputs(space.spaces)
    rows = {
        "pole": np.array([[2.4, np.e - 1, -0.41887903, -1000.0]], np.float32),
        "bounded": np.array([[[0, 255], [51, 0]]], np.uint8),
        "fixed": np.array([[3.0]], np.float32),
        "kinds": np.array([[3, 0]]),
        "state": np.array([-1]),
        "switches": np.array([[1, 0, 1]], np.int8),
    }
    expected = [
        *(-1, 1, -0.6, -1),
        0,
        *(0, 0, 1, 1, 0),
        *(0.5, 1, -1, -np.log(1001)),
        *(1, 0, 0, 0),
        *(1, -1, 1),
    ]
    np.testing.assert_allclose(inputs(as_tensors(rows))[0], expected, rtol=1e-5, atol=1e-6)
    assert inputs.size == len(expected)


def test_states_that_differ_have_different_features_but_for_the_agents_position() -> None:
    torch.manual_seed(0)
    encoder = build_encoder("mlp", MIXED)
    rows = {key: np.repeat(value, 8, axis=0) for key, value in samples(MIXED, 1).items()}
    rows["pole"][:] = 0.1
    rows["pole"][1, 1] = 0.2
    rows["bounded"][2] ^= 128
    rows["kinds"][3, 1] ^= 1
    rows["state"][4] = (rows["state"][4] + 2) % 4 - 1
    rows["switches"][5] ^= 1
    rows["agent_position"][6] += 1
    features = encoder(as_tensors(rows)).detach()
    assert features.shape == (8, encoder.output_size)
    apart = torch.cdist(features, features)
    assert apart[6, 7] == apart[0, 7] == 0
    assert (apart[:6, :6] + torch.eye(6)).min() > 1e-4


def test_learning_on_an_unroll_is_acting_step_by_step() -> None:
    torch.manual_seed(0)
    policy = build_policy("auto", MIXED, 3).double()
    rows = {key: value.reshape(5, 2, *value.shape[1:]) for key, value in as_tensors(samples(MIXED, 10)).items()}
    rows["pole"] = rows["pole"].clamp(-10, 10)
    first = torch.zeros(5, 2, dtype=torch.bool)
    first[0] = first[3, 1] = True
    whole = policy.unroll(rows, first, policy.initial_state(2))
    state = policy.initial_state(2)
    for t in range(5):
        step = policy.act({key: value[t] for key, value in rows.items()}, first[t], state)
        state = step.state
        torch.testing.assert_close(step.logits, whole.logits[t])
    whole.logits.sum().backward()
    assert all(weight.grad is not None for weight in policy.encoder.parameters())


@pytest.mark.parametrize(
    ("space", "family"),
    [
        (OBSERVATION_SPACE, "tiny"),
        (spaces.Dict({"obs": POLE}), "mlp"),
        (MIXED, "mlp"),
        (spaces.Dict({"obs": spaces.Box(0, 255, (96, 96, 3), np.uint8)}), "cnn"),
        (spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "direction": spaces.Discrete(4)}), "cnn"),
        (spaces.Dict({"frames": spaces.Box(0, 255, (4, 84, 84), np.uint8)}), "atari"),
        (spaces.Dict({"frames": spaces.Box(0, 255, (4, 84, 84), np.uint8), "more": POLE}), "cnn"),
        (
            spaces.Dict({"rgb": spaces.Box(0, 255, (64, 64, 3), np.uint8), "gps": spaces.Box(-9, 9, (2,))}),
            "pixels-small",
        ),
        (spaces.Dict({"rgb": spaces.Box(0, 255, (3, 64, 64), np.uint8)}), "cnn"),
        (spaces.Dict({"rgb": spaces.Box(0, 255, (3,), np.uint8)}), "mlp"),
    ],
)
def test_auto_is_the_family_that_suits_the_space(space: spaces.Dict, family: str) -> None:
    assert resolve_family("auto", space) == family
    assert resolve_family(family, space) == family
    assert type(build_encoder("auto", space)) is type(build_encoder(family, space))


@pytest.mark.parametrize("family", ["tiny", "small", "paper", "atari", "pixels-small", "resnet9", "resnet50", "cnn"])
def test_a_family_that_cannot_read_the_space_is_refused(family: str) -> None:
    with pytest.raises(InvalidInput, match=rf"network '{family}' cannot read this environment: .* has obs"):
        build_policy(family, spaces.Dict({"obs": POLE}), 2)


def test_what_no_network_can_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match="observation 'words' is a Text"):
        resolve_family("auto", spaces.Dict({"words": spaces.Text(5)}))
    with pytest.raises(InvalidInput, match="no observations besides"):
        resolve_family("mlp", spaces.Dict({"agent_position": MIXED["agent_position"]}))
