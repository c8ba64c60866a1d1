"""Results as Prometheus gauges, through Ray's metrics agent."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.metrics import Gauge

SPEED = "throughput_since_last_reduce"
GAUGES = {
    "env_steps": ("env_runners", "num_env_steps_sampled_lifetime"),
    "env_steps_per_second": ("env_runners", "num_env_steps_sampled_lifetime_throughput", SPEED),
    "learnt_steps_per_second": ("learners", "__all_modules__", "num_env_steps_trained_lifetime_throughput", SPEED),
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
WORKER_GAUGES = {
    "workers": ("workers", "num_workers"),
    "preempted_share": ("workers", "preempted_share"),
    "rollout_seconds": ("workers", "rollout_seconds_mean"),
}
"""More of them, which DD-PPO has."""
PARTS = "bonus_part"
"""One more gauge, tagged with `part`, for each of the bonus's metrics: its terms, σ and the losses of its models."""


class Telemetry:
    """Gauges tagged with the run's task, bonus and seed; silent where Ray does not run."""

    def __init__(self, config: Any) -> None:
        self._tags = {"task": str(config.env), "bonus": config.bonus_config.expression, "seed": str(config.seed)}
        keys = tuple(self._tags)
        self._gauges = {
            name: Gauge(f"bonuslab_{name}", description=" ".join(place), tag_keys=keys)
            for name, place in (GAUGES | WORKER_GAUGES).items()
        }
        self._parts = Gauge(f"bonuslab_{PARTS}", description="metrics of the bonus", tag_keys=(*keys, "part"))

    def publish(self, results: dict[str, Any]) -> dict[str, float]:
        """Set every gauge whose value is in the results; what was set, by name."""
        if not ray.is_initialized():
            return {}
        values = {name: _look_up(results, place) for name, place in (GAUGES | WORKER_GAUGES).items()}
        published = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
        for name, value in published.items():
            self._gauges[name].set(value, tags=self._tags)
        for part, value in results.get("bonus", {}).items():
            self._parts.set(float(value), tags={**self._tags, "part": part})
            published[f"{PARTS}/{part}"] = float(value)
        return published


def _look_up(results: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        results = results.get(key) if isinstance(results, dict) else None
    return results
