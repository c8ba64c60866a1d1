"""Refuses networks and state features that cannot read an environment, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.algebra.terms import elementary
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
    terms = list(_terms(parse(bonus)))
    has_models = any(not term.name.startswith(("count.", "none")) for term in terms)  # these train no network
    try:
        resolve_family(network, space)
        if bonus_network is not None and has_models:
            resolve_family(bonus_network, space)
        for term in terms:
            if "feature" in term.parameters():
                feature_of(str(term.parameters()["feature"]), space)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("this environment", name_of(env))) from error


def _terms(bonus: Bonus) -> Iterator[Bonus]:
    """The expression's bonuses that contain no others."""
    for term in elementary(bonus):
        inner = [value for value in term.parameters().values() if isinstance(value, Bonus)]
        for part in inner:
            yield from _terms(part)
        if not inner:
            yield term
