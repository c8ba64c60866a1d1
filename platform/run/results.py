"""RLlib's nested results as one flat row of numbers with plain names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonuslab.algorithms.rllib.metrics import values

_TRAINED = {"episode_return", "episode_length", "win_rate"}
_EVALUATED = {"episode_return_mean", "episode_return_std", "episode_len_mean", "win_rate", "num_episodes"}
"""What training and evaluation report of episodes in every environment."""


def row_of(results: Mapping[str, Any], seconds: float, env_steps: int, sampled: int) -> dict[str, float]:
    """One row of progress.csv; `sampled` steps were taken in the `seconds` of this iteration."""
    learnt = results.get("learners", {}).get("__all_modules__", {}).get("num_env_steps_trained", 0.0)
    measured: dict[str, float] = {
        "env_steps": env_steps,
        "iteration": int(results["training_iteration"]),
        "env_steps_per_second": sampled / seconds,
        "learnt_steps_per_second": learnt / seconds,
    }
    return measured | {name: value for name, value in values(results).items() if name not in measured}


def outcome_text(row: Mapping[str, float], place: str = "") -> str:
    """The return, and what the environment measures itself or else the share of episodes won.

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
