"""The one reader of small JSON files: size, encoding, depth and types are checked before anything uses them."""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import MISSING, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from bonuslab.envs.errors import InvalidInput

MAX_BYTES = 2**28
"""A grid of 50,000 trials has a description of 150 MB."""
MAX_DEPTH = 64
LIMIT = 2**63
"""Numbers beyond it come from damage, and overflow in databases and dates."""
T = TypeVar("T")


class DamagedFile(InvalidInput):
    """A file that is not what we wrote; the message names it."""


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """The content of a JSON file; raises `DamagedFile`, or `FileNotFoundError` if there is none."""
    try:
        text = read_bytes(path, max_bytes).decode()
        content = json.loads(text)
        _check(content, MAX_DEPTH)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DamagedFile):
            raise
        too_long = not isinstance(error, json.JSONDecodeError) and "digits" in str(error)
        reason = "it is not UTF-8" if isinstance(error, UnicodeError) else "a number is too long" if too_long else error
        raise DamagedFile(f"{path} cannot be read: {reason}") from error
    return content


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a regular file of limited size."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):  # reading a pipe would never end
            raise DamagedFile(f"{path} cannot be read: it is not a file")
        if found.st_size > max_bytes:
            raise DamagedFile(f"{path} cannot be read: it has {found.st_size:,} bytes, more than {max_bytes:,}")
        with open(path, "rb") as file:
            return file.read(max_bytes)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFile(f"{path} cannot be read: {error.strerror or error}") from error


def typed(kind: type[T], values: Any, place: object) -> T:
    """`values` as the dataclass `kind`, its types checked; names it does not have are ignored."""
    if not isinstance(values, dict):
        raise DamagedFile(f"{place} cannot be read: it is not a JSON object")
    hints = get_type_hints(kind)
    found = {}
    for item in fields(kind):  # type: ignore[arg-type]
        if item.name in values:
            if not fits(values[item.name], hints[item.name]):
                raise DamagedFile(f"{place} cannot be read: {item.name} is {_shown(values[item.name])}")
            found[item.name] = values[item.name]
        elif item.default is MISSING and item.default_factory is MISSING:
            raise DamagedFile(f"{place} cannot be read: {item.name} is missing")
    return kind(**found)


def fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value has the type of an annotation; numbers must be finite and below `LIMIT`."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in inner
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is list:
        return isinstance(value, list) and all(fits(one, inner[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(one, inner[1]) for one in value.values())
    if hint in (int, float):
        right = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        return right and (isinstance(value, int) or math.isfinite(value)) and abs(value) < LIMIT
    return isinstance(value, hint)


def _check(value: Any, depth: int) -> None:
    """Refuse what would fail later: deep nesting, text that cannot be printed or be part of a path."""
    if depth < 0:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("it contains a NUL character")
        value.encode()
    elif isinstance(value, dict):
        for name, one in value.items():
            _check(name, depth)
            _check(one, depth - 1)
    elif isinstance(value, list):
        for one in value:
            _check(one, depth - 1)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
