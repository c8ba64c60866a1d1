"""A singleton decision process: one context, and random numbers only for which actions stick."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bonuslab.envs.errors import InvalidInput

CONTEXT = 0
"""The id of the one context there is."""


def check_contexts(contexts: int | str | None) -> None:
    """Refuse any number of contexts but one."""
    if isinstance(contexts, bool) or (contexts is not None and str(contexts).strip() != "1"):
        raise InvalidInput(
            f"contexts {contexts!r} cannot be used on MontezumaRevenge; allowed: 1 (it is one and the same game always)"
        )


def env_seed(seed: int, held_out: bool, stream: int | Sequence[int], env_index: int) -> tuple[int, ...]:
    """What decides an environment's sticky actions. Held out: the same game, but luck that training never has."""
    streams = tuple(stream) if isinstance(stream, Sequence) else (stream,)
    for name, number in (("seed", seed), *(("stream", number) for number in streams)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise InvalidInput(f"{name} {number!r} cannot be used; allowed: whole numbers from 0")
    return (int(held_out), int(seed), *(int(number) for number in streams), env_index)
