"""Exploration bonuses and their algebra. Importing the package registers every bonus in it."""

from __future__ import annotations

import importlib
import pkgutil

from bonuslab.algorithms.bonuses.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.combinators import Product, Sum
from bonuslab.algorithms.bonuses.expression import parse
from bonuslab.algorithms.bonuses.intrinsic import IntrinsicBatch, IntrinsicModel, total_reward
from bonuslab.algorithms.bonuses.plugins import load_plugin
from bonuslab.algorithms.bonuses.presets import PRESETS, Preset
from bonuslab.algorithms.bonuses.registry import register, registered
from bonuslab.algorithms.bonuses.setting import Setting

# Adding a bonus means adding a module: none is listed here.
for _module in pkgutil.iter_modules(__path__):
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
