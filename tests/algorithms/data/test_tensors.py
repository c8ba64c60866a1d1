"""Read-only arrays, as in Ray's object store, become tensors without a copy or a warning."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import IntrinsicModel, Setting, parse
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.learning.learner import to_tensors

EVERY_MODEL = "e3b * rnd + e3b(encoder=policy) + e3b(encoder=random) + rnd(networks=full) + agac + icm + ride"


@pytest.fixture(autouse=True)
def _every_warning_is_an_error() -> Iterator[None]:
    """By default torch warns only once per process."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The given NumPy array is not writable")
        yield
    torch.set_warn_always(always)


def locked(value: Any) -> Any:
    """A read-only copy of an array, or of a container of arrays."""
    if isinstance(value, dict):
        return {key: locked(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(locked, value))
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.setflags(write=False)
    return value


def test_torch_itself_would_warn():
    with pytest.raises(UserWarning, match="not writable"):
        torch.from_numpy(locked(np.ones(3)))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.int64, np.float32])
def test_the_tensor_shares_the_memory_of_the_array(dtype):
    for array in (locked(np.arange(12).reshape(3, 4).astype(dtype)), np.arange(12).reshape(3, 4).astype(dtype)):
        for part in (array, array[::2, 1:], array.T, array[:0], array[1, 2:]):
            tensor = as_tensor(part)
            np.testing.assert_array_equal(tensor.numpy(), part)
            assert tensor.data_ptr() == part.ctypes.data or not part.size


def test_the_tensor_keeps_the_memory_alive():
    tensor = as_tensor(locked(np.arange(100_000)))
    gc.collect()
    others = [np.full(100_000, -1) for _ in range(5)]  # would reuse the memory if it were free
    assert len(others) == 5
    assert torch.equal(tensor, torch.arange(100_000))


def test_bonuses_and_learner_read_locked_fragments_without_warnings():
    (fragment,) = Trajectory(num_envs=3, num_steps=20, seed=1).cut([20])
    rng = np.random.default_rng(0)
    fragment = replace(
        fragment,
        policy_features=rng.normal(size=(21, 3, 16)).astype(np.float32),
        extra={"reward": fragment.reward},
    )
    fragment = replace(fragment, **{item.name: locked(getattr(fragment, item.name)) for item in fields(fragment)})
    model = IntrinsicModel(parse(EVERY_MODEL), Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small"))
    assert np.isfinite(model.process(fragment).bonus).all()
    tensors = to_tensors(fragment, "cpu")
    assert tensors["action"].data_ptr() == fragment.action.ctypes.data
