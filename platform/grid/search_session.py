"""One invocation of a search: `plan`, or `run` from the first check to the winners and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.driver import GridDriver, GridOutcome
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.search_driver import SearchDriver
from bonuslab.platform.grid.search_plan import SearchPlan
from bonuslab.platform.grid.search_results import FILE, Winners
from bonuslab.platform.grid.search_space import EVEN, RANDOM, Search
from bonuslab.platform.grid.search_tune import make_searcher
from bonuslab.platform.grid.session import GridSession
from bonuslab.platform.pictures.table import print_table
from bonuslab.platform.report.search_records import OPTION, read_search
from bonuslab.platform.run.folder import GRID_FILE, GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.progress import duration
from bonuslab.platform.run.state import write_text
from bonuslab.platform.tracking import Follower


class SearchSession(GridSession):
    """A validated search in the folder of a grid, with the same board, terminal table and tracking."""

    def __init__(
        self,
        name: str,
        scale_name: str,
        search: Search,
        scale: Scale,
        study: Sequence[TrialDescription],
        study_seeds: Sequence[int],
        path: Path,
        options: Mapping[str, Any],
    ) -> None:
        """`study`: trials whose settings are searched; `study_seeds`: seeds that may not be search seeds."""
        search.require_fresh(study_seeds)
        if not scale.resources.serial:
            raise InvalidInput("a search trains each sample in one process; leave out --cpus-per-trial")
        if search.searcher not in (EVEN, RANDOM):
            make_searcher(search, beta=True)
        self._search = search
        self._plan = SearchPlan(search, study)
        if (path / GRID_FILE).is_file() and not options.get("fresh"):
            self._plan.resume(GridFolder.open(path).description().trials)
        # The study's settings stand for all samples where time and disk are predicted: a kind of trial per bonus.
        self._typical = {trial.id: trial for trial in self._plan.unsearched()}
        self._study_seeds = sorted(set(study_seeds))
        experiment = Experiment(f"{name} search", "", {scale_name: scale}, scale_name, search.metric)
        super().__init__(experiment, scale_name, scale, self._plan.trials(), path, options)

    def plan(self) -> int:
        """Print the space, the samples and what they need."""
        search, groups = self._search, self._plan.groups
        beta = any(map(self._plan.beta, groups))
        seeds = ", ".join(map(str, search.seeds))
        print(f"{len(groups)} bonuses and tasks, for each {search.samples} samples × seeds {seeds}")
        print(f"space      {search.space.text(beta)}")
        print(f"searcher   {search.searcher}; scheduler {search.scheduler}" + self._grace())
        draws = search.draws(beta)
        if draws is not None:
            print_table(("sample", *draws[0]), [(number, *one.values()) for number, one in enumerate(draws)])
        print("at most, if no sample is stopped early:")
        searched, self._trials = self._trials, list(self._typical.values())
        try:
            return super().plan()
        finally:
            self._trials = searched

    def _grace(self) -> str:
        return "" if self._search.scheduler == "none" else f", after {self._search.grace:.0%} of the steps"

    def _description(self) -> GridDescription:
        description = super()._description()
        description.options[OPTION] = {**self._search.as_dict(), "study_seeds": self._study_seeds}
        return description

    def _require_room(self, cluster: Cluster, trials: Sequence[TrialDescription]) -> None:
        super()._require_room(cluster, [self._typical[trial.id] for trial in trials])

    def _driver(self, description: GridDescription) -> Callable[..., GridDriver]:
        return partial(SearchDriver, self._plan, description)

    def _report(self, folder: GridFolder) -> Path | None:
        write_text(folder.path / FILE, Winners.of(read_search(folder)).text())
        return super()._report(folder)

    def _finish(self, folder: GridFolder, outcome: GridOutcome, follower: Follower) -> int:
        status = super()._finish(folder, outcome, follower)
        if not outcome.stopped:
            print_winners(Winners.of(read_search(folder)))
            print(f"  winners   {folder.path / FILE}; a study reads them with --winners")
        return status


def print_winners(winners: Winners) -> None:
    """A table of the winners, and what the search has cost."""
    header = ("task", "contexts", "bonus", "normalise", "coefficient", winners.search["metric"], "return", "samples")
    rows = [
        (
            one.task,
            one.contexts,
            one.expression,
            one.settings["normalise"],
            f"{one.settings['coefficient']:g}",
            f"{one.objective:.2f}",
            "-" if one.episode_return is None else f"{one.episode_return:.2f}",
            ", ".join(f"{count} {way}" for way, count in one.ended.items()),
        )
        for one in winners.winners
    ]
    print_table(header, rows)
    print(f"  chosen by {winners.objective}")
    steps, seconds = winners.cost["env_steps"], winners.cost["cpu_seconds"]
    print(f"  cost      {steps:,} steps, {duration(seconds)} of CPU time")
