"""An experiment as data: tasks × bonuses × contexts × seeds × variants at several scales, and what counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.grid.resources import ONE_PROCESS, TrialResources
from bonuslab.platform.run.folder import TrialDescription

# A declaration is loaded for `bonuslab --help`; PyTorch and RLlib are not, until its trials are wanted.


@dataclass(frozen=True)
class Point:
    """One combination, before it becomes a trial."""

    task: str
    bonus: str
    """As `parse` writes it."""
    contexts: str
    seed: int
    variant: str


Adjust = Callable[[Point], Mapping[str, Any] | None]
"""Changes to the settings of a combination, or None to leave it out."""


@dataclass(frozen=True)
class Scale:
    """How much of an experiment is run."""

    description: str
    tasks: Sequence[str]
    bonuses: Sequence[str]
    seeds: Sequence[int]
    contexts: Sequence[str] = ("inf",)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})
    """By name: hyperparameters that are changed."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Config` and hyperparameters that all trials share: preset, algorithm, total_env_steps, …"""
    resources: TrialResources = ONE_PROCESS
    """CPUs and GPUs of each trial."""
    suite: str = ""
    """Name of the list that the tasks are, if they are one."""
    adjust: Adjust = lambda point: {}
    chosen: Mapping[str, Any] = field(default_factory=dict)
    """What the user has set: it overrides everything but the hyperparameters of a variant."""
    chosen_axes: Sequence[str] = ()
    """Those of tasks, bonuses and contexts that the user has set."""

    def trials(self) -> list[TrialDescription]:
        """All trials, each checked; two that are the same are refused.

        They run in this order: one seed of everything comes first, so that a grid tells something early.
        """
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
                raise InvalidInput(f"two trials of the grid are both called {trial.id}; name each task and bonus once")
            found[trial.id] = trial
            kept.append(point)
        self._require_chosen(axes, kept)
        if not found:
            raise InvalidInput("the selection has no trials")
        return list(found.values())

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
        """Refuse what the user has chosen and `adjust` has left without a trial."""
        used = {value for point in points for value in (point.task, point.contexts, point.bonus)}
        for axis in self.chosen_axes:
            for value in axes[axis]:
                if value not in used:
                    raise InvalidInput(
                        f"--{axis} {value} has no trial: this experiment chooses which of its tasks, contexts and "
                        "bonuses go together; --plan shows them"
                    )

    def _trial(self, point: Point, changes: Mapping[str, Any]) -> TrialDescription:
        from bonuslab.platform.run.config import Config
        from bonuslab.platform.run.names import describe_trial

        layers = (self.settings, changes, self.chosen)
        settings = {name: value for layer in layers for name, value in layer.items()}
        settings["env"] = {name: value for layer in layers for name, value in layer.get("env", {}).items()}
        config = Config.of(
            point.task,
            bonus=point.bonus,
            contexts=point.contexts,
            seed=point.seed,
            serial=self.resources.serial,
            **{**settings, **self.variants[point.variant]},
        )
        return describe_trial(config, point.variant, **({"suite": self.suite} if self.suite else {}))


@dataclass(frozen=True)
class Experiment:
    """A named sweep. Its file declares one and calls `main`."""

    name: str
    """Name of its file, and of its grids."""
    description: str
    scales: Mapping[str, Scale]
    default_scale: str
    metric: str
    """Column of progress.csv that trials are compared by."""
    suites: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Named lists of tasks for `--suite`."""

    def scale(self, name: str) -> Scale:
        """One of its scales."""
        if name not in self.scales:
            raise unknown("scale", name, self.scales)
        return self.scales[name]

    def selected(
        self,
        scale: str,
        suite: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **axes: Any,
    ) -> Scale:
        """A scale with some axes (`tasks`, `bonuses`, `seeds`, `contexts`, `resources`) replaced, and settings."""
        base = self.scale(scale)
        if suite is not None:
            if suite not in self.suites:
                raise unknown("suite", suite, self.suites)
            axes |= {"tasks": self.suites[suite], "suite": suite}
        elif "tasks" in axes:
            axes["suite"] = ""
        named = [axis for axis in ("tasks", "contexts", "bonuses") if axis in axes]
        return replace(base, chosen=settings or {}, chosen_axes=named, **axes)
