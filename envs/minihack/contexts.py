"""Which contexts a run meets: a few, drawn once from its seed, or a new one every episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.randomness import CONTEXT_LIMIT

_TRAINING: Final = (0, CONTEXT_LIMIT // 2)
_HELD_OUT: Final = (CONTEXT_LIMIT // 2, CONTEXT_LIMIT)
_MOST_CONTEXTS: Final = 1_000_000
# The two random streams must not coincide whatever seeds and stream numbers are given.
_FOR_THE_SET, _FOR_THE_DRAWS = 0, 1

ContextCount = int | str | None
"""1, 3, 5, 10, ... contexts, also as text; None or "inf" for a new one every episode."""


def parse_count(count: ContextCount) -> int | None:
    """The number of contexts, None for infinitely many."""
    if count is None:
        return None
    text = str(count).strip().lower()
    if text == "inf":
        return None
    if isinstance(count, bool) or not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_CONTEXTS:
        raise InvalidInput(f"contexts {count!r} cannot be used; allowed: 1 to {_MOST_CONTEXTS:,}, or inf")
    return int(text)


def check_context(context: object) -> int:
    """`context` as an int, if it is a context id."""
    whole = isinstance(context, int | np.integer) and not isinstance(context, bool)
    if not whole or not 0 <= int(context) < CONTEXT_LIMIT:  # type: ignore[call-overload]
        raise InvalidInput(f"context id {context!r} cannot be used; allowed: whole numbers from 0 to 2**48 - 1")
    return int(context)  # type: ignore[call-overload]


class Contexts:
    """Draws the context of each episode.

    The set of a finite number of contexts depends on `seed` alone, so all runners of a run share it. The order in
    which it is met depends on `stream` too. Held-out contexts never occur in training.
    """

    def __init__(
        self,
        count: ContextCount = None,
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int | Sequence[int] = 0,
    ) -> None:
        self.count = parse_count(count)
        self.seed = _check_seed("seed", seed)
        self.held_out = held_out
        numbers = (stream,) if isinstance(stream, int | np.integer) else tuple(stream)
        self.stream = tuple(_check_seed("stream", number) for number in numbers)
        self._range = _HELD_OUT if held_out else _TRAINING
        self.ids = self._draw_set()
        self.reseed(self.seed)

    def _draw_set(self) -> tuple[int, ...] | None:
        if self.count is None:
            return None
        random = np.random.Generator(np.random.PCG64([_FOR_THE_SET, self.seed]))
        ids: dict[int, None] = {}  # in the order drawn, so that 3 contexts are the first 3 of 5
        while len(ids) < self.count:
            ids[int(random.integers(*self._range))] = None
        return tuple(ids)

    def reseed(self, seed: int) -> None:
        """Restart the order of draws from `seed`. The set of finitely many contexts stays what it is."""
        key = [_FOR_THE_DRAWS, _check_seed("seed", seed), *self.stream]
        self._random = np.random.Generator(np.random.PCG64(key))

    def draw(self) -> int:
        """The context of the next episode."""
        if self.ids is None:
            return int(self._random.integers(*self._range))
        return self.ids[int(self._random.integers(len(self.ids)))]

    def get_state(self) -> dict[str, Any]:
        """What `set_state` needs to go on with the same draws; can be pickled."""
        return {"ids": self.ids, "random": self._random.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called."""
        if state["ids"] != self.ids:
            raise InvalidInput("this state belongs to other contexts: its count or seed differs")
        self._random.bit_generator.state = state["random"]


def _check_seed(name: str, seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or int(seed) < 0:
        raise InvalidInput(f"{name} {seed!r} cannot be used; allowed: whole numbers from 0")
    return int(seed)
