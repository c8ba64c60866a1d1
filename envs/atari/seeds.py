"""A singleton MDP: one context, and randomness only in which actions stick."""

from __future__ import annotations

from collections.abc import Sequence

from bonuslab.envs.errors import InvalidInput, check_integer

CONTEXT = 0
"""The id of the only context."""


def check_contexts(contexts: int | str | None, game: str) -> None:
    """Reject any number of contexts but one."""
    if isinstance(contexts, bool) or (contexts is not None and str(contexts).strip() != "1"):
        raise InvalidInput(f"contexts {contexts!r} cannot be used on {game}; allowed: 1 (the game is always the same)")


def env_seed(seed: int, held_out: bool, stream: int | Sequence[int], env_index: int) -> tuple[int, ...]:
    """The seed of an env's sticky actions. Held out: the same game with independent randomness."""
    numbers = stream if isinstance(stream, Sequence) else (stream,)
    streams = [check_integer("stream", number, 0) for number in numbers]
    return (int(held_out), check_integer("seed", seed, 0), *streams, env_index)
