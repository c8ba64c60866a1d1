"""Where a registered class or function was defined, which decides who owns its name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from bonuslab.envs.errors import InvalidInput


@dataclass(frozen=True)
class Origin:
    """Module and qualified name of a definition, and its file and line where they are known."""

    module: str
    qualname: str
    file: str | None = None
    line: int = 0

    @property
    def built_in(self) -> bool:
        """Whether the definition is part of bonuslab itself."""
        return (self.module or "").split(".")[0] == "bonuslab"

    @property
    def place(self) -> str:
        """`file.py:12`, or the name in its module where there is no file."""
        return f"{self.module}.{self.qualname}" if self.file is None else f"{self.file}:{self.line}"

    def same_as(self, other: Origin) -> bool:
        """Whether both are versions of one definition; a script and the same file imported as a module are."""
        if self.qualname != other.qualname:
            return False
        return self.module == other.module or (self.file is not None and self.file == other.file)


def origin_of(definition: Any) -> Origin:
    """The origin of a function, class, partial, bound method or callable object."""
    while isinstance(definition, partial):
        definition = definition.func
    definition = inspect.unwrap(getattr(definition, "__func__", definition))
    if not isinstance(definition, FunctionType | type):
        definition = type(definition)
    return _origin(definition)


@cache
def _origin(definition: FunctionType | type) -> Origin:
    """Looks at files, so once per definition: a configuration asks for all of them at every iteration."""
    code = min(codes_of(definition), key=lambda code: code.co_firstlineno, default=None)
    if code is None or code.co_filename.startswith("<"):  # not a file: <stdin>, <string>
        return Origin(definition.__module__, definition.__qualname__)
    path = Path(code.co_filename)
    file = str(path.resolve()) if path.is_file() else code.co_filename
    return Origin(definition.__module__, definition.__qualname__, file, code.co_firstlineno)


def codes_of(definition: FunctionType | type) -> Iterator[CodeType]:
    """The code that a user wrote; methods that `dataclass` or a decorator of ours added do not count."""
    members = [definition] if isinstance(definition, FunctionType) else vars(definition).values()
    for member in members:
        function = inspect.unwrap(getattr(member, "__func__", member))
        if not isinstance(function, FunctionType) or function.__module__ != definition.__module__:
            continue
        if function.__code__.co_filename != "<string>":
            yield function.__code__


def check_owner(kind: str, name: str, known: Any, new: Any) -> None:
    """Refuse a name that another definition has; a definition may replace itself, as when a cell runs again."""
    if known is None:
        return
    owner = origin_of(known)
    if not owner.same_as(origin_of(new)):
        place = "" if owner.built_in or owner.file is None else f" ({owner.place})"
        raise InvalidInput(f"{kind} name {name!r} is taken by {owner.module}.{owner.qualname}{place}; choose another")
