"""Schedulers and searchers of a search: one for each bonus, the same decisions after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ray.tune.schedulers import TrialScheduler
from ray.tune.search import SEARCH_ALG_IMPORT, Searcher

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.search_plan import Key, SearchPlan
from bonuslab.platform.grid.search_space import Search
from bonuslab.platform.grid.search_tune import PerBonusScheduler, SampleSearcher, make_scheduler, make_searcher

STEPS = 100


@dataclass
class Trial:
    """What a scheduler gets to see of a Tune trial."""

    config: dict[str, Any]
    trial_id: str = "of this session"


def scheduler(name: str = "asha") -> PerBonusScheduler:
    return PerBonusScheduler({group: make_scheduler(Search(scheduler=name), STEPS) for group in ("e3b", "rnd")})


def report(of: PerBonusScheduler, group: str, sample: int, value: float, steps: int = 25) -> str:
    trial = Trial({"group": group, "sample": sample})
    of.on_trial_add(None, trial)
    return of.on_trial_result(None, trial, result(value, steps))


def result(value: float, steps: int = 25) -> dict[str, float]:
    return {"env_steps": steps, "rung": value, "objective": value}


def test_samples_compete_within_their_bonus_only() -> None:
    of = scheduler()
    assert [report(of, "e3b", number, value) for number, value in enumerate((0.9, 0.8, 1.0))] == [
        TrialScheduler.CONTINUE, TrialScheduler.STOP, TrialScheduler.CONTINUE,
    ]  # fmt: skip
    assert report(of, "rnd", 0, 0.1) == TrialScheduler.CONTINUE
    assert report(of, "rnd", 1, 0.1) == TrialScheduler.CONTINUE, "equal samples go on"
    assert report(of, "e3b", 3, 0.0, steps=24) == TrialScheduler.CONTINUE, "not before the grace period"


@pytest.mark.parametrize("name", ["asha", "median"])
def test_a_replayed_search_decides_as_if_it_had_not_been_interrupted(name: str) -> None:
    def whole() -> PerBonusScheduler:
        of = scheduler(name)
        for number in range(3):
            trial = Trial({"group": "e3b", "sample": number})
            of.on_trial_add(None, trial)
            of.on_trial_result(None, trial, result(0.5, 25))
            of.on_trial_result(None, trial, result(0.5, 50))
            of.on_trial_complete(None, trial, result(0.5, 100))
        return of

    def again() -> PerBonusScheduler:
        of = scheduler(name)
        for number in range(3):
            of.replay(("e3b", number), [result(0.5, 25), result(0.5, 50), result(0.5, 100)], ended=True)
        return of

    for value in (0.4, 0.6):
        assert report(again(), "e3b", 3, value, 50) == report(whole(), "e3b", 3, value, 50)
    assert report(again(), "e3b", 4, 0.4, 50) == TrialScheduler.STOP
    interrupted = again()
    interrupted.replay(("e3b", 4), [result(0.4, 50)], ended=False)
    assert report(interrupted, "e3b", 4, 0.9, 60) == TrialScheduler.STOP
    assert report(scheduler(name), "e3b", 4, 0.4, 50) == TrialScheduler.CONTINUE


def test_no_scheduler_stops_nothing() -> None:
    of = scheduler("none")
    assert {report(of, "e3b", number, -number, 90) for number in range(5)} == {TrialScheduler.CONTINUE}


class Climber(Searcher):
    """Suggests twice the last coefficient, from 1; remembers what it is told."""

    def __init__(self, metric: str = "objective", mode: str = "max") -> None:
        super().__init__(metric, mode)
        self.last, self.told = 0.5, []

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        return set(config) >= {"normalise", "coefficient"}

    def suggest(self, trial_id: str) -> dict[str, Any]:
        self.last *= 2
        return {"normalise": "std", "coefficient": self.last}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        self.told.append(trial_id)

    def save(self, checkpoint_path: str) -> None:
        Path(checkpoint_path).write_text(repr((self.last, self.told)))

    def restore(self, checkpoint_path: str) -> None:
        self.last, self.told = eval(Path(checkpoint_path).read_text())


def test_each_bonus_has_its_own_searcher_whose_state_survives(
    tmp_path: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEARCH_ALG_IMPORT, "climber", lambda: Climber)
    search = Search(samples=3, searcher="climber")
    plan = SearchPlan(search, tiny.tiny_scale(["e3b", "rnd"], 2).trials())

    def searcher() -> SampleSearcher:
        def settle(key: Key, settings: dict[str, Any]) -> None:
            plan.settings[key] = settings

        pending = [key for key in plan.settings if key not in done]
        return SampleSearcher(plan, pending, lambda key: {"key": key}, settle, tmp_path / "states")

    done: list[Key] = []
    first = searcher()
    keys = [first.suggest(str(number))["key"] for number in range(3)]  # type: ignore[index,call-overload]
    assert [key[1] for key in keys] == [0, 0, 1]
    ended = {"env_steps": 64, "ended": True}
    first.on_trial_complete("0", ended)
    first.on_trial_complete("1", {"env_steps": 32, "ended": False})  # stopped by the scheduler
    first.on_trial_complete("2", {"env_steps": 32, "ended": True})  # the search is being stopped
    done += keys[:2]
    second = searcher()
    assert second.suggest("a") == {"key": keys[2]}, "an interrupted sample resumes with its settings"
    rest = [second.suggest(name) for name in "bcd"]
    assert [found["key"][1] for found in rest] == [1, 2, 2]  # type: ignore[index,call-overload]
    assert second.suggest("e") == Searcher.FINISHED
    assert [value["coefficient"] for value in plan.settings.values() if value] == [1, 1, 2, 2, 4, 4]
    assert [len(own.told) for own in second._own.values()] == [1, 1]  # type: ignore[attr-defined]


def test_a_missing_package_and_an_unknown_searcher_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing(Searcher):
        def __init__(self, metric: str = "", mode: str = "max") -> None:
            raise AssertionError("Optuna must be installed!\n  Run `pip install optuna`.")

    monkeypatch.setitem(SEARCH_ALG_IMPORT, "optuna", lambda: Missing)
    with pytest.raises(InvalidInput, match="--searcher optuna needs a package that is not installed: Optuna must be"):
        make_searcher(Search(searcher="optuna"), beta=False)
    with pytest.raises(InvalidInput, match="unknown searcher 'optuma'"):
        make_searcher(Search(searcher="optuma"), beta=False)
