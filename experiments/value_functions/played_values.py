"""V*_{ψ,c} for tasks without a plan to solve (potions, wands, monsters), from transitions counted in the game.

A state is the map, whether something was picked up, and the question asked. The transitions seen, with their
frequencies, form a small MDP, which value iteration solves:

    V(s) = max_a γ Σ_s' P(s' | s, a) V(s'),   V = 1 where the task is won,

over the actions tried. V*_{ψ,c} uses only states in which every action was tried, since others may have a low value
only because an action is missing, and only states with a known way to win, since others may be lost or just unexplored.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Final

import numpy as np
from nle import nethack

from bonuslab.envs.minihack import MiniHackEnv
from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.explorer import Explorer
from bonuslab.envs.minihack.known_map import FLOOR, Cell
from bonuslab.envs.minihack.render import agent_cell
from bonuslab.experiments.value_functions.driven_play import Sightings, message_of
from bonuslab.experiments.value_functions.floor_plan import COLUMNS, ROWS
from bonuslab.experiments.value_functions.optimal_values import DISCOUNT
from bonuslab.experiments.value_functions.value_follower import Observation

SCRIPTED_EVERY: Final = 3
"""The scripted agent, which knows how to win, plays every third episode to the end."""
_USABLE: Final = re.compile(r"^f - ")
"""The first item picked up gets the letter f, the only one that these tasks' actions can select."""
_TOLERANCE: Final = 1e-9

Node = tuple[int, bool, str, int, bool]
"""Hash of the map, whether the item is picked up, question asked, conditions such as levitation, whether won."""


class PlayedGame:
    """States and transitions seen in one context."""

    def __init__(self, num_actions: int) -> None:
        self.cells: list[Cell] = []
        self.messages: list[set[str]] = []
        """Of each state."""
        self._numbers: dict[Node, int] = {}
        self._transitions: dict[tuple[int, int], Counter[int | None]] = defaultdict(Counter)
        self._tries: dict[int, np.ndarray] = defaultdict(lambda: np.zeros(num_actions))
        self._won: set[int] = set()
        self._has_item = False

    def begin(self) -> None:
        """Start an episode."""
        self._has_item = False

    def read(self, observation: Observation, won: bool = False) -> int:
        """The index of the current state, given this observation and the ones before it."""
        message = message_of(observation)
        self._has_item = self._has_item or _USABLE.match(message) is not None
        question = message if "?" in message else ""
        conditions = int(observation["blstats"][nethack.NLE_BL_CONDITION])
        # Ignore items on the floor: stones that the agent throws would make every map a new one.
        glyphs = np.where(g.object_glyphs()[observation["glyphs"]], g.STONE + FLOOR, observation["glyphs"])
        node = (hash(glyphs.tobytes()), self._has_item, question, conditions, won)
        number = self._numbers.setdefault(node, len(self._numbers))
        if number == len(self.cells):
            self.cells.append(agent_cell(observation["blstats"]))
            self.messages.append(set())
            if won:
                self._won.add(number)
        self.messages[number].add(message)
        return number

    def add(self, number: int, action: int, target: int | None) -> None:
        """Record a transition; no target if the agent died."""
        self._tries[number][action] += 1
        self._transitions[number, action][target] += 1

    def least_tried(self, number: int, random: np.random.Generator) -> int:
        """The action tried least often in a state; breaks ties at random."""
        tries = self._tries[number]
        return int((tries + random.random(len(tries))).argmin())

    @property
    def tried(self) -> float:
        """Fraction of (state, action) pairs tried, over the states seen."""
        return float(np.mean([tries > 0 for tries in self._tries.values()])) if self._tries else 0.0

    def well_known(self, values: np.ndarray) -> list[int]:
        """States with a way to win in which every action was tried, and winning states."""
        return [
            number
            for number, value in enumerate(values)
            if value > 0 and (number in self._won or (number in self._tries and self._tries[number].all()))
        ]

    def values(self, discount: float = DISCOUNT) -> np.ndarray:
        """[states]: optimal values of the observed MDP, by value iteration."""
        sources = np.array([number for number, _ in self._transitions], np.intp)  # [pairs]
        rows = [
            (pair, target, discount * count / targets.total())
            for pair, targets in enumerate(self._transitions.values())
            for target, count in targets.items()
            if target is not None
        ]
        pairs, targets = (np.array([row[part] for row in rows], np.intp) for part in (0, 1))
        weights = np.array([row[2] for row in rows])
        won = np.array(sorted(self._won), np.intp)
        values = np.zeros(len(self._numbers))
        while len(won):
            action_values = np.bincount(pairs, weights * values[targets], len(sources))
            better = np.zeros(len(values))
            np.maximum.at(better, sources, action_values)
            better[won] = 1.0
            change, values = np.abs(better - values).max(), better
            if change < _TOLERANCE:
                break
        return values


def play(env: MiniHackEnv, context: int, steps: int, seed: int) -> tuple[np.ndarray, Sightings]:
    """Values of positions [21, 79] and of messages in one context after `steps` steps; all 0 if it was never won."""
    random = np.random.default_rng([seed, context])
    game, explorer, sightings = PlayedGame(len(env.task.actions)), Explorer(env.task.actions, seed), Sightings()
    longest = 1
    while sightings.steps < steps:
        is_scripted = sightings.episodes % SCRIPTED_EVERY == 0
        scripted = env.max_steps if is_scripted else int(random.integers(longest))
        length = _episode(env, context, game, explorer, random, scripted)
        longest = length if is_scripted else longest
        sightings.steps += length
        for message in set().union(*game.messages):
            sightings.first_episode.setdefault(message, sightings.episodes)
        sightings.episodes += 1
    positions = np.full((ROWS, COLUMNS), np.inf)
    values = game.values()
    for number in game.well_known(values):
        cell = game.cells[number]
        positions[cell] = min(positions[cell], values[number])
        for message in game.messages[number]:
            sightings.add(message, float(values[number]))
    sightings.tried = game.tried
    return np.where(np.isinf(positions), 0.0, positions), sightings


def _episode(
    env: MiniHackEnv,
    context: int,
    game: PlayedGame,
    explorer: Explorer,
    random: np.random.Generator,
    scripted: int,
) -> int:
    """Play one episode, the first `scripted` steps by the scripted agent; return its length."""
    observation, _ = env.reset(options={"context": context})
    game.begin()
    explorer.reset()
    state, step = game.read(observation), 0
    ended = False
    while not ended:
        action = explorer.act(observation) if step < scripted else game.least_tried(state, random)
        observation, _, terminated, truncated, info = env.step(action)
        step, ended = step + 1, terminated or truncated
        target = None if info["end_status"] == "died" else game.read(observation, info["end_status"] == "won")
        game.add(state, action, target)
        state = target if target is not None else state
    return step
