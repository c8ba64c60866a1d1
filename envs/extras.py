"""Packages that are not installed, and the extras of bonuslab that install them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires

_IMPORTED_AS = {"dm-tree": "tree", "pillow": "PIL", "pyyaml": "yaml"}
_OF_EXTRA = re.compile(r"""([\w-]+).*; extra == ["']([\w-]+)["']""")


def missing(what: str, error: ModuleNotFoundError) -> str:
    """One sentence: what needs which package, and the command that installs it."""
    package = (error.name or "").partition(".")[0]
    found = (_OF_EXTRA.match(line) for line in requires("bonuslab") or ())
    extras: dict[str, str] = {}
    for match in filter(None, found):
        extras.setdefault(_module(match[1]), match[2])  # the first, which is the smallest, of those that have it
    wanted = f"bonuslab[{extras[package]}]" if package in extras else package
    return f'{what} needs the Python package {package!r}, which is not installed: pip install "{wanted}"'


@contextmanager
def required_by(what: str) -> Iterator[None]:
    """Within this context, the error for a missing package says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if is_ours(error):
            raise
        raise ModuleNotFoundError(missing(what, error), name=error.name) from error


def is_ours(error: ModuleNotFoundError) -> bool:
    """Whether the missing module is bonuslab's own: a mistake, not a missing package."""
    return (error.name or "bonuslab").partition(".")[0] == "bonuslab"


def _module(distribution: str) -> str:
    name = distribution.lower().replace("_", "-")
    return _IMPORTED_AS.get(name, distribution.replace("-", "_"))
