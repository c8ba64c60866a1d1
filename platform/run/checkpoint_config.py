"""The config of a checkpoint, read without running its code unless that is allowed."""

from __future__ import annotations

from pathlib import Path

import cloudpickle
from ray.rllib.utils.checkpoints import Checkpointable

from bonuslab.algorithms.catalogue import find as find_algorithm
from bonuslab.algorithms.data.small_files import read_json, typed
from bonuslab.algorithms.learning.checkpoint import Trust
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.description import FILE, Description
from bonuslab.envs.catalogue import find as find_family
from bonuslab.envs.errors import InvalidInput


def read_description(folder: Path, allowed: Trust) -> FragmentConfig:
    """The config described in a verified checkpoint.

    The user's own code, by value in RLlib's pickle, is only run if the config names something that is not known here.
    """
    if not (folder / FILE).exists():
        return _unpickled(folder, allowed, "a configuration that only a pickle can express")
    found = typed(Description, read_json(folder / FILE), folder / FILE)
    if ":" in found.env:
        allowed.require(f"the environment {found.env!r}, which is imported from a module")
    try:
        return _config(found)
    except InvalidInput as error:
        return _unpickled(folder, allowed, f"code of its own ({str(error).splitlines()[0].partition(';')[0]})")


def _config(found: Description) -> FragmentConfig:
    kind = find_algorithm(found.algorithm).config
    find_family(found.env)
    config = kind().environment(found.env, env_config=found.env_config).debugging(seed=found.seed, log_level="ERROR")
    try:
        config.apply(kind.hyperparameters_class(**found.hyperparameters)).bonus(found.bonus).run_serially()
    except TypeError as error:
        raise InvalidInput(f"its hyperparameters are not those of this version: {error}") from error
    config.validate()
    return config


def _unpickled(folder: Path, allowed: Trust, what: str) -> FragmentConfig:
    """RLlib's config, from its pickle; registers the user's own bonuses, features, networks and environments."""
    allowed.require(what)
    try:
        with (folder / Checkpointable.CLASS_AND_CTOR_ARGS_FILE_NAME).open("rb") as file:
            return FragmentConfig.from_state(cloudpickle.load(file)["ctor_args_and_kwargs"][0][0])
    except InvalidInput:
        raise
    except Exception as error:  # a pickle may raise anything
        raise InvalidInput(f"{folder} is not a bonuslab checkpoint: {type(error).__name__}: {error}") from error
