"""Random numbers from a context id, the same in every process and on every machine.

Uses only 64-bit integer arithmetic (splitmix64; Steele, Lea and Flood, 2014): no NumPy generator whose stream might
change between versions, no salted Python hash.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from enum import IntEnum
from typing import Any, Final

from bonuslab.envs.errors import check_integer

CONTEXT_LIMIT: Final = 2**48
"""Context ids are 0 <= id < CONTEXT_LIMIT."""

_GOLDEN: Final = 0x9E3779B97F4A7C15
_MASK64: Final = 2**64 - 1
_MASK32: Final = 2**32 - 1


class Purpose(IntEnum):
    """What a seed is for. The seeds of one context are independent across purposes."""

    LEVEL = 0
    GAME_CORE = 1
    GAME_DISPLAY = 2


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK64
    return value ^ (value >> 31)


def splitmix64(value: int, salt: int = 0) -> int:
    """A pseudorandom 64-bit integer; a bijection of the 64-bit `value` for each `salt`."""
    hidden = _mix((value + _GOLDEN) & _MASK64)
    return _mix((hidden + (salt + 1) * _GOLDEN) & _MASK64)


def check_context(context: object) -> int:
    """`context` as an int; rejects what is no context id."""
    return check_integer("context id", context, 0, CONTEXT_LIMIT - 1)


def context_seed(context: int, purpose: Purpose) -> int:
    """The 64-bit seed of `context` for `purpose`."""
    return splitmix64(check_context(context), int(purpose))


class Stream:
    """A stream of random integers; `levels/chain.py` has a compiled version with the same output."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK64

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), unbiased (Lemire's method on 32 bits); 1 <= bound < 2**32."""
        threshold = 2**32 % bound
        while True:
            self._state = (self._state + _GOLDEN) & _MASK64
            product = (_mix(self._state) >> 32) * bound
            if product & _MASK32 >= threshold:
                return product >> 32

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle `items` uniformly, in place (Fisher-Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
