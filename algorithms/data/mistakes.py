"""Mistakes in a user's own code, reported in one sentence with file and line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.origin import origin_of

NOT_MISTAKES = (InvalidInput, MemoryError, OSError, torch.OutOfMemoryError)
"""Errors that are passed on as they are: they say enough, or the machine is to blame."""
_HINTS = {
    "expected np.ndarray": "use torch instead of NumPy, or .numpy() on tensors",
    "numpy.ndarray": "the values of a step are torch tensors, those of a fragment NumPy arrays",
    "on the same device": "create tensors with device=step.action.device",
    "convert cuda": "use torch instead of NumPy",
    "Can't call numpy()": "use torch instead of NumPy, or .detach().numpy()",
}
"""What to do, by a part of the message."""


@contextmanager
def named(what: str, definition: Any) -> Iterator[None]:
    """Report an error raised inside as a mistake of `definition`, with the line of its file that it came from."""
    try:
        yield
    except NOT_MISTAKES:
        raise
    except Exception as error:
        place = origin_of(definition).file
        line = line_in(error, place) if place else ""
        kind = "" if getattr(error, "says_it_all", False) else f"{type(error).__name__}: "
        text = str(error).strip().partition("\n")[0]
        hint = next((f"; {hint}" for part, hint in _HINTS.items() if part in str(error)), "")
        raise InvalidInput(f"{what}{f', line {line}' if line else ''}: {kind}{text}{hint}") from error


def line_in(error: BaseException, file: str) -> str:
    """The last line of the file that took part in the error; empty if none did."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return str(error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return str(lines[-1]) if lines else ""
