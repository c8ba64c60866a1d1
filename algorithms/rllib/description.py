"""The part of a config that acting and the bonus need, as JSON in a checkpoint: names of our registries and numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bonuslab.algorithms.rllib.config import FragmentConfig

FILE = "config.json"


@dataclass(frozen=True)
class Description:
    """The content of config.json."""

    algorithm: str
    """`impala` or `ddppo`; another config class has another name, and is then only read from RLlib's pickle."""
    env: str
    env_config: dict[str, Any]
    seed: int | None
    bonus: str
    hyperparameters: dict[str, Any]


def write_description(folder: Path, config: FragmentConfig) -> None:
    """Describe a config; one that JSON cannot express gets no file."""
    name = type(config).__name__.removesuffix("Config").lower()
    values = vars(config.hyperparameters)
    found = Description(name, config.env, config.env_config, config.seed, config.bonus_expression, values)
    try:
        (folder / FILE).write_text(json.dumps(vars(found), indent=1))
    except TypeError:
        (folder / FILE).unlink(missing_ok=True)
