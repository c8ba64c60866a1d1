"""V*_{ψ,c} for ψ = message on solved plans: play the game and keep the lowest value at which each message appears.

Each episode follows V* for a random number of steps, to reach all parts of a level, and from then on takes the action
tried least often in the current state, to cover all (state, action) pairs. Steps into lava and water are excluded: they
end the episode and reveal nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from bonuslab.envs.minihack import MiniHackEnv
from bonuslab.envs.minihack.known_map import Cell
from bonuslab.experiments.value_functions.game_states import State
from bonuslab.experiments.value_functions.optimal_values import Solution
from bonuslab.experiments.value_functions.value_follower import Observation, ValueFollower, deadly_steps, is_question


@dataclass
class Sightings:
    """The lowest value of the states in which each feature was seen in one context, and the first such episode."""

    lowest: dict[str, float] = field(default_factory=dict)
    first_episode: dict[str, int] = field(default_factory=dict)
    episodes: int = 0
    steps: int = 0
    tried: float = 0.0
    """Fraction of (state, action) pairs of reachable states that were tried."""

    def add(self, feature: str, value: float) -> None:
        """Record a state of the current episode."""
        if value < self.lowest.get(feature, np.inf):
            self.lowest[feature] = value
            self.first_episode.setdefault(feature, self.episodes)

    @property
    def late_share(self) -> float:
        """Fraction of features first seen in the second half of the episodes: near 0 if few are missing."""
        late = sum(2 * first >= self.episodes for first in self.first_episode.values())
        return late / max(len(self.first_episode), 1)


class LeastTried:
    """Chooses the action tried least often in a state; breaks ties at random."""

    def __init__(self, solution: Solution, num_actions: int, random: np.random.Generator) -> None:
        self._solution = solution
        self._random = random
        self._num_actions = num_actions
        self._deadly: dict[Cell, list[int]] = {}
        self._counts: dict[tuple[State, bool], np.ndarray] = defaultdict(lambda: np.zeros(num_actions))
        self._taken: dict[State, set[int]] = defaultdict(set)

    def act(self, state: State, is_question: bool) -> int:
        """The next action."""
        counts = self._counts[state, is_question]
        order = counts + self._random.random(self._num_actions)
        if not is_question:
            order[self._deadly_steps(state.cell)] = np.inf
        action = int(order.argmin())
        counts[action] += 1
        return action

    @property
    def tried(self) -> float:
        """Fraction of the plan's (state, action) pairs taken at least once, without deadly ones."""
        goal = self._solution.states.plan.goal
        states = [state for state in self._solution.values if state.cell != goal]
        possible = sum(self._num_actions - len(self._deadly_steps(state.cell)) for state in states)
        taken = sum(len(self._taken[state]) for state in states if state in self._taken)
        return taken / max(possible, 1)

    def note(self, state: State, action: int) -> None:
        """Record an action that was taken, other than an answer to a question."""
        self._taken[state].add(action)

    def _deadly_steps(self, cell: Cell) -> list[int]:
        if cell not in self._deadly:
            self._deadly[cell] = sorted(deadly_steps(self._solution.states.plan.terrain, cell))
        return self._deadly[cell]


def drive(env: MiniHackEnv, solution: Solution, context: int, steps: int, seed: int) -> Sightings:
    """Collect a context's messages over at least `steps` environment steps; the last episode is completed."""
    random = np.random.default_rng([seed, context])
    follower, least_tried = ValueFollower(solution, env.task), LeastTried(solution, len(env.task.actions), random)
    sightings = Sightings()
    farthest = fewest_actions(solution)
    while sightings.steps < steps:
        observation, _ = env.reset(options={"context": context})
        follower.reset()
        guided = int(random.integers(farthest + 1))
        for step in range(env.max_steps):
            state = follower.reader.read(observation)
            if state in solution.values:
                sightings.add(message_of(observation), solution.values[state])
            if step < guided:
                action = follower.act_in(state, observation)
            else:
                action = least_tried.act(state, is_question(observation))
            if not is_question(observation):
                least_tried.note(state, action)
            observation, _, terminated, truncated, info = env.step(action)
            sightings.steps += 1
            if terminated or truncated:
                break
        if info["end_status"] == "won":
            sightings.add(message_of(observation), 1.0)
        sightings.episodes += 1
    sightings.tried = least_tried.tried
    return sightings


def fewest_actions(solution: Solution) -> int:
    """Actions from the start to the goal if each succeeds at the first attempt."""
    state, actions = solution.states.start, 0
    while state in solution.best:
        actions += len(solution.best[state].keys)
        state = solution.best[state].target
    return actions


def message_of(observation: Observation) -> str:
    """ψ(s): the message without padding."""
    return observation["message"].tobytes().split(b"\0", 1)[0].decode("latin-1").strip()
