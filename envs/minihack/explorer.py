"""A scripted agent that acts on its observations alone: a baseline between a random and a trained policy.

It walks to a useful object, otherwise to the stairs if visible, otherwise to the nearest edge of the known map. It
opens doors by walking into them, kicks or unlocks locked ones, searches for hidden ones, fights adjacent monsters,
never enters lava or water, and uses what it picks up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from nle.nethack import Command, CompassDirection

from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.known_map import NEIGHBOURS, Cell, KnownMap
from bonuslab.envs.minihack.render import agent_cell, message_text

KEYS: dict[Cell, int] = dict(zip(NEIGHBOURS, map(int, CompassDirection), strict=True))
"""(rows, columns) to move -> key."""
USES: dict[str, int] = {"!": Command.QUAFF, "[": Command.WEAR, "/": Command.ZAP, "(": Command.APPLY}
"""How to use an object, by its character on the map."""
AIMED = frozenset((Command.ZAP, Command.APPLY))
"""Commands that ask for a direction."""
SEARCHES = 15
"""Searches per place; each finds an adjacent hidden door or corridor with probability 1/7."""
MAX_ATTACKS = 8
"""Attacks on one cell."""


class Explorer:
    """Maps each observation to an index into `actions` (key codes); call `reset` before each episode."""

    def __init__(self, actions: Sequence[int], seed: int = 0) -> None:
        self._index = {int(key): number for number, key in enumerate(actions)}
        self._rng = np.random.default_rng(seed)
        self.reset()

    def reset(self) -> None:
        """Forget the previous episode."""
        self.map = KnownMap()
        self._locked: set[Cell] = set()
        self._tried: set[Cell] = set()  # where it has tried to pick up
        self._use: int | None = None  # command for the object just picked up
        self._has_key = False
        self._step: tuple[Cell, Cell] | None = None  # the last step tried
        self._aim = int(CompassDirection.N)
        self._searches: Counter[Cell] = Counter()
        self._attacks: Counter[Cell] = Counter()

    def act(self, observation: dict[str, np.ndarray]) -> int:
        """The next action."""
        message = message_text(observation["message"])
        here = agent_cell(observation["blstats"])
        self.map.look(observation["glyphs"], here)
        self._learn(message, here)
        key = self._answer(message)
        if key is None:
            key = self._decide(here)
        return self._index.get(int(key), 0)

    def _learn(self, message: str, here: Cell) -> None:
        """Learn from the outcome of the last action."""
        if " - " in message and " key" in message:
            self._has_key, self._use = True, None
            self.map.barred.clear()
        if self._step is None:
            return
        start, target = self._step
        if "locked" in message:
            self._locked.add(target)
            if not (self._has_key or Command.KICK in self._index):
                self.map.barred.add(target)
        elif here == start and target not in self.map.monsters and "door" not in message:
            self.map.failures[self._step] = self.map.failures.get(self._step, 0) + 1
        self._step = None

    def _answer(self, message: str) -> int | None:
        """The key that answers the game's question, if any."""
        if "In what direction" in message:
            return self._aim
        if "Improvise?" in message:  # yes: a magic horn then asks for a direction, otherwise for a tune
            return ord("y")
        if "[yn" in message:
            return ord("n")
        if "What do you want to" in message:
            return Command.FIRE  # its key is f, the inventory letter of the first object picked up
        return None

    def _decide(self, here: Cell) -> int:
        if self._wanted(here):
            self._tried.add(here)
            self._use = USES.get(self.map.objects[here])
            return Command.PICKUP
        if self._use in self._index:
            aim = self._best_aim(here)
            if aim is not None or self._use not in AIMED:
                use, self._use = self._use, None
                self._aim = aim or self._aim
                return int(use or 0)
        enemy = next((cell for cell in self.map.reach(here) if self._is_enemy(cell)), None)
        if enemy is not None:
            self._attacks[enemy] += 1
            return self._go(here, enemy)
        for through_traps in (False, True):
            goals = (self._wanted, self._is_stairs, self.map.is_edge)
            path = self.map.path(here, *goals, through_traps=through_traps)
            if path:
                return self._go(here, path[0])
        return self._search(here)

    def _best_aim(self, here: Cell) -> int | None:
        """The direction for a wand or horn: at a monster, across lava, or any in an otherwise empty room."""
        rays = {key: self.map.ray(here, step) for step, key in KEYS.items()}
        best = max(rays, key=lambda key: (rays[key].monster, rays[key].oblique, rays[key].lava))
        walls = np.isin(self.map.terrain, g.WALLS).any()
        useful = rays[best].monster or (rays[best].oblique and (rays[best].lava or not walls))
        return best if useful else None

    def _search(self, here: Cell) -> int:
        """Enclosed: search for hidden doors and corridors at places along the walls."""
        self.map.failures.clear()  # a monster may have been in the way
        if Command.SEARCH not in self._index:
            return int(self._rng.choice(list(KEYS.values())))
        if self._searches[here] < SEARCHES:
            self._searches[here] += 1
            return Command.SEARCH
        path = self.map.path(here, self._is_unsearched)
        if not path:
            self._searches.clear()
            return Command.SEARCH
        return self._go(here, path[0])

    def _is_unsearched(self, cell: Cell) -> bool:
        near = any(max(abs(cell[0] - y), abs(cell[1] - x)) <= 2 for y, x in self._searches)
        return not near and any(not self.map.is_floor((cell[0] + dy, cell[1] + dx)) for dy, dx in KEYS)

    def _is_stairs(self, cell: Cell) -> bool:
        return bool(self.map.terrain[cell] == g.STAIRS_DOWN)

    def _wanted(self, cell: Cell) -> bool:
        can_take = Command.PICKUP in self._index and cell not in self._tried
        return can_take and self.map.objects.get(cell, "") in USES

    def _is_enemy(self, cell: Cell) -> bool:
        # Peaceful monsters look the same and are not fought: give up after a while.
        return cell in self.map.monsters and self._attacks[cell] < MAX_ATTACKS

    def _go(self, here: Cell, target: Cell) -> int:
        """The key that steps to a neighbouring cell, or that first opens its locked door."""
        key = KEYS[target[0] - here[0], target[1] - here[1]]
        if self.map.terrain[target] in g.CLOSED_DOORS:
            if self._has_key and Command.APPLY in self._index:
                return Command.APPLY
            if target in self._locked and Command.KICK in self._index:
                self._aim = key
                return Command.KICK
        self._step = (here, target)
        return key
