"""Runs the unfinished samples of a search on Ray Tune."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bonuslab.algorithms.extensions import capture
from bonuslab.platform.grid.cluster import own_node_alive
from bonuslab.platform.grid.driver import GridDriver
from bonuslab.platform.grid.search_plan import Key, SearchPlan, key_of
from bonuslab.platform.grid.search_space import Settings
from bonuslab.platform.grid.search_trial import ENDED, REPORTS, SearchTrial
from bonuslab.platform.grid.search_tune import MODE, OBJECTIVE, PerBonusScheduler, SampleSearcher, make_scheduler
from bonuslab.platform.grid.tune_callback import GridCallback, Stopping
from bonuslab.platform.report.search_records import measure
from bonuslab.platform.run.folder import GridDescription, TrialDescription
from bonuslab.platform.run.names import slug
from bonuslab.platform.run.rows import read_rows
from bonuslab.platform.run.training import TrialReport

STATES = "searcher"
"""Folder of the searchers' states."""


class SearchDriver(GridDriver):
    """See `GridDriver`; a Tune trial is a sample, which trains a trial of the grid for each search seed."""

    def __init__(self, plan: SearchPlan, description: GridDescription, *rest: Any) -> None:
        """`description` is rewritten when a searcher has chosen settings; `rest` is as for `GridDriver`."""
        super().__init__(*rest)
        self._plan, self._description = plan, description

    def _round(self, trials: Sequence[TrialDescription], relay: str, stopping: Stopping) -> None:
        pending = list(dict.fromkeys(map(key_of, trials)))
        callback = SearchCallback(self._recorder, stopping, self._display.refresh, self._display.note, own_node_alive)

        def spec(key: Key) -> dict[str, Any]:
            seeds = {trial.id: trial.config for trial in self._plan.sample(key)}
            return {
                "trial": f"{slug(key[0])}__{key[1]:02d}",
                "group": key[0],
                "sample": key[1],
                "seeds": seeds,
                "config": next(iter(seeds.values())),
                "total_env_steps": self._plan.steps(key[0]),
                "metric": self._plan.search.metric,
                "least_episodes": self._plan.least_episodes(key[0]),
                "resources": vars(self._options.resources),
                "relay": relay,
                "extensions": capture(),
            }

        searcher = SampleSearcher(self._plan, pending, spec, self._settle, self._folder.path / STATES)
        self._fit(
            SearchTrial,
            callback,
            stopping,
            {},
            metric=OBJECTIVE,
            mode=MODE,
            num_samples=len(pending),
            search_alg=searcher,
            scheduler=self._scheduler(pending),
        )

    def _settle(self, key: Key, settings: Settings) -> None:
        """Write down what a searcher has chosen, before it is tried."""
        self._plan.settings[key] = settings
        chosen = {trial.id: trial for trial in self._plan.sample(key)}
        self._description.trials = [chosen.get(trial.id, trial) for trial in self._description.trials]
        self._folder.write(self._description)

    def _scheduler(self, pending: Sequence[Key]) -> PerBonusScheduler:
        plan = self._plan
        scheduler = PerBonusScheduler({group: make_scheduler(plan.search, plan.steps(group)) for group in plan.groups})
        for key in plan.settings:
            rows = [read_rows(self._folder.trial(trial.id).progress) for trial in plan.sample(key)]
            together = range(1, 1 + min(map(len, rows)))
            if together:
                rule = plan.steps(key[0]), plan.search.metric, plan.least_episodes(key[0])
                results = [measure([of[:count] for of in rows], *rule) for count in together]
                scheduler.replay(key, results, key not in pending)
        return scheduler


class SearchCallback(GridCallback):
    """Records the rows and states of all seeds of a sample."""

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt starts."""
        self.running.add(trial.config["trial"])
        for one in trial.config["seeds"]:
            self._recorder[one].start()

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A new row of every seed."""
        for one, text in json.loads(result[REPORTS]).items():
            self._record(one, TrialReport.from_text(text))

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A sample has ended: by itself, as its last reports say, or stopped by the scheduler, so nothing is left."""
        own_end = trial.last_result.get(ENDED, True) or trial.config["trial"] not in self.running
        self.running.discard(trial.config["trial"])
        for one in trial.config["seeds"]:
            if own_end:
                self._recorder[one].interrupt()
            else:
                self._recorder[one].add(TrialReport(done=True, finished=True))
                self._note(f"{one}: stopped by the scheduler at {self._recorder[one].state.env_steps:,} steps")

    def _failed(self, trial: Any, again: bool) -> None:
        self.running.discard(trial.config["trial"])
        for one in trial.config["seeds"]:
            self._record_failure(one, trial, again)
