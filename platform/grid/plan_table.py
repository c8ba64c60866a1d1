"""`--plan`: the trials of a grid, with the time and resources they need, as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from bonuslab.platform.grid.cloud import NAME as CLOUD
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.forecast import Forecast, PlannedTrial, demand_text, gigabytes
from bonuslab.platform.pictures.table import print_table
from bonuslab.platform.run.progress import duration

MAX_ROWS = 40
"""A larger grid is grouped by bonus only."""
HEADERS = ("bonus", "scope", "task", "contexts", "seeds", "steps", "steps/s", "time per trial")
NUMBERS = HEADERS[4:]


def print_plan(forecast: Forecast, measured: str, file: TextIO | None = None) -> None:
    """Print the table and the totals; `measured` says how the speeds were found."""
    file = file or sys.stdout
    groups = _grouped(forecast.trials, ("bonus", "variant", "contexts", "task"))
    if len(groups) > MAX_ROWS:
        groups = _grouped(forecast.trials, ("bonus", "variant", "contexts"))
    print_table(HEADERS, [_row(members) for members in groups], numbers=NUMBERS, file=file)
    for line in summary(forecast, measured):
        print(line, file=file)


def summary(forecast: Forecast, measured: str) -> list[str]:
    """Trials, processors, hours and disk."""
    trials, slots = forecast.trials, forecast.slots
    steps = sum(trial.steps for trial in trials)
    lines = [
        f"{len(trials)} trials, {steps:,} steps; {demand_text(trials[0].description, forecast.resources)} per trial, "
        f"{slots} concurrently on {describe(forecast.cluster)}"
    ]
    if all(trial.speed for trial in trials):
        hours = forecast.seconds / 3600
        shown = f" ({hours:,.1f} hours)" if hours >= 1 else ""
        lines.append(f"time   {duration(forecast.seconds)}{shown}, {measured}")
        if forecast.dollars_per_hour is not None:
            price = forecast.dollars_per_hour
            lines.append(
                f"cost   about ${price * hours:,.0f} at list prices (${price:,.2f} per hour); spot machines usually "
                "cost a third to a half"
            )
        checkpoints, others = gigabytes(forecast.checkpoint_bytes), gigabytes(forecast.other_bytes)
        lines.append(f"disk   {checkpoints} of checkpoints and {others} of results")
    return lines


def beside_plan(planned_seconds: float | None, took_seconds: float, stopped: bool = False) -> str:
    """What a run took, and what was planned if every bonus had been measured."""
    took = f"{duration(took_seconds)} of wall time"
    if stopped:
        return f"{took} until it stopped" + ("" if planned_seconds is None else f" (plan: {duration(planned_seconds)})")
    if planned_seconds is None:
        return f"{took} (no plan: --plan measures the speed of every bonus)"
    return f"{took}, planned {duration(planned_seconds)} ({took_seconds / planned_seconds:.2f} times the plan)"


def describe(cluster: Cluster) -> str:
    """The cluster in one phrase."""
    size = f"{cluster.cpus:g} CPUs and {cluster.gpus:g} GPUs"
    if cluster.address is None:
        return f"this machine ({size})"
    if cluster.address == CLOUD:
        return f"the cluster of {CLOUD} (up to {size})"
    return f"the cluster at {cluster.address} ({'up to ' if cluster.autoscaling else ''}{size})"


def _row(members: Sequence[PlannedTrial]) -> list[str]:
    labels = [trial.description.labels for trial in members]
    first, speed = labels[0], members[0].speed
    tasks = sorted({label["task"] for label in labels})
    seeds = sorted({int(label["seed"]) for label in labels})
    name = first["bonus"] + (f" ({first['variant']})" if first["variant"] else "")
    lengths = sorted({trial.steps for trial in members})
    return [
        name,
        first["scope"],
        tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks",
        first["contexts"],
        _ranges(seeds),
        " – ".join(f"{steps:,}" for steps in dict.fromkeys((lengths[0], lengths[-1]))),
        f"{speed.steps_per_second:,.0f}" if speed else "-",
        duration(members[0].seconds),
    ]


def _ranges(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return " ".join(map(str, seeds))


def _grouped(trials: Sequence[PlannedTrial], names: Sequence[str]) -> list[list[PlannedTrial]]:
    groups: dict[tuple[str, ...], list[PlannedTrial]] = {}
    for trial in trials:
        groups.setdefault(tuple(trial.description.labels[name] for name in names), []).append(trial)
    return list(groups.values())
