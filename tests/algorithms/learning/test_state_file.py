"""States come back exactly, without pickle; hostile ones are refused, and never run anything."""

from __future__ import annotations

import json
import tempfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bonuslab.algorithms.acting.runner import EpisodeSummary
from bonuslab.algorithms.bonuses.memory.covariance_root import CovarianceRoot
from bonuslab.algorithms.bonuses.memory.elliptical import EllipticalMemory
from bonuslab.algorithms.data.small_files import DamagedFile
from bonuslab.algorithms.learning.state_file import ARRAYS, TREE, read_state, write_state
from bonuslab.envs.errors import InvalidInput


def refuse(what: str) -> None:
    raise InvalidInput(what)


def there_and_back(state: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        write_state(Path(folder), state)
        return read_state(Path(folder), require_trust=refuse)


def same(one: Any, other: Any) -> bool:
    """Equal in type, order in memory and every bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.stride() == other.stride() and one.equal(other)
    if isinstance(one, np.ndarray | np.generic):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


keys = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | keys
    | st.binary(max_size=20)
    | arrays.arrays(
        st.sampled_from(["?", "u1", "<i8", "<f4", "<f8", "<c8", ">i2"]), arrays.array_shapes(min_dims=0, min_side=0)
    )
    | st.floats().map(np.float64)
    | st.frozensets(st.integers(), max_size=3)
)
states = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys | st.integers() | st.tuples(st.integers(), keys), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(states)
def test_every_state_comes_back_exactly(state: Any) -> None:
    assert same(there_and_back(state), state)


def test_order_in_memory_and_our_own_classes_come_back() -> None:
    root = CovarianceRoot(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    weights = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    state = {
        "memory": {3: (1, 2, EllipticalMemory(5, root=root))},
        "episodes": [EpisodeSummary(1.5, 3, True, {"coverage": 0.5}, {"rooms": frozenset({1, 2})})],
        "weights": OrderedDict(a=weights, b=torch.nn.Parameter(torch.ones(2)), c=torch.ones(2, dtype=torch.bfloat16)),
        "step": torch.tensor(7.0),
        "random": torch.Generator().get_state(),
        "pcg": np.random.default_rng(0).bit_generator.state,
    }
    back = there_and_back(state)
    assert back["memory"][3][2].root.upper.flags.f_contiguous
    assert same(back["memory"][3][2].root.upper, root.upper)
    assert back["episodes"] == state["episodes"]
    assert same(back["weights"]["a"], weights)
    assert back["weights"]["c"].dtype == torch.bfloat16
    assert same([back[name] for name in ("step", "random", "pcg")], [state[name] for name in ("step", "random", "pcg")])


def test_a_part_is_read_alone(tmp_path: Path) -> None:
    write_state(tmp_path, {"bonus": {"count": np.arange(3)}, "other": object})
    assert read_state(tmp_path, "bonus", "count", require_trust=refuse).tolist() == [0, 1, 2]
    with pytest.raises(DamagedFile, match="nothing"):
        read_state(tmp_path, "bonus", "nothing", require_trust=refuse)


class Evil:
    """Leaves a trace where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def test_a_pickle_runs_only_if_it_is_trusted(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    write_state(tmp_path, {"mine": Evil(trace)})
    with pytest.raises(InvalidInput, match="an object of the class 'Evil'"):
        read_state(tmp_path, require_trust=refuse)
    assert not trace.exists()
    read_state(tmp_path, require_trust=lambda what: None)
    assert trace.exists()


places = st.lists(st.integers(-10, 100) | st.text(max_size=3), max_size=5)
hostile = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | places,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["dict", "items", "tuple", "set", "bytes", "array", "scalar", "tensor", "class", "pickle", "x"]
            ),
            inner
            | st.just(["|O", [1], [0], 0, 8])
            | st.just(["<f8", [-1], [0], 0, 8])
            | st.sampled_from(["os", "system"]),
            max_size=2,
        )
    ),
    max_leaves=8,
)


@given(hostile | st.binary(max_size=50))
def test_a_hostile_tree_is_read_or_refused(tree: Any) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / TREE).write_bytes(tree if isinstance(tree, bytes) else json.dumps(tree).encode())
        (folder / ARRAYS).write_bytes(bytes(100))
        with suppress(InvalidInput):
            read_state(folder, require_trust=refuse)
