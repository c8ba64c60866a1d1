"""Two scripted agents: a random one, and one that walks to the nearest frontier of what it has seen.

They are the lower and upper reference for learned explorers. The frontier agent knows its exact position and a perfect
map of what it has seen; of the rest, it knows where the floor continues beyond the frontier and how large a gap is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion, label

from bonuslab.envs.habitat.compiled import compiled
from bonuslab.envs.habitat.env import HabitatEnv
from bonuslab.envs.habitat.simulator import CELL_METRES, FORWARD_METRES, TURN_DEGREES, Action, Pose

Policy = Callable[[HabitatEnv], Action]
"""Chooses the next action from what the environment has revealed so far."""

_SMALLEST_GAP_CELLS = 12
"""Smaller unseen patches are visited last."""
_LOOK_AHEAD_CELLS = 40
_LONG_EDGE_CELLS = 20
"""Length at which a frontier's value saturates."""
_ACTIONS_PER_CELL = CELL_METRES / FORWARD_METRES
_SETTLING_ACTIONS = 6.0
"""Added to the cost of every path, so that small but near frontiers do not always win."""
_STUCK_METRES = 0.02

Cell = tuple[int, int]
"""(row, column) of a map."""


@dataclass(frozen=True)
class Walk:
    """An episode of a policy."""

    context: int
    coverage: list[float]
    """At the start and after each step."""
    path: list[Pose]


def walk(env: HabitatEnv, policy: Policy, context: int | None = None) -> Walk:
    """Play one episode, on `context` or on the environment's next one."""
    _, info = env.reset(options=None if context is None else {"context": context})
    coverage, over = [env.coverage], False
    while not over:
        _, _, terminated, truncated, info = env.step(int(policy(env)))
        coverage.append(env.coverage)
        over = terminated or truncated
    return Walk(info["context"], coverage, env.path)


def random_policy(seed: int = 0) -> Policy:
    """Uniform over the four actions."""
    rng = np.random.default_rng(seed)
    return lambda _: Action(int(rng.integers(len(Action))))


def frontier_policy() -> Policy:
    """Walks to the frontier with the best ratio of length to distance, until everything is seen."""
    return _FrontierPolicy()


class _FrontierPolicy:
    def __init__(self) -> None:
        self._target: Cell | None = None
        self._given_up: set[Cell] = set()

    def __call__(self, env: HabitatEnv) -> Action:
        path, map_ = env.path, env.map
        if len(path) == 1:
            self._target = None
            self._given_up.clear()
        pose, here = path[-1], map_.cell_of(path[-1].x, path[-1].z)
        if self._target and (here == self._target or _is_stuck(path)):
            self._given_up.add(self._target)
        frontier = _frontier(map_.navigable, env.revealed, self._given_up)
        for passable in (_passable(env.revealed, here), env.revealed):  # along walls only as a last resort
            steps = _steps_from(passable | frontier, *here)
            if (steps[frontier] >= 0).any():
                break
        if self._target is None or not frontier[self._target] or steps[self._target] < 0:
            self._target = _best_target(frontier, steps, here, pose.heading)
        if self._target is None:
            return Action.LEFT
        ahead = _straight_ahead(passable, steps, *self._target)
        turn = math.remainder(_heading_to(here, ahead) - pose.heading, 2 * math.pi)
        if abs(turn) > math.radians(TURN_DEGREES) / 2 + 1e-6:
            return Action.LEFT if turn > 0 else Action.RIGHT
        return Action.FORWARD


def _is_stuck(path: list[Pose]) -> bool:
    """Whether the last action was a forward step that was blocked."""
    if len(path) < 2 or path[-1].heading != path[-2].heading:
        return False
    return math.hypot(path[-1].x - path[-2].x, path[-1].z - path[-2].z) < _STUCK_METRES


