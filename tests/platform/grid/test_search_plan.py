"""What a search tries: the same for every bonus, on seeds of its own."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from bonuslab.algorithms.bonuses import parse
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.experiment import Scale
from bonuslab.platform.grid.search_plan import SearchPlan, key_of
from bonuslab.platform.grid.search_space import Search, Space, has_beta, with_beta

BONUSES = ["none", "e3b", "count.global", "e3b + 100 * rnd"]


@pytest.fixture(scope="module")
def study(tiny: ModuleType) -> Scale:
    return replace(tiny.tiny_scale(BONUSES, 8), seeds=[0, 1], contexts=("1", "inf"))


def test_every_bonus_has_the_same_budget_and_settings(study: Scale) -> None:
    plan = SearchPlan(Search(seeds=(101, 102), samples=5), study.trials())
    trials = plan.trials()
    assert len({trial.id for trial in trials}) == len(trials)
    budget: Counter[tuple[str, str]] = Counter()
    tried: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for trial in trials:
        group = trial.labels["bonus"], trial.labels["contexts"]
        budget[group] += trial.total_env_steps
        values = trial.hyperparameters
        tried[group].append((values["normalise"], values["coefficient"], trial.labels["seed"]))
    wanted = {(str(parse(bonus)), contexts) for bonus in BONUSES[1:] for contexts in ("1", "inf")}
    assert set(budget) == wanted
    assert set(budget.values()) == {5 * 2 * 256}
    assert len({tuple(sorted(values)) for values in tried.values()}) == 1


def test_only_search_seeds_are_used_and_no_evaluation(study: Scale) -> None:
    trials = SearchPlan(Search(seeds=(101, 102)), study.trials()).trials()
    assert {trial.config["seed"] for trial in trials} == {101, 102}
    assert {trial.config["evaluate_every_steps"] for trial in trials} == {0}
    assert all(trial.config["serial"] for trial in trials)


def test_seeds_of_the_study_are_refused() -> None:
    with pytest.raises(InvalidInput, match="search seeds 1, 2 are seeds of the study; search on others"):
        Search(seeds=(1, 2, 101)).require_fresh(range(5))


def test_beta_is_searched_only_in_sums(study: Scale) -> None:
    plan = SearchPlan(Search(samples=4), study.trials())
    weights = {trial.config["bonus"] for trial in plan.trials() if "+" in trial.labels["bonus"]}
    assert len(weights) == 4
    assert {trial.labels["bonus"] for trial in plan.trials() if trial.labels["beta"]} == {"e3b + 100 * rnd"}
    for text in weights:
        assert str(parse(text)) == text
    assert str(with_beta(parse("e3b + 100 * rnd"), 7.5)) == "e3b + 7.5 * rnd"
    assert str(with_beta(parse("e3b + ngu * rnd"), 2.0)) == "e3b + 2 * ngu * rnd"
    assert [has_beta(parse(text)) for text in ("e3b", "e3b * rnd", "e3b + rnd + icm")] == [False] * 3


def test_even_samples_cover_the_range_of_each_normalisation() -> None:
    space = Space(("std", "none"), (0.001, 10.0))
    drawn = space.evenly(8, seed=3, beta=True)
    assert [one["normalise"] for one in drawn] == ["std", "none"] * 4
    for kind in ("std", "none"):
        exponents = [math.log10(one["coefficient"]) for one in drawn if one["normalise"] == kind]
        assert sorted(math.floor(value) for value in exponents) == [-3, -2, -1, 0]
    eighths = [math.floor(8 * math.log10(one["beta"]) / 5) for one in drawn]
    assert sorted(eighths) == list(range(8))
    assert drawn == space.evenly(8, seed=3, beta=True)
    assert drawn != space.evenly(8, seed=4, beta=True)


def test_random_samples_are_drawn_from_the_space() -> None:
    space = Space(("std", "reference"), (0.01, 0.1))
    drawn = space.randomly(50, seed=0, beta=False)
    assert {one["normalise"] for one in drawn} == {"std", "reference"}
    assert all(0.01 <= one["coefficient"] <= 0.1 and "beta" not in one for one in drawn)
    # The same settings for a sum, besides its β.
    again = space.randomly(50, seed=0, beta=True)
    assert [{**one, "beta": 0} for one in drawn] == [{**one, "beta": 0} for one in again]


def test_a_searchers_choices_are_taken_up_again(study: Scale) -> None:
    search = Search(samples=2, searcher="optuna")
    plan = SearchPlan(search, study.trials())
    assert all(value is None for value in plan.settings.values())
    key = next(key for key in plan.settings if "+" in key[0])
    before = [trial.id for trial in plan.trials()]
    plan.settings[key] = {"normalise": "none", "coefficient": 0.25, "beta": 40.0}
    assert [trial.id for trial in plan.trials()] == before
    later = SearchPlan(search, study.trials())
    later.resume(plan.trials())
    assert {one: value for one, value in later.settings.items() if value} == {key: plan.settings[key]}
    assert {key_of(trial) for trial in later.trials()} == set(plan.settings)


def test_unequal_steps_are_refused_unless_the_search_has_its_own(study: Scale) -> None:
    def longer(point: Any) -> dict[str, Any]:
        return {"total_env_steps": 512} if point.bonus == "e3b" else {}

    trials = replace(study, adjust=longer).trials()
    with pytest.raises(InvalidInput, match="MultiRoom-N2-S4 have different numbers of steps"):
        SearchPlan(Search(), trials)
    assert {trial.total_env_steps for trial in SearchPlan(Search(steps=128), trials).trials()} == {128}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 0}, "at least one sample"),
        ({"seeds": ()}, "at least one search seed"),
        ({"seeds": (1, 1)}, "at least one search seed, each once"),
        ({"scheduler": "pbt"}, "unknown scheduler 'pbt'"),
        ({"grace": 0.0}, "invalid --grace 0"),
    ],
)
def test_an_impossible_search_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Search(**wrong)


def test_an_impossible_space_is_refused(study: Scale) -> None:
    with pytest.raises(InvalidInput, match=r"invalid range of coefficient, 1 to 0\.1"):
        Space(coefficient=(1.0, 0.1))
    with pytest.raises(InvalidInput, match="'median'"):
        SearchPlan(Search(space=Space(normalise=("std", "median"))), study.trials())
    with pytest.raises(InvalidInput, match="no trial has a bonus"):
        SearchPlan(Search(), [trial for trial in study.trials() if trial.labels["bonus"] == "none"])
