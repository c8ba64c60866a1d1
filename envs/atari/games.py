"""The games of ALE by name: every single-player ROM that ale-py includes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import ale_py  # noqa: F401 (registers the games with Gymnasium)
import gymnasium as gym

from bonuslab.envs.atari.memory import MEMORY_MAPS, MemoryMap
from bonuslab.envs.errors import unknown

_START, _END = "ALE/", "-v5"
_SHORT = {"montezuma": "montezuma_revenge"}
_TAKEN = frozenset({"Blackjack"})
"""Names that mean Gymnasium's own environment unless they begin with `ALE/`."""


@dataclass(frozen=True)
class Game:
    """A game and its ROM."""

    id: str
    """Gymnasium's, such as `ALE/MontezumaRevenge-v5`."""
    rom: str
    """Such as `montezuma_revenge`."""

    @property
    def name(self) -> str:
        """Such as `MontezumaRevenge`."""
        short = self.id.removeprefix(_START).removesuffix(_END)
        return self.id if short in _TAKEN else short

    @property
    def memory(self) -> MemoryMap | None:
        """Where its memory holds room and position, if known."""
        return MEMORY_MAPS.get(self.rom)


@lru_cache(maxsize=1)
def all_games() -> tuple[Game, ...]:
    """Those that ale-py registers with Gymnasium; its other ROMs are for two players."""
    ids = [known for known in gym.registry if known.startswith(_START) and known.endswith(_END)]
    return tuple(Game(known, gym.spec(known).kwargs["game"]) for known in ids)


def is_game(name: str) -> bool:
    """Whether `find_game` knows the name."""
    return name.strip().lower() in _by_name()


def find_game(name: str) -> Game:
    """The game called `Pong`, `ALE/Pong-v5`, `ALE/Pong` or `pong`, its ROM; case-insensitive."""
    text = name.strip().lower()
    if text not in _by_name():
        long = text.startswith(_START.lower())
        raise unknown("environment", name, [game.id if long else game.name for game in all_games()])
    return _by_name()[text]


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Game]:
    found: dict[str, Game] = {}
    for game in all_games():
        names = [game.id, game.id.removesuffix(_END), game.name]
        names += [game.rom] if game.name != game.id else []
        found |= {name.lower(): game for name in names}
    return found | {short: found[rom] for short, rom in _SHORT.items()}
