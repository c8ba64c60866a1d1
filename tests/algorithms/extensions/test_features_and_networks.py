"""The user's features and networks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.bonuses.features.state_features import feature_of
from bonuslab.algorithms.bonuses.memory.hashing import hash_rows
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.extensions import feature, network
from bonuslab.algorithms.networks import Encoder, as_tensors, build_policy
from bonuslab.envs.errors import InvalidInput

HERE = re.escape(str(Path(__file__).resolve()))
ROWS = {"blstats": np.arange(5 * 27).reshape(5, 27) // 40}


def keys_of(name: str) -> np.ndarray:
    return feature_of(name, OBSERVATION_SPACE).keys(ROWS)


@pytest.mark.parametrize(
    "values",
    [ROWS["blstats"][:, :2], ROWS["blstats"][:, 0] % 2 == 0, ROWS["blstats"] / 3, np.array(list("aabbc"))],
)
def test_any_array_of_rows_is_hashed(values: np.ndarray) -> None:
    feature("rows", "blstats")(lambda observations: values)
    keys = keys_of("rows")
    assert keys.dtype == np.uint64
    np.testing.assert_array_equal(keys, hash_rows(values))
    for i in range(5):
        for j in range(5):
            assert (keys[i] == keys[j]) == np.array_equal(values[i], values[j])


def test_keys_are_taken_as_they_are() -> None:
    feature("keys", "blstats")(lambda observations: np.arange(5, dtype=np.uint64))
    np.testing.assert_array_equal(keys_of("keys"), np.arange(5))


@pytest.mark.parametrize("value", [None, 3, np.zeros(4), {"a": 1}])
def test_a_wrong_result_names_the_function(value: Any) -> None:
    feature("wrong", "blstats")(lambda observations: value)
    with pytest.raises(InvalidInput, match=rf"'wrong' \({HERE}:\d+\) must return one row per state, \[5, \.\.\.\]"):
        keys_of("wrong")


def test_counts_use_a_feature_and_it_stays_a_function() -> None:
    @feature("corner", "blstats")
    def corner(observations: dict[str, np.ndarray]) -> np.ndarray:
        return observations["blstats"][:, :2] < 33

    assert corner(ROWS).shape == (5, 2)
    bonus = parse("count.episodic(feature=corner)").build(Setting(OBSERVATION_SPACE, NUM_ACTIONS))
    (fragment,) = Trajectory(1, 30, mean_episode=10**9).cut([30])
    seen = {tuple(row) for row in fragment.observations["blstats"][:, 0, :2] < 33}
    assert 1 < len(seen) < 5
    assert bonus.compute(fragment).sum() == len(seen) - 1  # the first state pays nothing


def test_a_feature_that_is_defined_again_with_other_needs_is_replaced() -> None:
    def define(*needs: str, value: int) -> None:
        @feature("again", *needs)
        def again(observations: Any) -> np.ndarray:
            return np.full(5, value, np.uint64)

    define("blstats", value=1)
    define("blstats", "glyphs", value=2)
    assert feature_of("again", OBSERVATION_SPACE).needs == ("blstats", "glyphs")
    assert keys_of("again").tolist() == [2] * 5
    with pytest.raises(InvalidInput, match="state feature name 'again' is taken by"):
        feature("again", "blstats", "glyphs")(lambda observations: None)
    for name in ("two words", print):
        with pytest.raises(InvalidInput, match="needs a name"):
            feature(name)  # type: ignore[arg-type]


def make_wide(size: int) -> None:
    class Wide(Encoder):
        output_size = size

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(27, size)

        def forward(self, observations: Any) -> torch.Tensor:
            return self.layer(observations["blstats"].float())

    network("wide", core_size=7)(lambda space: Wide())


def test_a_network_builds_policies_and_may_be_defined_again() -> None:
    (fragment,) = Trajectory(3, 2).cut([2])
    for size in (4, 6):
        make_wide(size)
        policy = build_policy("wide", OBSERVATION_SPACE, NUM_ACTIONS)
        output = policy.act(
            as_tensors({key: rows[0] for key, rows in fragment.observations.items()}),
            torch.ones(3, dtype=torch.bool),
            policy.initial_state(3),
        )
        assert (output.features.shape, output.state[0].shape[-1]) == ((3, size), 7)


def test_what_cannot_be_a_network_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'small' is taken by bonuslab\.algorithms\.networks\.small"):
        network("small")(lambda space: None)  # type: ignore[arg-type, return-value]
    for name in ("auto", "Wide", print):
        with pytest.raises(InvalidInput, match="needs a lower-case name"):
            network(name)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="core_size must be a positive integer, not 0"):
        network("wide", core_size=0)
    network("wide")(lambda space: nn.Linear(2, 2))  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidInput, match=rf"'wide' \({HERE}:\d+\) must return an Encoder.* not Linear"):
        build_policy("wide", OBSERVATION_SPACE, NUM_ACTIONS)
