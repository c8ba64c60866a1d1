"""Exploration bonuses and their algebra. Importing the package registers every bonus in it."""

from __future__ import annotations

import importlib
import pkgutil

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.combinators import Product, Sum
from bonuslab.algorithms.bonuses.algebra.expression import parse
from bonuslab.algorithms.bonuses.algebra.presets import PRESETS, Preset
from bonuslab.algorithms.bonuses.algebra.registry import register, registered
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.reward.model import IntrinsicBatch, IntrinsicModel, total_reward

# A new bonus or feature is a new module; none is listed here.
for _package in (__name__, f"{__name__}.features"):
    for _module in pkgutil.iter_modules(importlib.import_module(_package).__path__):
        if not _module.ispkg:
            importlib.import_module(f"{_package}.{_module.name}")

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
    "parse",
    "register",
    "registered",
    "total_reward",
]
