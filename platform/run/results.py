"""RLlib's nested results as one flat row of numbers with plain names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

_PLACES = {
    "episodes": ("env_runners", "num_episodes_lifetime"),
    "episode_return": ("env_runners", "episode_return_mean"),
    "win_rate": ("env_runners", "win_rate"),
    "episode_length": ("env_runners", "episode_len_mean"),
    "policy_loss": ("learners", "default_policy", "policy_loss"),
    "baseline_loss": ("learners", "default_policy", "baseline_loss"),
    "entropy_loss": ("learners", "default_policy", "entropy_loss"),
    "entropy": ("learners", "default_policy", "entropy"),
    "gradient_norm": ("learners", "default_policy", "gradient_norm"),
    "importance_weight": ("learners", "default_policy", "importance_weight_mean"),
    "kl_to_behaviour": ("learners", "default_policy", "kl_to_behaviour"),
    "policy_lag_updates": ("learners", "default_policy", "policy_lag_updates"),
    "queue_depth": ("queue_depth",),
}
_WHOLE = {"episodes"}
_TRAINED = {"episode_return", "episode_length", "win_rate"}
_EVALUATED = {"episode_return_mean", "episode_return_std", "episode_len_mean", "win_rate", "num_episodes"}
"""What training and evaluation tell of episodes, whatever the environment."""


def row_of(results: Mapping[str, Any], seconds: float, env_steps: int, sampled: int) -> dict[str, float]:
    """One row of progress.csv: `sampled` steps were taken in the `seconds` of this iteration."""
    learnt = _find(results, ("learners", "__all_modules__", "num_env_steps_trained")) or 0.0
    row: dict[str, float] = {
        "env_steps": env_steps,
        "iteration": int(results["training_iteration"]),
        "env_steps_per_second": sampled / seconds,
        "learnt_steps_per_second": learnt / seconds,
    }
    for name, place in _PLACES.items():
        value = _find(results, place)
        if value is not None:
            row[name] = int(value) if name in _WHOLE else value
    own = results.get("env_runners", {}).get("episode_metrics", {})
    row |= {f"episode_{name}": value for name in own if (value := _find(own, (name,))) is not None}
    bonus = results.get("bonus", {})
    return row | {name: value for name in bonus if (value := _find(bonus, (name,))) is not None}


def outcome_text(row: Mapping[str, float], place: str = "") -> str:
    """How episodes went: the return, and what the environment measures itself, otherwise how many were won.

    `place` is that of an evaluation in the row, such as `evaluation/greedy`; without it training is meant.
    """
    if place:
        found = {name.removeprefix(f"{place}/"): value for name, value in row.items() if name.startswith(f"{place}/")}
        returns, common = found.get("episode_return_mean"), _EVALUATED
    else:
        found = {name: value for name, value in row.items() if name.startswith("episode_") or name == "win_rate"}
        returns, common = found.get("episode_return"), _TRAINED
    own = {name.removeprefix("episode_"): value for name, value in found.items() if name not in common}
    if own:
        last = "  ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in own.items())
    else:
        last = f"won {found['win_rate']:.0%}" if "win_rate" in found else "won -"
    return f"return {'-' if returns is None else f'{returns:.2f}'}  {last}"


def evaluation_columns(evaluation: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """`evaluation/<greedy or sampled>/<metric>` of one evaluation."""
    return {f"evaluation/{mode}/{name}": value for mode, found in evaluation.items() for name, value in found.items()}


def _find(results: Mapping[str, Any], place: tuple[str, ...]) -> float | None:
    value: Any = results
    for key in place:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, Real) or math.isnan(value):
        return None
    return float(value)
