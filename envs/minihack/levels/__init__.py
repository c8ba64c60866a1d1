"""Level sources: map a context id to the compiled level that NetHack plays."""

from bonuslab.envs.minihack.levels.description import Description, DesFile, KeyRoom
from bonuslab.envs.minihack.levels.lavacrossing import LavaCrossing
from bonuslab.envs.minihack.levels.level import Cell, Level, LevelSource
from bonuslab.envs.minihack.levels.multiroom import MultiRoom

__all__ = ["Cell", "DesFile", "Description", "KeyRoom", "LavaCrossing", "Level", "LevelSource", "MultiRoom"]
