"""Results as Prometheus gauges, through Ray's metrics agent."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.metrics import Gauge

GAUGES = {
    "env_steps": ("env_runners", "num_env_steps_sampled_lifetime"),
    "env_steps_per_second": ("env_runners", "num_env_steps_sampled_lifetime_throughput"),
    "learnt_steps_per_second": ("learners", "__all_modules__", "num_env_steps_trained_lifetime_throughput"),
    "episode_return": ("env_runners", "episode_return_mean"),
    "episode_length": ("env_runners", "episode_len_mean"),
    "win_rate": ("env_runners", "win_rate"),
    "bonus": ("bonus", "bonus/mean"),
    "bonus_episodic": ("bonus", "bonus_episodic/mean"),
    "bonus_global": ("bonus", "bonus_global/mean"),
    "entropy": ("learners", "default_policy", "entropy"),
    "policy_loss": ("learners", "default_policy", "policy_loss"),
    "baseline_loss": ("learners", "default_policy", "baseline_loss"),
    "policy_lag_updates": ("learners", "default_policy", "policy_lag_updates"),
    "queue_depth": ("queue_depth",),
}
"""Gauge `bonuslab_<name>` by its place in RLlib's results."""


class Telemetry:
    """Gauges tagged with the run's task, bonus and seed; silent where Ray does not run."""

    def __init__(self, config: Any) -> None:
        self._tags = {"task": str(config.env), "bonus": config.bonus_config.expression, "seed": str(config.seed)}
        self._gauges = {
            name: Gauge(f"bonuslab_{name}", description=" ".join(place), tag_keys=tuple(self._tags))
            for name, place in GAUGES.items()
        }

    def publish(self, results: dict[str, Any]) -> None:
        """Set every gauge whose value is in the results."""
        if not ray.is_initialized():
            return
        for name, place in GAUGES.items():
            value: Any = results
            for key in place:
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, int | float):
                self._gauges[name].set(float(value), tags=self._tags)
