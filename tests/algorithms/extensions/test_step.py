"""`Step`: the fragment's steps as tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bonuslab.algorithms.data.synthetic import Trajectory, next_state_at, state_at
from bonuslab.algorithms.extensions import Step


def test_every_step_has_its_observation_and_true_next_state() -> None:
    (fragment,) = Trajectory(3, 40, mean_episode=6).cut([40])
    assert len(fragment.final_index) > 5
    step = Step(fragment)
    for t in range(40):
        for n in range(3):
            for key in ("blstats", "glyphs", "message"):
                np.testing.assert_array_equal(step.obs[key][t, n], state_at(fragment, t, n)[key])
                np.testing.assert_array_equal(step.next_obs[key][t, n], next_state_at(fragment, t, n)[key])
    for column in ("action", "reward", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(step, column), getattr(fragment, column))
    np.testing.assert_array_equal(step.first, fragment.first[:40])


def test_types() -> None:
    (fragment,) = Trajectory(2, 5).cut([5])
    step = Step(fragment)
    assert (
        {step.obs[key].dtype for key in step.obs} == {step.next_obs[key].dtype for key in step.obs} == {torch.float32}
    )
    assert (step.action.dtype, step.reward.dtype) == (torch.int64, torch.float32)
    assert {step.first.dtype, step.terminated.dtype, step.truncated.dtype} == {torch.bool}


def test_writing_to_a_tensor_does_not_change_the_fragment() -> None:
    (fragment,) = Trajectory(2, 5).cut([5])
    fragment.observations["image"] = np.ones((6, 2, 3), np.float32)
    fragment.finals["image"] = np.ones((len(fragment.final_index), 3), np.float32)
    step = Step(fragment)
    for tensor in (step.obs["image"], step.next_obs["image"], step.reward):
        tensor += 7
    assert (fragment.observations["image"] == 1).all()
    assert (fragment.reward <= 1).all()


def test_observations_are_a_mapping_that_converts_when_read() -> None:
    (fragment,) = Trajectory(2, 5).cut([5])
    step = Step(fragment)
    assert set(step.obs) == {"blstats", "glyphs", "message"}
    assert "blstats" in step.obs
    assert step.obs.get("rgb") is None
    assert step.obs["blstats"] is step.obs["blstats"]
    assert set(step.obs._converted) == {"blstats"}
    with pytest.raises(KeyError, match="unknown observation 'blstat'; did you mean blstats"):
        step.obs["blstat"]
