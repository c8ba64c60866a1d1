"""Refuses networks and state features that cannot read an environment, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.features.state_features import feature_of
from bonuslab.algorithms.networks import resolve_family
from bonuslab.envs.catalogue import observation_space
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym.registry import MakeEnv, name_of


def check_readable(
    env: str | MakeEnv, settings: Mapping[str, Any], network: str, bonus_network: str | None, bonus: str
) -> None:
    """The message names the environment."""
    space = observation_space(env, **settings)
    if space is None:
        return
    try:
        resolve_family(network, space)
        if bonus_network is not None and any(_has_models(term) for term in _terms(parse(bonus))):
            resolve_family(bonus_network, space)
        for feature in _features(parse(bonus)):
            feature_of(feature, space)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("this environment", name_of(env))) from error


def _features(bonus: Bonus) -> Iterator[str]:
    """The state features that the terms of an expression name."""
    for term in _terms(bonus):
        if "feature" in term.parameters():
            yield str(term.parameters()["feature"])


def _has_models(term: Bonus) -> bool:
    """Counts and `none` train no network."""
    return not str(term).startswith(("count.", "none"))


def _terms(bonus: Bonus) -> Iterator[Bonus]:
    """The expression's bonuses that contain no others."""
    values = [
        part for value in bonus.parameters().values() for part in (value if isinstance(value, tuple) else (value,))
    ]
    inner = [part for part in values if isinstance(part, Bonus)]
    for part in inner:
        yield from _terms(part)
    if not inner:
        yield bonus
