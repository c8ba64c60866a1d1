"""Value functions and similarities by task and feature: graph search where a level can be known, play where not."""

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
Tell = Callable[[str], None]
TELL_EVERY_SECONDS: Final = 10.0
DOORS_COUNT: Final = "doors must be opened, which takes actions"


class Estimates:
    """Samples value functions when first asked, keeps them, and says how similar they are."""

    def __init__(self, effort: Effort, seed: int = 0, tell: Tell = lambda line: None) -> None:
        self._effort = effort
        self._seed = seed
        self._tell = tell
        self._samples: dict[tuple[str, str], Sample] = {}
        self._plans: dict[str, dict[int, FloorPlan | None]] = {}

    def similarity(self, task: str, feature: str, contexts: int | None) -> Similarity:
        """The similarity with so many contexts, None for infinitely many."""
        return similarities(self.sample(task, feature).values, (contexts,), self._seed)[0]

    def sample(self, task: str, feature: str) -> Sample:
        """The value functions of a task over a feature."""
        if feature not in FEATURES:
            raise unknown("feature", feature, FEATURES)
        of_task = find_task(task)
        name = short_name(of_task)
        if (name, feature) not in self._samples:
            self._tell(f"{name}: value functions over {feature}s")
            if of_task.answers_questions:  # potions, wands and monsters: no plan tells how to win
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
        solved = _flat(solve(GameStates(plan, task)).positions() for plan in self._told(few, "solved"))
        how = "graph search on the known map" if is_known else "graph search on levels that an agent walked through"
        if _has_monsters(task):
            how = f"{how}, monsters ignored"
        if task.applies_key:  # no walk alone leads to the goal
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
                for context, plan in self._told(list(plans.items()), "played")
            }
        how = "states of the real game, valued by graph search"
        if _has_monsters(task):
            how = f"{how}, monsters ignored"
        return _of_messages(task, how, sightings, wanted)

    def _played(self, task: Task) -> list[Sample]:
        """The samples of all features at once: playing gives them together."""
        positions: dict[int, np.ndarray] = {}
        sightings: dict[int, Sightings] = {}
        ids = MiniHackContexts(self._effort.played_contexts, self._seed).ids or ()
        with closing(make(task)) as env:
            for context in self._told(ids, "played"):
                values, seen = play(env, context, self._effort.steps, self._seed)
                if values.any():
                    positions[context], sightings[context] = values, seen
        if not positions:
            raise InvalidInput(f"{short_name(task)} was never won in {len(ids)} contexts, so its values are not known")
        how = "value iteration on what was seen in the real game"
        messages = _of_messages(task, how, sightings, len(ids))
        flat = _flat(positions.values())
        left_out = len(ids) - len(positions)
        return [
            Sample(task, "position", how, list(positions), flat, left_out=left_out, coverage=messages.coverage),
            messages,
        ]

    def _find_plans(self, task: Task, wanted: int) -> dict[int, FloorPlan]:
        """The plans of so many contexts, without those whose level, or a way to its goal, could not be found out."""
        known = self._plans.setdefault(task.name, {})
        ids = MiniHackContexts(wanted, self._seed).ids or ()
        with closing(make(task)) as env:
            for context in self._told([one for one in ids if one not in known], "mapped"):
                plan = find_plan(env, context)
                known[context] = plan if plan is not None and _leads_to_goal(plan, task) else None
        plans = {context: plan for context in ids if (plan := known[context]) is not None}
        if not plans:
            raise InvalidInput(f"no level of {short_name(task)} could be found out in {wanted} contexts")
        return plans

    def _told(self, items: Sequence[Item], done: str) -> Iterator[Item]:
        """The items, with a line every few seconds that says how far it is."""
        last = time.monotonic()
        for number, item in enumerate(items):
            if time.monotonic() - last > TELL_EVERY_SECONDS:
                self._tell(f"  {done} {number} of {len(items)} contexts")
                last = time.monotonic()
            yield item


def _leads_to_goal(plan: FloorPlan, task: Task) -> bool:
    """Whether the plan shows a way; a surveyor that has seen the stairs may not have seen how to reach them."""
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