def _frontier(navigable: np.ndarray, revealed: np.ndarray, given_up: set[Cell]) -> np.ndarray:
    """Seen cells next to unseen ones; those next to small patches only if there are no others."""
    unseen = navigable & ~revealed
    patches, _ = label(unseen)
    large = np.bincount(patches.ravel()) >= _SMALLEST_GAP_CELLS
    frontier = np.zeros_like(revealed)
    for wanted in (unseen & large[patches], unseen):
        frontier = revealed & binary_dilation(wanted)
        for cell in given_up:
            frontier[cell] = False
        if frontier.any():
            break
    return frontier


def _passable(revealed: np.ndarray, here: Cell) -> np.ndarray:
    """Seen cells to walk through: not directly along walls, except near the agent."""
    passable = binary_erosion(revealed, np.ones((3, 3)), border_value=0)
    row, column = here
    around = np.s_[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]
    passable[around] |= revealed[around]
    return passable


def _best_target(frontier: np.ndarray, steps: np.ndarray, here: Cell, heading: float) -> Cell | None:
    """The frontier cell with the best value per action."""
    edges, _ = label(frontier, np.ones((3, 3)))
    length = np.minimum(np.bincount(edges.ravel()), _LONG_EDGE_CELLS)
    best: tuple[float, Cell | None] = (0.0, None)
    for row, column in np.argwhere(frontier & (steps >= 0)).tolist():
        turn = abs(math.remainder(_heading_to(here, (row, column)) - heading, 2 * math.pi)) / math.radians(TURN_DEGREES)
        actions = _ACTIONS_PER_CELL * steps[row, column] + turn
        value = length[edges[row, column]] / (actions + _SETTLING_ACTIONS)
        if value > best[0]:
            best = float(value), (row, column)
    return best[1]


def _heading_to(here: Cell, there: Cell) -> float:
    return math.atan2(here[1] - there[1], here[0] - there[0])


@compiled
def _steps_from(passable: np.ndarray, row: int, column: int) -> np.ndarray:
    """[rows, columns] int32: 8-connected distance to each cell; -1 where unreachable."""
    rows, columns = passable.shape
    steps = np.full((rows, columns), -1, np.int32)
    queue = np.empty((rows * columns, 2), np.int32)
    queue[0, 0], queue[0, 1] = row, column
    steps[row, column] = 0
    first, last = 0, 1
    while first < last:
        r, c = queue[first, 0], queue[first, 1]
        first += 1
        for dr in range(-1, 2):
            for dc in range(-1, 2):
                a, b = r + dr, c + dc
                if 0 <= a < rows and 0 <= b < columns and passable[a, b] and steps[a, b] < 0:
                    steps[a, b] = steps[r, c] + 1
                    queue[last, 0], queue[last, 1] = a, b
                    last += 1
    return steps


@compiled
def _straight_ahead(passable: np.ndarray, steps: np.ndarray, target_row: int, target_column: int) -> tuple[int, int]:
    """The furthest cell on a shortest path to the target that is reachable in a straight line."""
    count = steps[target_row, target_column]
    way = np.empty((count + 1, 2), np.int32)
    row, column = target_row, target_column
    way[count, 0], way[count, 1] = row, column
    for place in range(count - 1, -1, -1):
        for dr in range(-1, 2):
            for dc in range(-1, 2):
                a, b = row + dr, column + dc
                if 0 <= a < steps.shape[0] and 0 <= b < steps.shape[1] and steps[a, b] == place:
                    way[place, 0], way[place, 1] = a, b
        row, column = way[place, 0], way[place, 1]
    reached = min(1, count)
    for place in range(2, min(count, _LOOK_AHEAD_CELLS) + 1):
        free = True
        for k in range(1, 2 * place):
            share = k / (2.0 * place)
            r = round(way[0, 0] + share * (way[place, 0] - way[0, 0]))
            c = round(way[0, 1] + share * (way[place, 1] - way[0, 1]))
            free = free and passable[r, c]
        if free:
            reached = place
    return way[reached, 0], way[reached, 1]
