"""Serial mode without Ray processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import ray


@contextmanager
def no_object_store() -> Iterator[None]:
    """Within this context, `ray.put(x)` returns x.

    RLlib's EnvRunnerGroup puts its config into the object store even without remote runners, which would start a Ray
    cluster. Remote runners then receive the config by value, so they can be restarted after the store has lost it.
    """
    original, ray.put = ray.put, lambda value, **_: value
    try:
        yield
    finally:
        ray.put = original
