"""Batches of a loop become flat arrays; final observations replace those of the next episode."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.gym.autoreset import true_next_obs
from bonuslab.envs.gym.batches import Batches

from .sample_envs import EverythingEnv


def test_encoded_actions_decode_to_themselves() -> None:
    for space in (EverythingEnv.action_space, spaces.Discrete(3, start=-1), spaces.MultiDiscrete([[2, 3], [1, 2]])):
        layout = ActionLayout("Some", space)
        numbers = np.arange(layout.space.n)
        own = np.stack([np.asarray(layout.decode(int(number))) for number in numbers])
        np.testing.assert_array_equal(layout.encode(own), numbers)
    with pytest.raises(InvalidInput, match=r"invalid actions \[\[0, 4\]\] on Some; allowed: \[0, 5\] to \[1, 7\]"):
        ActionLayout("Some", EverythingEnv.action_space).encode(np.array([[0, 4]]))
    with pytest.raises(InvalidInput, match="invalid actions"):
        ActionLayout("Some", spaces.Discrete(2)).encode(np.array([0.5]))


@pytest.mark.parametrize("lead", [(), (2,), (3, 2)])
def test_every_row_is_read_as_a_single_observation_is(lead: tuple[int, ...]) -> None:
    batches = Batches(EverythingEnv.observation_space, EverythingEnv.action_space)
    EverythingEnv.observation_space.seed(0)
    singles = [EverythingEnv.observation_space.sample() for _ in range(int(np.prod(lead)))]
    batch = {
        key: np.array([single[key] for single in singles]).reshape((*lead, *(space.shape or ())))
        for key, space in EverythingEnv.observation_space.spaces.items()
        if key not in ("camera", "pair")
    }
    batch["camera"] = {
        key: torch.tensor(np.array([single["camera"][key] for single in singles]))
        .float()
        .reshape((*lead, *space.shape))
        for key, space in EverythingEnv.observation_space["camera"].spaces.items()
    }
    batch["pair"] = tuple(
        np.array([single["pair"][place] for single in singles]).reshape((*lead, *shape))
        for place, shape in enumerate([(), (2, 2)])
    )
    read = batches.observations("obs", batch, lead)
    for row, place in enumerate(np.ndindex(*lead)):
        flat = {key: array[place] for key, array in read.items()}
        assert batches.observation_space.contains(flat)
        np.testing.assert_array_equal(flat["camera.rgb"], singles[row]["camera"]["rgb"])
        np.testing.assert_array_equal(flat["pair.1"], singles[row]["pair"][1])
        assert bytes(flat["words"]).rstrip(b"\0").decode() == singles[row]["words"]


def test_batches_are_copies() -> None:
    batches = Batches(spaces.Box(0, 1, (2,), np.float32), spaces.Discrete(2))
    given = np.zeros((3, 2), np.float32)
    read = batches.observations("obs", given, (3,))
    given[:] = 1
    assert (read["obs"] == 0).all()


def test_final_observations_of_both_libraries() -> None:
    obs = {"image": np.zeros((2, 3)), "mission": ("go", "go"), "pair": (np.zeros(2), torch.zeros(2, 2))}
    final = {"image": np.ones(3), "mission": "stop", "pair": (1, np.ones(2))}
    done = np.array([False, True])
    gymnasium_infos = {"final_obs": np.array([None, final], object), "_final_obs": done}
    for infos in (gymnasium_infos, [{}, {"terminal_observation": final}]):
        true = true_next_obs(obs, infos, done)
        np.testing.assert_array_equal(true["image"], [[0] * 3, [1] * 3])
        assert true["mission"] == ("go", "stop")
        np.testing.assert_array_equal(true["pair"][0], [0, 1])
        np.testing.assert_array_equal(true["pair"][1], [[0, 0], [1, 1]])
    assert not obs["image"].any()
    assert true_next_obs(obs, {}, done) is obs
