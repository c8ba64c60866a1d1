"""Every metric in one table, read by progress.csv, Prometheus, Grafana, the board, MLflow and the report.

Imports neither Ray nor PyTorch: the board, the tracker and the report start without them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from typing import Any

GROUPS = ("Results", "Evaluation", "Bonus", "Learning", "Speed", "Other")
RESULTS, EVALUATION, BONUS, LEARNING, SPEED, OTHER = GROUPS
SHARE = "share"
"""Unit of a value from 0 to 1."""
BOARD, MLFLOW = "board", "mlflow"
"""Where a metric is drawn: on a trial's page of the board, and on MLflow's comparison page."""


@dataclass(frozen=True)
class Metric:
    """One metric, or all those that a pattern matches."""

    name: str
    """Column of progress.csv, or a regular expression that matches all of it."""
    group: str
    meaning: str
    place: str = ""
    """Path in RLlib's results, joined by `/`; empty for patterns and for what the training loop measures."""
    unit: str = ""
    higher_is_better: bool | None = None
    """None: neither direction is better."""
    gauge: bool = False
    """Whether it is a Prometheus gauge, which Grafana draws."""
    drawn: tuple[str, ...] = (BOARD,)
    label: str = ""
    r"""In figures and tables, where it is not the name; `\1` is the pattern's first group."""

    @property
    def axis(self) -> str:
        """The label with its unit."""
        return self.label if self.unit in ("", SHARE) else f"{self.label} ({self.unit})"

    @property
    def gauge_name(self) -> str:
        """The name in Prometheus, which allows no `/`; Ray puts `ray_` in front."""
        return f"bonuslab_{self.name.removesuffix('/mean').replace('/', '_')}"


_EPISODES, _LEARNER, _WORKERS = "env_runners/", "learners/default_policy/", "workers/"
_SAMPLED, _TRAINED = "env_runners/num_env_steps_sampled", "learners/__all_modules__/num_env_steps_trained"
_THROUGHPUT = "_lifetime_throughput/throughput_since_last_reduce"
_ALL = (BOARD, MLFLOW)
_SHARES = r"\w*(?:rate|share|fraction|coverage)"
_OWN = "Measured by the environment, mean over episodes."
_HELD_OUT = "Mean over episodes on held-out contexts."

