"""What a search has tried, from its folder: every sample with its settings, value, cost and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bonuslab.algorithms.data.small_files import DamagedFile
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.report.tables import csv_text
from bonuslab.platform.report.trial_results import RETURN, WIN_RATE
from bonuslab.platform.run.folder import GRID_FILE, GridDescription, GridFolder
from bonuslab.platform.run.results import LAST_SHARE
from bonuslab.platform.run.rows import STEPS, Row, read_rows

CPU_SECONDS = "cpu_seconds"
"""Column of progress.csv in a search."""
OPTION = "search"
"""Of the grid's description."""
SAMPLE = "sample"
"""Label of a search's trials: the number of their sample."""
SETTINGS = ("normalise", "coefficient", "beta")
"""Labels of a search's trials; empty if not known yet, or if there is no β."""
HEADER = (
    "task", "contexts", "bonus", "sample", *SETTINGS, "seed", "ended", "env_steps", "total_env_steps", "objective",
    RETURN, CPU_SECONDS, "trial",
)  # fmt: skip
Place = tuple[str, str, str]
"""Task, contexts and bonus: what has a winner."""


@dataclass(frozen=True)
class SeedRecord:
    """One search seed of a sample."""

    trial: str
    seed: int
    ended: str
    """`finished`; `stopped` by the scheduler; `failed`; or `unfinished`."""
    rows: list[Row]
    total_env_steps: int

    @property
    def env_steps(self) -> int:
        """Environment steps trained."""
        return int(self.rows[-1][STEPS]) if self.rows else 0

    @property
    def cpu_seconds(self) -> float:
        """Of training, without what was lost by failures."""
        return max((row.get(CPU_SECONDS, 0.0) for row in self.rows), default=0.0)


@dataclass(frozen=True)
class Sample:
    """One set of settings of a bonus on a task."""

    place: Place
    scope: str
    number: int
    settings: dict[str, Any]
    expression: str
    """The bonus with its β."""
    env: dict[str, Any]
    seeds: list[SeedRecord]
    metric: str

    @property
    def ended(self) -> str:
        """How its seeds ended, the worst first."""
        ways = {one.ended for one in self.seeds}
        return next(way for way in ("failed", "unfinished", "stopped", "finished") if way in ways)

    @property
    def measured(self) -> dict[str, float]:
        """See `measure`."""
        return measure([one.rows for one in self.seeds], self.seeds[0].total_env_steps, self.metric)

    @property
    def rank(self) -> tuple[float, float]:
        """To compare by: the objective to two decimals, then the return."""
        found = self.measured
        value, tie = found["objective"], found[RETURN]
        return round(value, 2), -math.inf if math.isnan(tie) else tie


@dataclass(frozen=True)
class SearchRecord:
    """A whole search."""

    search: dict[str, Any]
    """`Search.as_dict()`."""
    samples: list[Sample]
    description: GridDescription

    @property
    def places(self) -> dict[Place, list[Sample]]:
        """The samples of each bonus on each task."""
        found: dict[Place, list[Sample]] = {}
        for sample in self.samples:
            found.setdefault(sample.place, []).append(sample)
        return found

    @property
    def winners(self) -> dict[Place, Sample]:
        """The best sample of each place among those that were trained to the end, and have a value."""
        best = {}
        for place, samples in self.places.items():
            whole = [sample for sample in samples if sample.ended == "finished" and not math.isnan(sample.rank[0])]
            if whole:
                best[place] = max(whole, key=lambda sample: sample.rank)
        return best

    @property
    def cost(self) -> dict[str, float]:
        """CPU seconds and environment steps of everything."""
        seeds = [one for sample in self.samples for one in sample.seeds]
        return {
            CPU_SECONDS: round(sum(one.cpu_seconds for one in seeds), 1),
            STEPS: sum(one.env_steps for one in seeds),
        }

    @property
    def objective(self) -> str:
        """What is maximised, in a sentence."""
        share = "share of episodes won" if self.search["metric"] == WIN_RATE else self.search["metric"]
        return (
            f"{share} in training, mean over the last {LAST_SHARE:.0%} of the steps and over the search seeds; equal "
            "to two decimals, the higher return wins; only samples trained to the end can win"
        )

    def csv(self) -> str:
        """A line per sample and seed."""
        return csv_text(HEADER, [_line(sample, one) for sample in self.samples for one in sample.seeds])


