"""The state of an algorithm as two plain files, without pickle: a JSON tree, and the bytes of its arrays.

JSON has no tuples, sets, bytes, arrays or keys that are not text; they are objects with one key, which says what they
are. Arrays keep their type and their order in memory, so that the next step after loading is the same bit for bit.
What is none of this, such as an object of a user's own bonus, is pickled, and loaded only if the file is trusted.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import pickle
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from bonuslab.algorithms.data.small_files import DamagedFile, read_json
from bonuslab.envs.errors import InvalidInput

TREE, ARRAYS = "state.json", "state.bin"
CLASSES = {
    "CovarianceRoot": "bonuslab.algorithms.bonuses.memory.covariance_root",
    "EllipticalMemory": "bonuslab.algorithms.bonuses.memory.elliptical",
    "EpisodeSummary": "bonuslab.algorithms.acting.runner",
    "NeighbourMemory": "bonuslab.algorithms.bonuses.ngu",
    "RunningEpisode": "bonuslab.algorithms.bonuses.adaptive",
}
"""Dataclasses and named tuples that a state may contain, and their modules."""
_COLLECTIONS: dict[str, type] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_KINDS = "biufc"
"""NumPy's booleans, integers and floats: arrays of objects would be pickles."""


def write_state(folder: Path, state: Any) -> None:
    """Write `state` into two files of `folder`."""
    with (folder / ARRAYS).open("wb") as arrays:
        tree = _Writer(arrays).encoded(state)
    (folder / TREE).write_text(json.dumps(tree))


def read_state(folder: Path, *path: str, require_trust: Callable[[str], None]) -> Any:
    """The state in `folder`, or the part of it below the keys `path`; `require_trust(what)` may refuse a pickle."""
    tree = read_json(folder / TREE)
    try:
        for name in path:
            tree = tree["dict"][name]
        with (folder / ARRAYS).open("rb") as file:
            empty = not file.seek(0, 2)
            data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _Reader(data, require_trust).decoded(tree)
    except InvalidInput:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, OSError) as error:
        raise DamagedFile(f"{folder / TREE} cannot be read: {type(error).__name__}: {error}") from error


class _Writer:
    def __init__(self, arrays: BinaryIO) -> None:
        self._arrays = arrays

    def encoded(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is list:
            return [self.encoded(one) for one in value]
        if kind in (dict, OrderedDict):
            if all(type(name) is str for name in value):
                return {"dict": {name: self.encoded(one) for name, one in value.items()}}
            return {"items": [[self.encoded(name), self.encoded(one)] for name, one in value.items()]}
        if kind.__name__ in _COLLECTIONS and kind is _COLLECTIONS[kind.__name__]:
            return {kind.__name__: [self.encoded(one) for one in value]}
        if kind is bytes:
            return {"bytes": self._stored(value)}
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _KINDS:
            return {"array" if isinstance(value, np.ndarray) else "scalar": self._array(np.asarray(value))}
        if kind in (torch.Tensor, torch.nn.Parameter):
            plain = value.detach().cpu()
            if plain.dtype == torch.bfloat16:
                return {"bfloat16": self._array(plain.view(torch.int16).numpy())}
            return {"tensor": self._array(plain.numpy())}
        if CLASSES.get(kind.__name__) == kind.__module__:
            values = dict(zip(value._fields, value, strict=True)) if hasattr(value, "_fields") else _fields(value)
            return {"class": kind.__name__, "fields": {name: self.encoded(one) for name, one in values.items()}}
        return {"pickle": self._stored(pickle.dumps(value, protocol=5)), "of": kind.__name__}

    def _array(self, array: np.ndarray) -> list[Any]:
        # By falling stride: Fortran's order and channels-last stay what they are.
        axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
        ordered = array.transpose(axes)
        return [array.dtype.str, list(ordered.shape), axes, *self._stored(ordered.tobytes())]

    def _stored(self, data: bytes) -> list[int]:
        start = self._arrays.tell()
        self._arrays.write(data)
        return [start, len(data)]


class _Reader:
    def __init__(self, data: Any, require_trust: Callable[[str], None]) -> None:
        self._data = data
        self._require_trust = require_trust

    def decoded(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.decoded(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        kind, content = next(iter(tree.items()), ("", ""))  # type: str, Any
        if kind == "dict":
            return {name: self.decoded(one) for name, one in content.items()}
        if kind == "items":
            return {self.decoded(name): self.decoded(one) for name, one in content}
        if kind in _COLLECTIONS:
            return _COLLECTIONS[kind](self.decoded(one) for one in content)
        if kind == "bytes":
            return self._stored(*content)
        if kind == "array":
            return self._array(*content)
        if kind == "scalar":
            return self._array(*content)[()]
        if kind == "tensor":
            return torch.from_numpy(self._array(*content))
        if kind == "bfloat16":
            return torch.from_numpy(self._array(*content)).view(torch.bfloat16)
        if kind == "class":
            known = getattr(import_module(CLASSES[content]), content)
            return known(**{name: self.decoded(one) for name, one in tree["fields"].items()})
        if kind == "pickle":
            self._require_trust(f"an object of the class {tree.get('of')!r}")
            return pickle.loads(self._stored(*content))
        raise KeyError(kind)

    def _array(self, dtype: str, shape: list[int], axes: list[int], start: int, size: int) -> np.ndarray:
        if np.dtype(dtype).kind not in _KINDS:
            raise TypeError(f"arrays of {dtype} are not stored")
        flat = np.frombuffer(self._stored(start, size), dtype)
        return flat.reshape(shape).transpose(np.argsort(axes)).copy(order="K")

    def _stored(self, start: int, size: int) -> bytes:
        found = self._data[start : start + size]
        if start < 0 or len(found) != size:
            raise IndexError(f"{size} bytes at {start} are not there")
        return bytes(found)


def _fields(value: Any) -> dict[str, Any]:
    return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
