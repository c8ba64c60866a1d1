"""The error that a user's input causes: it names the value, says what is allowed, and ends with status 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InvalidInput(ValueError):  # noqa: N818 (it reads as what it is: `raise InvalidInput("...")`)
    """A value the user gave cannot be used. The command line prints the text alone and exits with 2."""


def unknown(kind: str, value: object, allowed: Iterable[str]) -> InvalidInput:
    """An error for a name that is not among `allowed`, with the nearest valid names."""
    names = sorted(allowed)
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(str(value).lower(), lowered, n=3, cutoff=0.5)
    text = f"unknown {kind} {value!r}"
    if near:
        return InvalidInput(f"{text}; did you mean {' or '.join(lowered[name] for name in near)}?")
    return InvalidInput(f"{text}; allowed: {', '.join(names)}")
