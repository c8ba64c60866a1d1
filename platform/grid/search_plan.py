"""The samples of a search as trials of a grid: every bonus has the same number, of the same length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.rllib.metrics import OTHER, find
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.search_space import Search, Settings, has_beta, with_beta
from bonuslab.platform.report.search_records import SAMPLE, SETTINGS, settings_of
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import TrialDescription
from bonuslab.platform.run.names import describe_trial

Key = tuple[str, int]
"""A group and the number of a sample in it."""


class SearchPlan:
    """All samples, group by group: a group is one bonus on one task and number of contexts."""

    def __init__(self, search: Search, study: Sequence[TrialDescription]) -> None:
        """`study`: trials whose settings are searched, in one or more seeds and variants, and others without bonus."""
        if find(search.metric).group == OTHER or search.metric.startswith("evaluation/"):
            raise InvalidInput(f"{search.metric!r} is not a metric of training, such as win_rate and episode_return")
        self.search = search
        self.groups: dict[str, TrialDescription] = {}
        for trial in study:
            if trial.labels["scope"] != "none":
                self.groups.setdefault(group_of(trial), trial)
        if not self.groups:
            raise InvalidInput("there is nothing to search: no trial has a bonus")
        self._require_equal_steps()
        self.settings: dict[Key, Settings | None] = {}
        unknown: list[Settings | None] = [None] * search.samples
        draws = {beta: search.draws(beta) or unknown for beta in (False, True)}
        for number in range(search.samples):  # sample by sample, so that early results cover all bonuses
            for group in self.groups:
                self.settings[group, number] = draws[self.beta(group)][number]
        for kind in search.space.normalise:
            self._typical(next(iter(self.groups)), normalise=kind)
        self._bases = {group: self._typical(group) for group in self.groups}

    def resume(self, trials: Sequence[TrialDescription]) -> None:
        """Take the settings that a searcher has already chosen from the trials of an earlier session."""
        for trial in trials:
            key = key_of(trial)
            if key in self.settings and self.settings[key] is None:
                self.settings[key] = settings_of(trial.labels) or None

    def steps(self, group: str) -> int:
        """Environment steps of each seed of a sample."""
        return self.search.steps or self.groups[group].total_env_steps

    def least_episodes(self, group: str) -> int:
        """Episodes that must end before a scheduler judges a seed: two per environment."""
        return 2 * int(self._bases[group].hyperparameters["num_envs_per_env_runner"])

    def beta(self, group: str) -> bool:
        """Whether β is searched."""
        return has_beta(parse(self.groups[group].labels["bonus"]))

    def trials(self) -> list[TrialDescription]:
        """All samples and seeds."""
        return [trial for key in self.settings for trial in self.sample(key)]

    def sample(self, key: Key) -> list[TrialDescription]:
        """One sample: a trial for each search seed."""
        return [self._described(key, seed, self.settings[key]) for seed in self.search.seeds]

    def unsearched(self) -> list[TrialDescription]:
        """As many trials, all with the study's settings, to predict time and disk from."""
        every = [self._described(key, seed, None) for key in self.settings for seed in self.search.seeds]
        return [replace(trial, labels={**trial.labels, "variant": ""}) for trial in every]

    def _typical(self, group: str, **changes: Any) -> TrialDescription:
        """A sample with the study's settings, validated; building it takes long enough to do it once for a group."""
        config = self.groups[group].config
        values = {**config["hyperparameters"], "total_env_steps": self.steps(group), **changes}
        fixed = {"seed": self.search.seeds[0], "serial": True, "evaluate_every_steps": 0, "hyperparameters": values}
        return describe_trial(Config.from_dict({**config, **fixed}))

    def _described(self, key: Key, seed: int, settings: Settings | None) -> TrialDescription:
        """One seed of a sample, named by its bonus without β, which a searcher may choose later."""
        group, number = key
        base, found = self._bases[group], dict(settings or {})
        bonus = parse(base.config["bonus"])
        expression = with_beta(bonus, found["beta"]) if "beta" in found else bonus
        scale = {name: value for name, value in found.items() if name != "beta"}
        values = {**base.config["hyperparameters"], **scale}
        labels = {**self.groups[group].labels, "seed": str(seed), SAMPLE: str(number), "variant": f"{number:02d}"}
        labels |= {name: _text(found.get(name)) for name in SETTINGS}
        if found:
            labels["variant"] += f": {' '.join(labels[name] for name in SETTINGS if labels[name])}"
        return TrialDescription(
            f"{base.id.rpartition('__s')[0]}__s{seed}__sample-{number:02d}",
            {**base.config, "seed": seed, "bonus": str(expression), "hyperparameters": values},
            {**base.hyperparameters, **scale},
            labels,
        )

    def _require_equal_steps(self) -> None:
        lengths: dict[tuple[str, str], int] = {}
        for group, trial in self.groups.items():
            row = trial.labels["task"], trial.labels["contexts"]
            if lengths.setdefault(row, self.steps(group)) != self.steps(group):
                raise InvalidInput(f"the bonuses on {row[0]} have different numbers of steps; give the search its own")


def group_of(trial: TrialDescription) -> str:
    """The group of a trial, from its labels."""
    return " | ".join(trial.labels[name] for name in ("task", "contexts", "bonus"))


def key_of(trial: TrialDescription) -> Key:
    """The sample that a trial of a search belongs to."""
    return group_of(trial), int(trial.labels.get(SAMPLE, -1))


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:g}"
