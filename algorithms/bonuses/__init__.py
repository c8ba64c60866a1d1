"""Exploration bonuses and their algebra. Importing the package registers every bonus in it."""

from __future__ import annotations

import importlib
import pkgutil

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.combinators import Product, Sum
from bonuslab.algorithms.bonuses.algebra.expression import parse
from bonuslab.algorithms.bonuses.algebra.plugins import load_plugin
from bonuslab.algorithms.bonuses.algebra.presets import PRESETS, Preset
from bonuslab.algorithms.bonuses.algebra.registry import register, registered
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.reward.model import IntrinsicBatch, IntrinsicModel, total_reward

# Adding a bonus means adding a module: none is listed here.
for _module in pkgutil.iter_modules(__path__):
    if _module.ispkg:
        continue
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "PRESETS",
    "Bonus",
    "IntrinsicBatch",
    "IntrinsicModel",
    "Metrics",
    "Preset",
    "Product",
    "Scope",
    "Setting",
    "Sum",
    "load_plugin",
    "parse",
    "register",
    "registered",
    "total_reward",
]
