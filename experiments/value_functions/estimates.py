"""Value functions and similarities by task and feature: graph search where a level can be mapped, otherwise play."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final, TypeVar

import numpy as np

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack import Task, make
from bonuslab.envs.minihack import task as find_task
from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.levels import LavaCrossing, MultiRoom
from bonuslab.experiments.value_functions.driven_play import Sightings, drive
from bonuslab.experiments.value_functions.floor_plan import FloorPlan
from bonuslab.experiments.value_functions.game_states import GameStates
from bonuslab.experiments.value_functions.movement import NETHACK, RULES
from bonuslab.experiments.value_functions.optimal_values import shortest_walk_values, solve
from bonuslab.experiments.value_functions.played_values import play
from bonuslab.experiments.value_functions.sampling import (
    FEATURES,
    JOINED,
    Coverage,
    Effort,
    Sample,
    joined_messages,
    message_table,
)
from bonuslab.experiments.value_functions.similarity import Similarity, similarities
from bonuslab.experiments.value_functions.survey import find_plan
from bonuslab.platform.cli.tasks import short_name

Item = TypeVar("Item")
Log = Callable[[str], None]
LOG_EVERY_SECONDS: Final = 10.0
DOORS_COUNT: Final = "doors must be opened, which takes actions"


class Estimates:
    """Value functions, sampled on first use and cached, and their similarity."""

    def __init__(self, effort: Effort, seed: int = 0, log: Log = lambda line: None) -> None:
        self._effort = effort
        self._seed = seed
        self._log = log
        self._samples: dict[tuple[str, str], Sample] = {}
        self._plans: dict[str, dict[int, FloorPlan | None]] = {}

    def similarity(self, task: str, feature: str, contexts: int | None) -> Similarity:
        """The similarity with this number of contexts; None for infinitely many."""
        return similarities(self.sample(task, feature).values, (contexts,), self._seed)[0]

    def sample(self, task: str, feature: str) -> Sample:
        """The value functions of a task over a feature."""
        if feature not in FEATURES:
            raise unknown("feature", feature, FEATURES)
        of_task = find_task(task)
        name = short_name(of_task)
        if (name, feature) not in self._samples:
            self._log(f"{name}: value functions over {feature}s")
            if of_task.answers_questions:  # potions, wands and monsters: a plan does not determine how to win
                self._samples |= {(name, found.feature): found for found in self._played(of_task)}
            else:
                sampled = self._positions if feature == "position" else self._messages
                self._samples[name, feature] = sampled(of_task)
        return self._samples[name, feature]

    def _positions(self, task: Task) -> Sample:
        is_known = isinstance(task.levels, MultiRoom | LavaCrossing)
        wanted = self._effort.known_contexts if is_known else self._effort.played_contexts
        plans = self._find_plans(task, wanted)
        contexts, found = list(plans), list(plans.values())
        few = found[: self._effort.solved_contexts]
        solved = _flat(solve(GameStates(plan, task)).positions() for plan in self._logged(few, "solved"))
        how = "graph search on the known map" if is_known else "graph search on levels explored by a scripted agent"
        if _has_monsters(task):
            how = f"{how}, monsters ignored"
        if task.applies_key:  # walking alone does not reach the goal
            values, readings = solved, {}
            how = f"{how}, with key and door"
        else:
            readings = {rule.name: _flat(shortest_walk_values(plan, rule) for plan in found) for rule in RULES}
            values = readings.pop(NETHACK.name)
            if any(plan.obstacles for plan in found):
                readings[DOORS_COUNT] = solved
        num = len(values)
        return Sample(
            task,
            "position",
            how,
            contexts[:num],
            values,
            plans=found[:num],
            left_out=wanted - len(found),
            readings=readings,
        )

    def _messages(self, task: Task) -> Sample:
        wanted = self._effort.played_contexts
        plans = self._find_plans(task, wanted)
        with closing(make(task)) as env:
            sightings = {
                context: drive(env, solve(GameStates(plan, task)), context, self._effort.steps, self._seed)
                for context, plan in self._logged(list(plans.items()), "played")
            }
        how = "states seen in the game, with values from graph search"
        if _has_monsters(task):
            how = f"{how}, monsters ignored"
        return _of_messages(task, how, sightings, wanted)

    def _played(self, task: Task) -> list[Sample]:
        """The samples of all features, since one play gives both."""
        positions: dict[int, np.ndarray] = {}
        sightings: dict[int, Sightings] = {}
        ids = MiniHackContexts(self._effort.played_contexts, self._seed).ids or ()
        with closing(make(task)) as env:
            for context in self._logged(ids, "played"):
                values, seen = play(env, context, self._effort.steps, self._seed)
                if values.any():
                    positions[context], sightings[context] = values, seen
        if not positions:
            raise InvalidInput(f"{short_name(task)} was never won in {len(ids)} contexts, so its values are unknown")
        how = "value iteration on transitions seen in the game"
        messages = _of_messages(task, how, sightings, len(ids))
        flat = _flat(positions.values())
        left_out = len(ids) - len(positions)
        return [
            Sample(task, "position", how, list(positions), flat, left_out=left_out, coverage=messages.coverage),
            messages,
        ]

    def _find_plans(self, task: Task, wanted: int) -> dict[int, FloorPlan]:
        """The plans of `wanted` contexts, without those whose level could not be mapped up to the goal."""
        known = self._plans.setdefault(task.name, {})
        ids = MiniHackContexts(wanted, self._seed).ids or ()
        with closing(make(task)) as env:
            for context in self._logged([one for one in ids if one not in known], "mapped"):
                plan = find_plan(env, context)
                known[context] = plan if plan is not None and _leads_to_goal(plan, task) else None
        plans = {context: plan for context in ids if (plan := known[context]) is not None}
        if not plans:
            raise InvalidInput(f"no level of {short_name(task)} could be mapped in {wanted} contexts")
        return plans

    def _logged(self, items: Sequence[Item], done: str) -> Iterator[Item]:
        """The items, with progress logged every few seconds."""
        last = time.monotonic()
        for number, item in enumerate(items):
            if time.monotonic() - last > LOG_EVERY_SECONDS:
                self._log(f"  {done} {number} of {len(items)} contexts")
                last = time.monotonic()
            yield item


def _leads_to_goal(plan: FloorPlan, task: Task) -> bool:
    """Whether the plan has a path to the goal; a surveyor may see the stairs without a way to reach them."""
    if task.applies_key:
        solution = solve(GameStates(plan, task))
        return solution.values.get(solution.states.start, 0.0) > 0
    return bool(shortest_walk_values(plan)[plan.start] > 0)


def _has_monsters(task: Task) -> bool:
    return isinstance(task.levels, MultiRoom) and task.levels.monsters > 0


def _of_messages(task: Task, how: str, sightings: dict[int, Sightings], wanted: int) -> Sample:
    seen = list(sightings.values())
    names, values = message_table(seen)
    return Sample(
        task,
        "message",
        how,
        list(sightings),
        values,
        names,
        left_out=wanted - len(seen),
        coverage=Coverage.of(seen),
        readings={JOINED: joined_messages(seen)},
    )


def _flat(maps: Iterable[np.ndarray]) -> np.ndarray:
    """[n, |Z|] of maps [21, 79]."""
    return np.stack([one.ravel() for one in maps])
