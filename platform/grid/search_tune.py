"""A search in Ray Tune's words: one searcher and one scheduler for each bonus, so that bonuses do not compete."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, MedianStoppingRule, TrialScheduler
from ray.tune.search import SEARCH_ALG_IMPORT, Searcher, create_searcher

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.grid.search_plan import Key, SearchPlan
from bonuslab.platform.grid.search_space import EVEN, RANDOM, Search, Settings, rounded
from bonuslab.platform.grid.search_trial import ENDED
from bonuslab.platform.run.names import slug
from bonuslab.platform.run.rows import STEPS

OBJECTIVE, RUNG, MODE = "objective", "rung", "max"
"""Of searchers and of schedulers; see `measure`."""
REDUCTION = 2
"""ASHA lets the better half of the samples go on; its paper uses 4, for far more samples."""


class SampleSearcher(Searcher):
    """Hands out samples: those with known settings as they are, others as each bonus's own searcher suggests."""

    def __init__(
        self,
        plan: SearchPlan,
        pending: Iterable[Key],
        spec: Callable[[Key], dict[str, Any]],
        settle: Callable[[Key, Settings], None],
        states: Path,
    ) -> None:
        """`spec` has the Tune config of a sample, `settle` is told its settings, `states` is a folder."""
        super().__init__(OBJECTIVE, MODE)
        self._plan, self._pending, self._spec, self._settle, self._states = plan, list(pending), spec, settle, states
        self._keys: dict[str, Key] = {}
        self._own: dict[str, Searcher] = {}
        if plan.search.searcher not in (EVEN, RANDOM):
            self._own = {group: self._restored(group) for group in plan.groups}

    def __reduce__(self) -> tuple[Any, ...]:
        # Tune saves its searcher for a restart that we do ourselves.
        return Searcher, ()

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        """The objective and the space are ours."""
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """The next sample."""
        if not self._pending:
            return Searcher.FINISHED
        group, _ = key = self._pending[0]
        if self._plan.settings[key] is None:
            found = self._own[group].suggest(_name(key))
            if found is None or found == Searcher.FINISHED:
                return found
            self._save(group)  # before it counts as chosen: a searcher asked again for a known sample repeats itself
            names = self._plan.search.space.domains(self._plan.beta(group))
            self._settle(key, rounded({name: found[name] for name in names}))
        self._keys[trial_id] = self._pending.pop(0)
        return self._spec(key)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Pass a result on."""
        group, _ = key = self._keys[trial_id]
        if group in self._own:
            self._own[group].on_trial_result(_name(key), result)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Pass the end of a sample on, unless it only pauses because the search is being stopped."""
        group, _ = key = self._keys[trial_id]
        if group not in self._own or (result and result[ENDED] and result[STEPS] < self._plan.steps(group)):
            return
        self._own[group].on_trial_complete(_name(key), result, error)
        self._save(group)

    def _restored(self, group: str) -> Searcher:
        searcher = make_searcher(self._plan.search, self._plan.beta(group))
        if self._file(group).is_file():
            searcher.restore(str(self._file(group)))
        return searcher

    def _save(self, group: str) -> None:
        self._states.mkdir(parents=True, exist_ok=True)
        self._own[group].save(str(self._file(group)))

    def _file(self, group: str) -> Path:
        return self._states / f"{slug(group)}.pkl"


class PerBonusScheduler(FIFOScheduler):
    """A scheduler for each bonus; starts samples in order."""

    def __init__(self, schedulers: Mapping[str, TrialScheduler]) -> None:
        super().__init__()
        self._of = dict(schedulers)
        self._overdue: set[_Trial] = set()
        """Samples that a replay would stop; those that have not ended are stopped at their next row."""

    def replay(self, key: Key, results: Iterable[dict[str, float]], ended: bool) -> None:
        """Tell a sample's scheduler what it has reported in earlier sessions, which Tune does not remember."""
        scheduler, trial = self._of[key[0]], _Trial(_name(key))
        scheduler.on_trial_add(None, trial)
        last = None
        for last in results:
            if scheduler.on_trial_result(None, trial, last) == TrialScheduler.STOP:
                self._overdue.add(trial)
                break
        if ended and last is not None:
            scheduler.on_trial_complete(None, trial, last)

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """The objective is ours."""
        return True

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """A sample starts, or resumes."""
        scheduler, known = self._for(trial)
        scheduler.on_trial_add(tune_controller, known)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Whether a sample continues."""
        scheduler, known = self._for(trial)
        if known in self._overdue:
            return TrialScheduler.STOP
        return scheduler.on_trial_result(tune_controller, known, result)

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """A sample has ended, unless the search is being stopped."""
        scheduler, known = self._for(trial)
        scheduler.on_trial_complete(tune_controller, known, result)

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """A sample was removed before it ended."""
        scheduler, known = self._for(trial)
        scheduler.on_trial_remove(tune_controller, known)

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """A sample has failed."""
        scheduler, known = self._for(trial)
        scheduler.on_trial_error(tune_controller, known)

    def _for(self, trial: Any) -> tuple[TrialScheduler, Any]:
        key = trial.config["group"], trial.config["sample"]
        return self._of[key[0]], _Trial(_name(key))


@dataclass(frozen=True)
class _Trial:
    """What a scheduler knows of a sample: a name that is the same in every session."""

    trial_id: str


def make_scheduler(search: Search, steps: int) -> TrialScheduler:
    """The scheduler of one bonus, whose samples have `steps` steps."""
    grace = max(1, int(search.grace * steps))
    compared = {"metric": RUNG, "mode": MODE, "time_attr": STEPS}
    if search.scheduler == "asha":
        return ASHAScheduler(**compared, max_t=steps, grace_period=grace, reduction_factor=REDUCTION)
    if search.scheduler == "median":
        # Without a time slice it never pauses a sample to wait for others.
        return MedianStoppingRule(**compared, grace_period=grace, hard_stop=True, min_time_slice=math.inf)
    return FIFOScheduler()


def make_searcher(search: Search, beta: bool) -> Searcher:
    """A searcher of Ray Tune by name, with the search's space."""
    name = search.searcher
    known = [EVEN, *sorted(set(SEARCH_ALG_IMPORT) - {"variant_generator"})]
    if name not in known:
        raise unknown("searcher", name, known)
    try:
        searcher = create_searcher(name, metric=OBJECTIVE, mode=MODE, seed=search.seed)
        if not searcher.set_search_properties(OBJECTIVE, MODE, search.space.domains(beta)):
            raise InvalidInput(f"--searcher {name} does not accept this space")
    except (ImportError, AssertionError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"--searcher {name} needs a package that is not installed: {reason}") from error
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InvalidInput(f"--searcher {name} cannot search this space: {error}") from error
    return searcher


def _name(key: Key) -> str:
    return f"{key[0]} | {key[1]}"
