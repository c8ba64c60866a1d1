"""Levels given by .des text, which the game completes at random.

Their bytes do not depend on the context, which acts through the game's core seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack.levels.compiler import compile_description, package_folder
from bonuslab.envs.minihack.levels.level import Level


@dataclass(frozen=True)
class Description:
    """The level that .des text describes."""

    text: str

    def build(self, context: int) -> Level:
        """The same level for every context."""
        return Level(compile_description(self.text))


@dataclass(frozen=True)
class DesFile:
    """A level description installed with minihack, such as `corridor5.des`."""

    name: str

    def build(self, context: int) -> Level:
        """The same level for every context."""
        return Level(compile_description(read_description(self.name)))


@dataclass(frozen=True)
class KeyRoom:
    """A room with a key, and inside it a locked room with the goal."""

    room_size: int
    """Columns and rows of the outer room's floor."""
    subroom_size: int
    """Columns and rows of the locked room's floor."""
    lit: bool = True

    def __post_init__(self) -> None:
        # The game omits the subroom of a smaller room, omits a larger room, and crashes the process with a division
        # by zero if the subroom leaves no way around it.
        if not 4 <= self.room_size <= 18 or not 1 <= self.subroom_size <= self.room_size - 2:
            raise InvalidInput(
                f"key room of size {self.room_size} with a subroom of size {self.subroom_size}; allowed: "
                "room size 4 to 18, subroom size 1 to room size - 2"
            )

    @property
    def text(self) -> str:
        """The .des text, from minihack's template."""
        template = read_description("key_and_door_tmp.des")
        text = template.replace("RS", str(self.room_size)).replace("SS", str(self.subroom_size))
        return text if self.lit else text.replace("lit", "unlit")

    def build(self, context: int) -> Level:
        """The same level for every context."""
        return Level(compile_description(self.text))


@lru_cache(maxsize=64)
def read_description(name: str) -> str:
    """The text of one of minihack's .des files."""
    folder = package_folder("minihack") / "dat"
    path = folder / name
    if path.parent != folder or not path.is_file():
        raise unknown("level description", name, (file.name for file in folder.glob("*.des")))
    return path.read_text()
