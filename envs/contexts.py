"""Which contexts a run plays: a fixed set drawn from its seed, or a new one every episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bonuslab.envs.errors import InvalidInput, check_integer

ContextCount = int | str | None
"""1, 3, 5, 10, ... contexts, also as text; None or "inf" for a new one every episode."""
_MAX_CONTEXTS: Final = 1_000_000
# Two random streams that never coincide, whatever the seeds and stream numbers.
SET_STREAM, ORDER_STREAM = 0, 1


def parse_count(count: ContextCount) -> int | None:
    """The number of contexts, None for infinitely many."""
    text = "inf" if count is None else str(count).strip().lower()
    if text == "inf":
        return None
    if isinstance(count, bool) or not text.isascii() or not text.isdigit() or not 1 <= int(text[:20]) <= _MAX_CONTEXTS:
        raise InvalidInput(f"contexts {count!r} cannot be used; allowed: 1 to {_MAX_CONTEXTS:,}, or inf")
    return int(text)


class ContextSampler(ABC):
    """Samples the context of each episode.

    A finite set depends on `seed` alone, so all runners of a run share it; the order of draws depends on `stream` too.
    """

    def __init__(self, ids: tuple[int, ...] | None, seed: int, stream: int | Sequence[int], **identity: Any) -> None:
        """`ids` is the finite set, if any; a state restores only into a sampler with the same ids and `identity`."""
        self.ids = ids
        self._identity = {"ids": ids, **identity}
        numbers = stream if isinstance(stream, Sequence) else (stream,)
        self._stream = tuple(check_integer("stream", number, 0) for number in numbers)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Restart the order of draws from `seed`; a finite set stays the same."""
        key = [ORDER_STREAM, check_integer("seed", seed, 0), *self._stream]
        self._random = np.random.Generator(np.random.PCG64(key))

    def draw(self) -> int:
        """The context of the next episode."""
        if self.ids is None:
            return self._draw_any()
        return self.ids[int(self._random.integers(len(self.ids)))]

    def get_state(self) -> dict[str, Any]:
        """Picklable state from which `set_state` continues the same draws."""
        return {**self._identity, "random": self._random.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Resume from `get_state`."""
        if any(state[key] != value for key, value in self._identity.items()):
            raise InvalidInput("this state belongs to other contexts: its count, seed or split differs")
        self._random.bit_generator.state = state["random"]

    @abstractmethod
    def _draw_any(self) -> int:
        """Draw from all contexts there are."""


class SeedContexts(ContextSampler):
    """Contexts that are integers below `limit`. The upper half is held out: it never occurs in training."""

    limit = 2**31
    """By default what any environment accepts as a seed."""

    def __init__(
        self, count: ContextCount = None, seed: int = 0, *, held_out: bool = False, stream: int | Sequence[int] = 0
    ) -> None:
        self._range = (self.limit // 2, self.limit) if held_out else (0, self.limit // 2)
        number = parse_count(count)
        ids = None if number is None else self._draw_set(number, check_integer("seed", seed, 0))
        super().__init__(ids, seed, stream)

    def _draw_set(self, count: int, seed: int) -> tuple[int, ...]:
        random = np.random.Generator(np.random.PCG64([SET_STREAM, seed]))
        ids: dict[int, None] = {}  # in the order drawn, so that 3 contexts are the first 3 of 5
        while len(ids) < count:
            context = int(random.integers(*self._range))
            if self._belongs(context):
                ids[context] = None
        return tuple(ids)

    def _belongs(self, context: int) -> bool:
        """Whether a finite set may have this context."""
        return True

    def _draw_any(self) -> int:
        return int(self._random.integers(*self._range))
