"""Advice where no similarity can be computed: optimal values need MiniHack's known maps, or its game to be solved."""

from __future__ import annotations

import json

from bonuslab.envs.family import Family
from bonuslab.experiments.value_functions.prediction import Scope

_ONE_CONTEXT = "there is one context, whose values it shares with itself: what a global bonus learns stays useful."
_HOUSES = (
    "every house has its own plan and no state repeats. In the paper's Habitat runs the episodic bonus on learned "
    "features explored most, and in ours on Apartments it covered 0.34 of the floor, e3b * rnd 0.33 and rnd 0.20."
)
_UNKNOWN = (
    "how much its contexts share is not known in advance, and then the paper recommends the product. Where every "
    "context is alike (--contexts 1), try a global bonus (rnd); where they share little, an episodic one (e3b)."
)


def general_advice(family: Family, contexts: int | None) -> tuple[Scope, str, str]:
    """(scope, bonus, reason)."""
    if contexts == 1 or not family.many_contexts:
        return "global", "rnd", _ONE_CONTEXT
    if family.name == "habitat":
        return "episodic", "e3b", _HOUSES
    return "combined", "e3b * rnd", _UNKNOWN


def print_general_advice(family: Family, task: str, contexts: int | None, as_json: bool) -> None:
    """Print the advice and why nothing was measured."""
    scope, bonus, reason = general_advice(family, contexts)
    if as_json:
        advice = {"predicted": scope, "bonus": bonus, "reason": reason, "similarity": None}
        print(json.dumps({"task": task, "contexts": "inf" if contexts is None else contexts} | advice, indent=1))
        return
    print(f"{task} → {scope} bonus: {reason}")
    print(f'Try --bonus "{bonus}".')
    print("Nothing was measured: the similarity of contexts needs their optimal values, known for MiniHack tasks only.")
