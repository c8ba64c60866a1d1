"""Results and errors of remote calls."""

from __future__ import annotations

from typing import Any

import ray
from ray.exceptions import RayTaskError


def get_result(reference: ray.ObjectRef, timeout: float | None = None) -> Any:
    """`ray.get` that raises the original exception of a failed task."""
    try:
        return ray.get(reference, timeout=timeout)
    except RayTaskError as error:
        raise cause_of(error) from error


def cause_of(error: RayTaskError) -> BaseException:
    """The original exception of a failed task, or one of its type if it could not be pickled."""
    return error.cause if isinstance(error.cause, Exception) else error.as_instanceof_cause()
