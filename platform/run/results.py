"""RLlib's nested results as one flat row of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonuslab.algorithms.rllib.metrics import RESULTS, find, values

_TRAINED = {"episode_return", "episode_length", "win_rate"}
_EVALUATED = {"episode_return_mean", "episode_return_std", "episode_len_mean", "win_rate", "num_episodes"}
"""Episode metrics that every environment reports, in training and in evaluation."""
EVALUATION_MODES = ("greedy", "sampled")
RETURN, WIN_RATE = "episode_return", "win_rate"
LAST_SHARE = 0.1
"""The value of a training column is its mean over this last share of the steps so far."""
EPISODES = "episodes"
"""Column with the number of training episodes that have ended."""
FEWEST_EPISODES = 20


def fewest_episodes(hyperparameters: Mapping[str, Any]) -> int:
    """How many episodes must have ended before their mean is shown: at least 20, and one per env.

    The first episodes to end are the shortest, often those that are won.
    """
    return max(FEWEST_EPISODES, int(hyperparameters.get("num_envs_per_env_runner") or 0))


def representative(row: Mapping[str, float], fewest: int) -> Mapping[str, float]:
    """A row without results of training, the number of episodes apart, before `fewest` episodes have ended."""
    if row.get(EPISODES, fewest) >= fewest:
        return row
    return {name: value for name, value in row.items() if name == EPISODES or find(name).group != RESULTS}


def row_of(results: Mapping[str, Any], seconds: float, env_steps: int, sampled: int) -> dict[str, float]:
    """One row of progress.csv, from an iteration of `seconds` in which `sampled` steps were taken."""
    learnt = results.get("learners", {}).get("__all_modules__", {}).get("num_env_steps_trained", 0.0)
    measured: dict[str, float] = {
        "env_steps": env_steps,
        "iteration": int(results["training_iteration"]),
        "env_steps_per_second": sampled / seconds,
        "learnt_steps_per_second": learnt / seconds,
    }
    return measured | {name: value for name, value in values(results).items() if name not in measured}


def outcome_text(row: Mapping[str, float], prefix: str = "", fewest: int = FEWEST_EPISODES) -> str:
    """The return, and the environment's own metrics or else the win rate.

    `prefix` selects an evaluation's columns, such as `evaluation/greedy`; the default is training, where `fewest`
    episodes must have ended (`fewest_episodes`).
    """
    if not prefix and row.get(EPISODES, fewest) < fewest:
        return f"{row[EPISODES]:.0f} of the first {fewest} episodes ended"
    if prefix:
        found = {name.removeprefix(f"{prefix}/"): value for name, value in row.items() if name.startswith(f"{prefix}/")}
        returns, common = found.get("episode_return_mean"), _EVALUATED
    else:
        found = {name: value for name, value in row.items() if name.startswith("episode_") or name == "win_rate"}
        returns, common = found.get("episode_return"), _TRAINED
    own = {name.removeprefix("episode_"): value for name, value in found.items() if name not in common}
    if own:
        last = "  ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in own.items())
    else:
        won = found.get("win_rate")
        pays_without_wins = won == 0 and returns is not None and returns > 0  # such as CartPole
        last = "" if pays_without_wins else "won -" if won is None else f"won {won:.0%}"
    return f"return {'-' if returns is None else f'{returns:.2f}'}  {last}".rstrip()


def evaluation_columns(evaluation: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """An evaluation as columns `evaluation/<greedy or sampled>/<metric>`."""
    return {f"evaluation/{mode}/{name}": value for mode in EVALUATION_MODES for name, value in evaluation[mode].items()}