METRICS = (
    Metric("win_rate", RESULTS, "Share of episodes won.", f"{_EPISODES}win_rate", SHARE, True, True, _ALL),
    Metric(
        "episode_return", RESULTS, "Undiscounted extrinsic return of an episode.", f"{_EPISODES}episode_return_mean",
        "", True, True, _ALL, "return",
    ),
    Metric(
        "episode_length", RESULTS, "Length of an episode.", f"{_EPISODES}episode_len_mean", "steps", None, True, _ALL
    ),
    Metric("episodes", RESULTS, "Whole episodes finished so far.", f"{_EPISODES}num_episodes_lifetime"),
    Metric(rf"episode_({_SHARES})", RESULTS, _OWN, unit=SHARE, higher_is_better=True, label=r"\1"),
    Metric(
        "episode_simulator_restarts_ever", RESULTS, "Simulators of HM3D that died and were restarted so far.",
        higher_is_better=False, label="simulator restarts",
    ),
    Metric(r"episode_(.+)", RESULTS, _OWN, higher_is_better=True, label=r"\1"),
    *(
        Metric(f"evaluation/{mode}/{name}", EVALUATION, meaning, "", unit, better, False, drawn, f"{label}, {mode}")
        for name, label, meaning, unit, better, drawn in (
            ("win_rate", "win rate", "Share of episodes won on held-out contexts.", SHARE, True, _ALL),
            ("episode_return_mean", "return", _HELD_OUT, "", True, (BOARD,)),
            ("episode_return_std", "std of the return", "Standard deviation over these episodes.", "", None, (BOARD,)),
            ("episode_len_mean", "episode length", _HELD_OUT, "steps", None, (BOARD,)),
            ("num_episodes", "episodes", "Number of these episodes.", "", None, (BOARD,)),
        )
        for mode in ("sampled", "greedy")
    ),
    Metric(rf"evaluation/(\w+)/({_SHARES})", EVALUATION, _HELD_OUT, "", SHARE, True, label=r"\2, \1"),
    Metric(r"evaluation/(\w+)/(.+)", EVALUATION, _HELD_OUT, higher_is_better=True, label=r"\2, \1"),
    *(
        Metric(f"{name}/mean", BONUS, meaning, f"bonus/{name}/mean", gauge=True, drawn=_ALL, label=label)
        for name, label, meaning in (
            ("bonus", "bonus", "Normalised bonus, as added to the reward."),
            ("bonus_episodic", "episodic part", "Product or sum of the episodic terms alone, not normalised."),
            ("bonus_global", "global part", "Product or sum of the global terms alone, not normalised."),
        )
    ),
    Metric("bonus/sigma", BONUS, "Scale that the bonus is divided by.", drawn=_ALL, label="bonus, sigma"),
    Metric("bonus/(.+)", BONUS, "Statistic of the normalised bonus.", label=r"bonus, \1"),
    Metric("bonus_raw/mean", BONUS, "Bonus before normalisation.", label="bonus, not normalised"),
    Metric("term/(.+)/raw_mean", BONUS, "Mean of one term, not normalised.", label=r"\1"),
    Metric(r"(?:term|bonus\w*)/(.+)", BONUS, "Statistic of one term.", label=r"\1"),
    Metric("learn/([^/]+)/(.+)", LEARNING, "Reported by the models of a bonus.", label=r"\1: \2"),
    *(
        Metric(name, LEARNING, meaning, f"{_LEARNER}{name}", unit, None, gauge, drawn)
        for name, meaning, unit, gauge, drawn in (
            ("policy_loss", "Policy-gradient loss.", "", True, (BOARD,)),
            ("baseline_loss", "Loss of the value function.", "", True, (BOARD,)),
            ("entropy_loss", "Negative entropy, as it enters the loss.", "", False, (BOARD,)),
            ("entropy", "Entropy of the policy.", "nats", True, _ALL),
            ("gradient_norm", "Norm of the gradient before clipping.", "", False, (BOARD,)),
            ("kl_to_behaviour", "KL divergence of the policy from the one that acted.", "nats", False, (BOARD,)),
            ("clipped_share", "Share of steps whose probability ratio PPO clips.", SHARE, False, (BOARD,)),
            ("advantage_mean", "Mean advantage of a batch.", "", False, (BOARD,)),
            ("advantage_std", "Standard deviation of a batch's advantages.", "", False, (BOARD,)),
            ("value_mean", "Mean value estimate of a batch.", "", False, (BOARD,)),
        )
    ),
    Metric(
        "importance_weight", LEARNING, "Probability ratio of the policy to the one that acted.",
        f"{_LEARNER}importance_weight_mean",
    ),
    Metric("learning_rate", LEARNING, "Step size of the optimiser.", f"{_LEARNER}default_optimizer_learning_rate"),
    Metric("env_steps", SPEED, "Environment steps so far.", f"{_SAMPLED}_lifetime", "steps", gauge=True, drawn=()),
    Metric("iteration", SPEED, "Training iterations so far.", "training_iteration", drawn=()),
    Metric("wall_seconds", SPEED, "Time spent training.", unit="s", drawn=()),
    Metric("cpu_seconds", SPEED, "CPU time spent training; in a search.", unit="s", drawn=()),
    Metric(
        "env_steps_per_second", SPEED, "Environment steps sampled per second.", f"{_SAMPLED}{_THROUGHPUT}",
        "", True, True, _ALL, "steps per second",
    ),
    Metric(
        "learnt_steps_per_second", SPEED, "Environment steps learnt from per second.", f"{_TRAINED}{_THROUGHPUT}",
        "", True, True, label="steps learnt per second",
    ),
    Metric(
        "policy_lag_updates", SPEED, "Updates between the policy that acted and the one that learns.",
        f"{_LEARNER}policy_lag_updates", "", False, True, label="policy lag in updates",
    ),
    Metric("queue_depth", SPEED, "Batches waiting for the learner.", "queue_depth", "batches", gauge=True),
    *(
        Metric(f"{_WORKERS}{name}", SPEED, meaning, f"{_WORKERS}{name}", unit, better, gauge, label=label)
        for name, label, unit, better, gauge, meaning in (
            ("num_workers", "workers", "", None, True, "DD-PPO workers that took part in the update."),
            ("preempted_share", "preempted share", SHARE, False, True, "Share of rollouts cut short by preemption."),
            ("rollout_share", "rollout share", SHARE, True, False, "Collected share of the steps of a full rollout."),
            ("rollout_seconds_mean", "rollout time", "s", False, True, "Mean time of a DD-PPO worker's rollout."),
            ("rollout_seconds_max", "longest rollout time", "s", False, False, "Time of the slowest DD-PPO rollout."),
        )
    ),
)  # fmt: skip
"""Ordered by group; the first entry that matches a name counts."""

