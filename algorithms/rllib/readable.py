"""Refuses networks and state features that cannot read an environment, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.features.state_features import feature_of
from bonuslab.algorithms.networks import resolve_family
from bonuslab.envs.catalogue import observation_space
from bonuslab.envs.errors import InvalidInput


def check_readable(env: str, settings: Mapping[str, Any], networks: Iterable[str | None], bonus: str) -> None:
    """The message names the environment; one whose observations are not known yet passes."""
    space = observation_space(env, **settings)
    if space is None:
        return
    try:
        for network in networks:
            if network is not None:
                resolve_family(network, space)
        for feature in _features(parse(bonus)):
            feature_of(feature, space)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("this environment", env)) from error


def _features(bonus: Bonus) -> Iterator[str]:
    """The state features that the terms of an expression name."""
    for name, value in bonus.parameters().items():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Bonus):
                yield from _features(part)
        if name == "feature":
            yield str(value)
