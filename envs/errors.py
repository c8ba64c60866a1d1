"""The error for invalid user input: it names the value and what is allowed; the command exits with status 2."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from numbers import Integral

_LONG_WORD = re.compile(r"\S{300,}")


class InvalidInput(ValueError):  # noqa: N818 (it reads as what it is: `raise InvalidInput("...")`)
    """Invalid user input. The command line prints only the message and exits with status 2."""


class Unavailable(InvalidInput):
    """Valid input, but this machine lacks the simulator or the data that it needs."""


def printable(reason: str) -> str:
    """A message without the end of very long words; bytes of a command line that are no characters are escaped."""
    shown = _LONG_WORD.sub(lambda word: f"{word[0][:60]}…", reason)
    return shown.encode(errors="backslashreplace").decode()


def unknown(kind: str, value: object, allowed: Iterable[str], hint: str | None = None) -> InvalidInput:
    """The error for a name that is not in `allowed`; suggests the closest ones, or else `hint` or all of them."""
    names = sorted(allowed)
    lowered = {name.lower(): name for name in names}
    same = [name for name in lowered if _letters(name) == _letters(str(value).lower()) != ""]
    near = same or difflib.get_close_matches(str(value).lower(), lowered, n=3, cutoff=0.6)
    text = f"unknown {kind} {value!r}"
    if near:
        return InvalidInput(f"{text}; did you mean {' or '.join(lowered[name] for name in near)}?")
    return InvalidInput(f"{text}; {hint or 'allowed: ' + ', '.join(names)}")


def _letters(name: str) -> str:
    """Without punctuation: `N4S5` is `N4-S5`."""
    return "".join(filter(str.isalnum, name))


def check_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as an int; rejects what is no integer or outside [low, high]."""
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not integer or value < low or (high is not None and value > high):  # type: ignore[operator]
        allowed = f"whole numbers from {low}" + ("" if high is None else f" to {high}")
        raise InvalidInput(f"{name} {value!r} cannot be used; allowed: {allowed}")
    return int(value)  # type: ignore[call-overload]


def check_flag(name: str, value: object) -> bool:
    """`value` of the setting `name` as a bool."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} {value!r} cannot be used; allowed: true, false")
    return value