_BY_PLACE = {metric.place: metric.name for metric in METRICS if metric.place}
_SECTIONS = re.compile(r"env_runners/episode_metrics/|env_runners/|learners/default_policy/|bonus/")
_INTERNAL = re.compile(
    r"(?:timers|fault_tolerance|env_runner_group|perf|config|info|learners/__all_modules__)/.*"
    r"|(?:env_runners|learners/[^/]+)/(?:num_|timers/|weights_seq_no).*"
    r"|num_env_steps\w*|num_training_step_calls_per_iteration|training_iteration|timesteps_total|episodes_total"
    r"|timestamp|time_(?:this_iter_s|total_s|since_restore)|iterations_since_restore|pid"
)


def values(results: Mapping[str, Any]) -> dict[str, float]:
    """The metrics in RLlib's nested results by column name.

    An entry of `METRICS` with a place renames what is there. Every other number that our algorithms, a bonus or a
    user's callback logs keeps its own path, without the section that all of its kind share (`env_runners`,
    `learners/default_policy`, `bonus`); a path that would then repeat a name stays whole. Left out are NaN and
    `_INTERNAL`: timers, counters, throughput and process data that RLlib and Tune write themselves.
    """
    leaves = dict(_leaves(results))
    found = {name: leaves[place] for place, name in _BY_PLACE.items() if place in leaves}
    for place, value in leaves.items():
        if place not in _BY_PLACE and not _INTERNAL.fullmatch(place):
            section = _SECTIONS.match(place)
            name = place[section.end() :] if section else place
            if section and section[0].endswith("episode_metrics/"):
                name = f"episode_{name}"
            found[place if name in found else name] = value
    return found


@cache
def find(name: str) -> Metric:
    """The entry of a column, with the column's own name and label; one without an entry is in the group `Other`."""
    for metric in METRICS:
        if match := re.fullmatch(metric.name, name, re.DOTALL):
            return replace(metric, name=name, label=_spaced(match.expand(metric.label) if metric.label else name))
    return Metric(name, OTHER, "", label=_spaced(name))


@cache
def rank(name: str) -> int:
    """Where a column stands in the table; those without an entry come last."""
    places = (place for place, metric in enumerate(METRICS) if re.fullmatch(metric.name, name, re.DOTALL))
    return next(places, len(METRICS))


def _spaced(label: str) -> str:
    return label.replace("_", " ").replace("/", " · ")


def _leaves(results: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    for key, value in results.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}/")
        elif isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value):
            yield f"{path}{key}", float(value)