def is_search(description: GridDescription) -> bool:
    """Whether a grid is a search."""
    return OPTION in description.options


def read_search(folder: GridFolder) -> SearchRecord:
    """Everything that a search has tried so far."""
    try:
        return _read_search(folder)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = f"its search is incomplete ({type(error).__name__}: {error})"
        raise DamagedFile(f"{folder.path / GRID_FILE} cannot be read: {reason}") from error


def _read_search(folder: GridFolder) -> SearchRecord:
    description = folder.description()
    metric = description.options[OPTION]["metric"]
    if not isinstance(metric, str):
        raise ValueError(f"its metric is {metric!r}")
    found: dict[tuple[Place, int], Sample] = {}
    for trial in description.trials:
        labels, state = trial.labels, folder.trial(trial.id).state()
        place = (labels["task"], labels["contexts"], labels["bonus"])
        ended: str = state.status if state.status in ("finished", "failed") else "unfinished"
        if ended == "finished" and state.env_steps < trial.total_env_steps:
            ended = "stopped"
        rows = read_rows(folder.trial(trial.id).progress)
        seed = SeedRecord(trial.id, int(labels["seed"]), ended, rows, trial.total_env_steps)
        key = place, int(labels[SAMPLE])
        if key not in found:
            expression, env = trial.config["bonus"], trial.config["env"]
            found[key] = Sample(place, labels["scope"], key[1], settings_of(labels), expression, env, [], metric)
        found[key].seeds.append(seed)
    return SearchRecord(description.options[OPTION], list(found.values()), description)


def settings_of(labels: Mapping[str, str]) -> dict[str, Any]:
    """The settings in a trial's labels; empty if its sample has none yet."""
    found = {name: labels[name] for name in SETTINGS if labels.get(name)}
    return {name: value if name == "normalise" else float(value) for name, value in found.items()}


def measure(
    rows: Sequence[Sequence[Row]], total_env_steps: int, metric: str, least_episodes: float = 0
) -> dict[str, float]:
    """The rows of all seeds of a sample as the numbers that its scheduler, searcher and winner depend on.

    `env_steps` is the least of the seeds, `objective` and the return are means over the last tenth of the training so
    far and over seeds. Without a finished episode no share of them was won; other metrics are unknown. `rung` is what a
    scheduler compares: shares of episodes won rounded down to tenths, since early differences below that are luck. It
    is absent before `least_episodes` of each seed: the first episodes to end are the short ones, which were won.
    """
    window = LAST_SHARE * total_env_steps
    returns = [_recent(of, RETURN, window) for of in rows]
    values = [_recent(of, metric, window) for of in rows]
    if metric == WIN_RATE:
        values = [0.0 if math.isnan(value) else value for value in values]
    steps = min((int(of[-1][STEPS]) if of else 0 for of in rows), default=0)
    objective = fmean(values)
    found = {STEPS: steps, "objective": objective, RETURN: fmean(returns)}
    if all(of and of[-1].get("episodes", 0) >= least_episodes for of in rows):
        found["rung"] = math.floor(10 * objective + 1e-9) / 10 if metric == WIN_RATE else objective
    return found


def _recent(rows: Sequence[Row], column: str, window: float) -> float:
    last = rows[-1][STEPS] if rows else 0.0
    found = [row[column] for row in rows if column in row and row[STEPS] > last - window]
    return fmean(found) if found else math.nan


def _line(sample: Sample, one: SeedRecord) -> tuple[object, ...]:
    found = measure([one.rows], one.total_env_steps, sample.metric)
    values = [
        None if not one.rows or math.isnan(found[name]) else round(found[name], 6) for name in ("objective", RETURN)
    ]
    settings = [sample.settings.get(name) for name in SETTINGS]
    done = one.env_steps, one.total_env_steps, *values, round(one.cpu_seconds, 2)
    return (*sample.place, sample.number, *settings, one.seed, one.ended, *done, one.trial)
