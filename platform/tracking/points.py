"""Rows as MLflow's points, and the comparison of what a run should hold with what it holds."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bonuslab.platform.run.results import representative
from bonuslab.platform.run.rows import STEPS, Row
from bonuslab.platform.tracking import run_description as words

if TYPE_CHECKING:
    from mlflow.entities import Metric

METRICS_PER_REQUEST = 999
"""MLflow's limit, without one tag."""
Point = tuple[str, int, int, float]
"""Name, step, time in milliseconds and value."""


def requests_of(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Complete rows, as many as fit into one request."""
    request: list[Row] = []
    size = 0
    for row in rows:
        if request and size + len(row) > METRICS_PER_REQUEST:
            yield request
            request, size = [], 0
        request.append(row)
        size += len(row)
    if request:
        yield request


def points_of(rows: Iterable[Row], started_ms: int, fewest: int = 0) -> Iterator[Point]:
    """The same rows give the same points, times included, so that MLflow recognises duplicates.

    Results of training begin when `fewest` episodes have ended: the first to end are the shortest, often won.
    """
    for row in (representative(row, fewest) for row in rows):
        step, seconds = int(row[STEPS]), row.get("wall_seconds", 0.0)
        at = started_ms + (round(1_000 * seconds) if math.isfinite(seconds) else 0)
        # The steps come last: a store that has them has the whole row.
        names = [*(name for name in row if name != STEPS), STEPS]
        yield from ((words.metric_name(name), step, at, _finite(row[name])) for name in names)


def metrics_of(rows: Iterable[Row], started_ms: int, fewest: int = 0) -> list[Metric]:
    """The points as MLflow's client takes them."""
    from mlflow.entities import Metric

    return [Metric(name, value, at, step) for name, step, at, value in points_of(rows, started_ms, fewest)]


def _finite(value: float) -> float:
    """MLflow's databases hold the largest float in place of infinity."""
    return max(-sys.float_info.max, min(sys.float_info.max, value))
