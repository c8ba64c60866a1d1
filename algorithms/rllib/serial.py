"""Serial mode starts no Ray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray


@contextmanager
def plain_objects() -> Iterator[None]:
    """`ray.put` hands back the object itself.

    RLlib puts its configuration into Ray's object store even where it has no remote workers to read it, and that
    alone would start a Ray cluster of several processes. Where there are runners they get the configuration by value:
    Ray warns that a runner whose arguments lie in the object store cannot be restarted once those are lost.
    """
    original = ray.put

    def keep(value: Any, **_: Any) -> Any:
        return value

    ray.put = keep
    try:
        yield
    finally:
        ray.put = original
