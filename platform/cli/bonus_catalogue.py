"""Bonuses, presets and explanations of expressions, as data and as text for `bonuslab bonuses`."""

from __future__ import annotations

import textwrap
import typing
from collections.abc import Iterator
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from bonuslab.algorithms.bonuses import PRESETS, Bonus, Setting, parse, registered
from bonuslab.algorithms.bonuses.algebra.base import value_text
from bonuslab.algorithms.bonuses.algebra.combinators import restrict
from bonuslab.algorithms.bonuses.algebra.expression import parameter_types, required_parameters
from bonuslab.algorithms.bonuses.algebra.terms import elementary
from bonuslab.algorithms.bonuses.algebra.variants import VARIANTS
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
from bonuslab.algorithms.extensions.kinds import KINDS
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.worked_example import example, example_lines

WIDTH = 110
_VARYING = "\n`reference, habitat: paper` means reference, but paper with --set bonus_variant=habitat."
_HOUSE = gym.spaces.Dict(
    rgb=gym.spaces.Box(0, 255, (64, 64, 3), np.uint8),
    depth=gym.spaces.Box(0, 1, (64, 64, 1), np.float16),
    gps=gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
    compass=gym.spaces.Box(-np.pi, np.pi, (1,), np.float32),
    previous_action=gym.spaces.Box(0, 4, (1,), np.uint8),
)
_GAME = gym.spaces.Dict(
    frames=gym.spaces.Box(0, 255, (4, 84, 84), np.uint8),
    room=gym.spaces.Box(0, 255, (1,), np.uint8),
    position=gym.spaces.Box(0, 255, (2,), np.uint8),
)
"""What Apartments and Montezuma's Revenge show; their own packages may not be installed."""


def overview() -> dict[str, Any]:
    """All bonuses and presets as JSON data."""
    return {
        "bonuses": [description(bonus) for bonus in registered().values()],
        "presets": [
            {
                "name": preset.name,
                "expression": preset.expression,
                "scope": parse(preset.name).scope,
                "source": preset.source,
            }
            for preset in PRESETS.values()
        ],
    }


def description(bonus: type[Bonus]) -> dict[str, Any]:
    """One registered bonus as JSON data."""
    required = required_parameters(bonus)
    # The scope may depend on the parameters; this is the defaults' one.
    scope = bonus.scope if required else bonus().scope
    return {
        "name": bonus.name,
        "scope": scope if isinstance(scope, str) else "depends on its parameters",
        "equation": bonus.equation,
        "when": bonus.when,
        "parameters": [
            {
                "name": name,
                "type": _type_text(name, kind),
                "default": None if name in required else _default(bonus, name),
            }
            for name, kind in parameter_types(bonus).items()
        ],
    }


def explanation(bonus: Bonus) -> dict[str, Any]:
    """The parts of an expression as JSON data."""
    terms = list(dict.fromkeys(elementary(bonus)))
    networks = {str(term): _networks(term) for term in terms}
    users: dict[str, list[str]] = {}
    for term, keys in networks.items():
        for key in keys:
            users.setdefault(key, []).append(term)
    parts = {scope: restrict(bonus, scope) for scope in ("episodic", "global")}
    return {
        "expression": str(bonus),
        "scope": bonus.scope,
        "episodic_part": None if parts["episodic"] is None else str(parts["episodic"]),
        "global_part": None if parts["global"] is None else str(parts["global"]),
        "needs_policy_features": bonus.needs_policy_features,
        "terms": [
            {
                "term": str(term),
                "scope": term.scope,
                "equation": term.equation,
                "when": term.when,
                "parameters": {name: _plain(value) for name, value in term.parameters().items()},
                "values": {name: _type_text(name, kind) for name, kind in parameter_types(type(term)).items()},
                "networks": networks[str(term)],
            }
            for term in terms
        ],
        "shared_networks": {key: names for key, names in users.items() if len(names) > 1},
        "example": example(bonus),
    }


def _networks(term: Bonus) -> list[str]:
    """Keys of the networks that a term uses, found by building it for the first family whose observations suit it."""
    settings = [Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")]
    settings += [Setting(space, NUM_ACTIONS, network="auto") for space in (_HOUSE, _GAME)]
    complaints = []
    for setting in settings:
        try:
            parse(str(term)).build(setting)
        except InvalidInput as complaint:
            complaints.append(complaint)
        else:
            return list(setting.models)
    raise complaints[0]


def overview_lines(answer: dict[str, Any]) -> Iterator[str]:
    """`overview()` as text."""
    yield "bonuses"
    for bonus in answer["bonuses"]:
        yield f"\n  {bonus['name']}   [{bonus['scope']}]"
        yield from _block(bonus["equation"])
        yield from _block(bonus["when"])
        for parameter in bonus["parameters"]:
            yield _parameter(parameter["name"], parameter["default"], parameter["type"])
    yield _VARYING
    yield "\npresets (names for whole expressions)\n"
    name_width = max(len(preset["name"]) for preset in answer["presets"])
    for preset in answer["presets"]:
        yield f"  {preset['name']:<{name_width}}  {preset['expression']}   [{preset['scope']}]"
        yield f"  {'':<{name_width}}  {preset['source']}"
    yield "\nCombine with * and +, numbers and parentheses: bonuslab bonuses 'e3b + 100 * noveld(c=0.1)'"


def explanation_lines(answer: dict[str, Any]) -> Iterator[str]:
    """`explanation()` as text."""
    yield f"{answer['expression']}   [{answer['scope']}]\n"
    yield f"  episodic part   {answer['episodic_part'] or '(none)'}"
    yield f"  global part     {answer['global_part'] or '(none)'}"
    if answer["needs_policy_features"]:
        yield "  uses the policy's features"
    yield "\nterms, each computed once"
    for term in answer["terms"]:
        yield f"\n  {term['term']}   [{term['scope']}]"
        yield from _block(term["equation"])
        yield from _block(term["when"])
        yield from (_parameter(name, value, term["values"][name]) for name, value in term["parameters"].items())
        yield from _block(f"networks: {', '.join(term['networks']) or 'none'}")
    if any(_is_varying(value) for term in answer["terms"] for value in term["parameters"].values()):
        yield _VARYING
    if answer["shared_networks"]:
        yield "\nnetworks shared by several terms"
        for key, names in answer["shared_networks"].items():
            yield f"  {key}: {', '.join(names)}"
    yield from example_lines(answer["example"])


def _parameter(name: str, value: Any, kind: str) -> str:
    """A parameter with its value and the values that it may have."""
    shown = "(required)" if value is None else f"= {value if _is_varying(value) else value_text(value)}"
    return f"        {name} {shown}   ({kind})"


def _is_varying(value: Any) -> bool:
    """Whether `_plain` made it of a `Varying`."""
    return isinstance(value, str) and any(f", {variant}: " in value for variant in VARIANTS)


def _block(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8, break_on_hyphens=False)


def _default(bonus: type[Bonus], name: str) -> Any:
    return _plain(getattr(bonus, name))


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)


def _type_text(name: str, kind: Any) -> str:
    if name == "feature":
        return " | ".join(sorted({feature for feature, _ in KINDS["feature"].table()}))
    if typing.get_origin(kind) is Literal:
        return " | ".join(str(choice) for choice in typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Bonus):
        return "bonus expression"
    names = {int: "integer", float: "number", bool: "true | false", str: "string"}
    return names.get(kind, str(kind))
