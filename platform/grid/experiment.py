"""An experiment as data: tasks × bonuses × contexts × seeds × variants at several scales, and its metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.grid.resources import ONE_PROCESS, TrialResources
from bonuslab.platform.grid.search_results import Winner, Winners
from bonuslab.platform.grid.search_space import Search
from bonuslab.platform.run.folder import TrialDescription

# `bonuslab --help` imports this module; PyTorch and RLlib are imported only to build the trials.


@dataclass(frozen=True)
class Point:
    """One combination of the axes."""

    task: str
    bonus: str
    """In the canonical form of `parse`."""
    contexts: str
    seed: int
    variant: str


Adjust = Callable[[Point], Mapping[str, Any] | None]
"""Changes the settings of a combination, or skips it by returning None."""


@dataclass(frozen=True)
class Scale:
    """A size of an experiment."""

    description: str
    tasks: Sequence[str]
    bonuses: Sequence[str]
    seeds: Sequence[int]
    contexts: Sequence[str] = ("inf",)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})
    """Changes to the hyperparameters, by name."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Config` and hyperparameters that all trials share: preset, algorithm, total_env_steps, …"""
    resources: TrialResources = ONE_PROCESS
    """CPUs and GPUs per trial."""
    suite: str = ""
    """Name of the suite the tasks belong to, if any; its tasks are the default of `tasks`."""
    adjust: Adjust = lambda point: {}
    winners: str | Path | None = None
    """File of a search's winners, whose settings override `settings` and `adjust` where it has any."""
    chosen: Mapping[str, Any] = field(default_factory=dict)
    """Settings given by the user: they override everything but a variant's hyperparameters."""
    chosen_axes: Sequence[str] = ()
    """Those of tasks, bonuses, contexts and winners that the user has given."""

    def trials(self) -> list[TrialDescription]:
        """All trials, validated and without duplicates.

        They run in this order: seed by seed, so that early results cover the whole grid.
        """
        if self._winners is not None:
            self._winners.require_fresh(self.seeds)
        found: dict[str, TrialDescription] = {}
        kept: list[Point] = []
        axes = self._axes()
        order = product(self.seeds, axes["tasks"], axes["contexts"], axes["bonuses"], self.variants)
        for seed, task, contexts, bonus, variant in order:
            point = Point(task, bonus, contexts, seed, variant)
            changes = self.adjust(point)
            if changes is None:
                continue
            trial = self._trial(point, changes)
            if trial.id in found:
                raise InvalidInput(f"two trials have the name {trial.id}; give each task and bonus once")
            found[trial.id] = trial
            kept.append(point)
        self._require_chosen(axes, kept)
        self._require_winners_used(kept)
        if not found:
            raise InvalidInput("the selection contains no trials")
        return list(found.values())

    @cached_property
    def _winners(self) -> Winners | None:
        return None if self.winners is None else Winners.read(self.winners)

    def _axes(self) -> dict[str, list[str]]:
        from bonuslab.algorithms.bonuses import parse
        from bonuslab.algorithms.extensions import load_plugin

        for plugin in {**self.settings, **self.chosen}.get("plugins", ()):
            load_plugin(plugin)
        return {
            "tasks": list(self.tasks),
            "contexts": [str(contexts) for contexts in self.contexts],
            "bonuses": [str(parse(bonus)) for bonus in self.bonuses],
        }

    def _require_chosen(self, axes: Mapping[str, Sequence[str]], points: Sequence[Point]) -> None:
        """Reject user-given values for which `adjust` skipped every trial."""
        used = {value for point in points for value in (point.task, point.contexts, point.bonus)}
        for axis in self.chosen_axes:
            for value in axes.get(axis, ()):
                if value not in used:
                    raise InvalidInput(
                        f"--{axis} {value} has no trial: this experiment does not combine all tasks, contexts and "
                        "bonuses; --plan lists its trials"
                    )

    def _require_winners_used(self, points: Sequence[Point]) -> None:
        """Reject a user's file that says nothing about any trial; a scale's own file may cover only some rows."""
        if "winners" in self.chosen_axes and points and not any(map(self._winner, points)):
            raise InvalidInput(
                f"the winners in {self.winners} are of other tasks, contexts and bonuses than these trials"
            )

    def _winner(self, point: Point) -> Winner | None:
        from bonuslab.platform.run.names import short_task

        if self._winners is None:
            return None
        return self._winners.find(short_task(point.task), point.contexts, point.bonus)

    def _trial(self, point: Point, changes: Mapping[str, Any]) -> TrialDescription:
        from bonuslab.platform.run.config import Config
        from bonuslab.platform.run.names import describe_trial

        winner = self._winner(point)
        layers = (self.settings, changes, winner.settings if winner else {}, self.chosen)
        settings = {name: value for layer in layers for name, value in layer.items()}
        settings["env"] = {name: value for layer in layers for name, value in layer.get("env", {}).items()}
        config = Config.of(
            point.task,
            bonus=winner.expression if winner else point.bonus,
            contexts=point.contexts,
            seed=point.seed,
            serial=self.resources.serial,
            **{**settings, **self.variants[point.variant]},
        )
        return describe_trial(config, point.variant, **({"suite": self.suite} if self.suite else {}))


@dataclass(frozen=True)
class Experiment:
    """A named sweep."""

    name: str
    """Name of its file, and prefix of its grids."""
    description: str
    scales: Mapping[str, Scale]
    default_scale: str
    metric: str
    """Column of progress.csv to compare trials by."""
    suites: Callable[[], Mapping[str, Sequence[str]]] | None = None
    """Loads the named lists of tasks for `--suite`, which `--help` does not need."""
    search: Search | None = None
    """How `--search` searches the settings of a scale's bonuses; on seeds that no scale has."""

    def scale(self, name: str) -> Scale:
        """A scale by name."""
        if name not in self.scales:
            raise unknown("scale", name, self.scales)
        scale = self.scales[name]
        return scale if scale.tasks else replace(scale, tasks=self._suite(scale.suite))

    def selected(
        self,
        scale: str,
        suite: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **axes: Any,
    ) -> Scale:
        """A scale with fields (`tasks`, `bonuses`, `seeds`, `contexts`, `resources`) and settings replaced."""
        base = self.scale(scale)
        if suite is not None:
            axes |= {"tasks": self._suite(suite), "suite": suite}
        elif "tasks" in axes:
            axes["suite"] = ""
        named = [axis for axis in ("tasks", "contexts", "bonuses", "winners") if axis in axes]
        return replace(base, chosen=settings or {}, chosen_axes=named, **axes)

    def _suite(self, name: str) -> Sequence[str]:
        suites = self.suites() if self.suites else {}
        if name not in suites:
            raise unknown("suite", name, suites)
        return suites[name]
