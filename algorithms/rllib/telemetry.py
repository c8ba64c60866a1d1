"""Results as Prometheus gauges, through Ray's metrics agent."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.metrics import Gauge

from bonuslab.algorithms.rllib.metrics import METRICS, values

OTHERS = "bonuslab_metric"
"""One more gauge, tagged with `metric`: every metric that has no gauge of its own."""


class Telemetry:
    """Gauges tagged with the run's task, bonus and seed; does nothing where Ray does not run."""

    def __init__(self, config: Any) -> None:
        self._tags = {"task": str(config.env), "bonus": config.bonus_expression, "seed": str(config.seed)}
        keys = tuple(self._tags)
        self._gauges = {
            metric.name: Gauge(metric.gauge_name, description=metric.meaning, tag_keys=keys)
            for metric in METRICS
            if metric.gauge
        }
        self._others = Gauge(OTHERS, description="Metrics without a gauge of their own.", tag_keys=(*keys, "metric"))

    def publish(self, results: dict[str, Any]) -> dict[str, float]:
        """Set the gauges to the metrics in the results, which are returned by name."""
        if not ray.is_initialized():
            return {}
        found = values(results)
        for name, value in found.items():
            if name in self._gauges:
                self._gauges[name].set(value, tags=self._tags)
            else:
                self._others.set(value, tags={**self._tags, "metric": name})
        return found
