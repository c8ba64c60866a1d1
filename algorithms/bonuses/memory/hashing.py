"""64-bit hash keys of arrays, batched: they represent states in count tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bonuslab.envs.compiling import HAS_NUMBA, njit

Array = np.ndarray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_WORD = np.uint64(0xD6E8FEB86659FD93)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_BYTE = np.uint64(8)
_ZERO = np.uint64(0)
_BLOCK = 32


@njit(cache=True, inline="always")
def mix(key: Any) -> Any:
    """SplitMix64's bijective mixing of 64 bits: every input bit flips half of the output bits on average."""
    key = (key ^ (key >> _S30)) * _MIX_1
    key = (key ^ (key >> _S27)) * _MIX_2
    return key ^ (key >> _S31)


@njit(cache=True, inline="always")
def _absorb(state: Any, word: Any) -> Any:
    # Bijective in the word for a given state and vice versa, so rows that differ in one word never collide.
    word = word * _WORD
    state = (state ^ word ^ (word >> _S32)) * _MIX_1
    return state ^ (state >> _S32)


@njit(cache=True)
def _hash_words(words: Array, out: Array) -> None:
    for row in range(words.shape[0]):
        state = _GOLDEN
        for column in range(words.shape[1]):
            state = _absorb(state, words[row, column])
        out[row] = mix(state)


def hash_columns(words: Array, out: Array) -> None:
    """The same with NumPy: a step for each column, of all rows."""
    state = np.full(len(words), _GOLDEN)
    for column in words.T:
        state = _absorb.py_func(state, column)
    out[:] = mix.py_func(state)


@njit(cache=True)
def _hash_texts(texts: Array, out: Array) -> None:
    for row in range(texts.shape[0]):
        end = 0
        while end < texts.shape[1] and texts[row, end] != 0:
            end += 1
        while end > 0 and texts[row, end - 1] == 32:
            end -= 1
        state = _absorb(_GOLDEN, np.uint64(end))
        word = _ZERO
        for column in range(end):
            word = (word << _BYTE) | np.uint64(texts[row, column])
            if column % 8 == 7:
                state = _absorb(state, word)
                word = _ZERO
        out[row] = mix(_absorb(state, word))


def chain(keys: Array, others: Array) -> Array:
    """uint64: a key of each ordered pair of two arrays, which are broadcast."""
    # NumPy's arithmetic: ufuncs by numba would take a quarter of a second to load at every start.
    absorb = _absorb.py_func
    return mix.py_func(absorb(absorb(_GOLDEN, keys), others))


def pair_keys(first: Array, second: Array) -> Array:
    """[B] uint64: a unique key for each pair of 32-bit integers."""
    low = second.astype(np.int64) & np.int64(0xFFFFFFFF)
    return mix.py_func(((first.astype(np.int64) << 32) | low).view(np.uint64))


def hash_rows(rows: Array) -> Array:
    """[B] uint64: a key of the contents of each row of [B, ...]."""
    if np.issubdtype(rows.dtype, np.floating):
        rows = rows + 0.0  # -0.0 and 0.0 are the same state
    size = math.prod(rows.shape[1:]) * rows.dtype.itemsize
    data = np.ascontiguousarray(rows).reshape(len(rows), size // rows.dtype.itemsize).view(np.uint8)
    out = np.empty(len(rows), np.uint64)
    hash_words = _hash_words if HAS_NUMBA else hash_columns
    if size % 8 == 0:
        hash_words(data.view(np.uint64), out)
        return out
    padded = np.zeros((_BLOCK, size + -size % 8), np.uint8)  # small enough for the cache
    for start in range(0, len(rows), _BLOCK):
        block = data[start : start + _BLOCK]
        padded[: len(block), :size] = block
        hash_words(padded[: len(block)].view(np.uint64), out[start : start + _BLOCK])
    return out


def hash_texts(texts: Array) -> Array:
    """[B] uint64: a key of each zero-terminated text of [B, L] uint8, without trailing spaces."""
    out = np.empty(len(texts), np.uint64)
    _hash_texts(texts, out)
    return out
