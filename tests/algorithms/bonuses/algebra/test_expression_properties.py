"""Any text is parsed or refused with one error, in time linear in its length; what is accepted parses back."""

from __future__ import annotations

import cProfile
import json
import math
import pstats
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bonuslab.algorithms.bonuses import PRESETS, parse, registered
from bonuslab.algorithms.bonuses.algebra.expression import required_parameters
from bonuslab.algorithms.bonuses.algebra.parser import MAX_CHARACTERS, MAX_DEPTH
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.envs.errors import InvalidInput

load_plugin(Path(__file__).parents[1] / "toy_bonuses.py")
NAMES = [*(name for name, kind in registered().items() if not required_parameters(kind)), *PRESETS]
SPACE = st.sampled_from(["", " ", "\n", "\t "])
NUMBER = st.one_of(st.floats(allow_nan=False).map(repr), st.integers().map(str), st.sampled_from(["-0", ".5e-3", "1."]))
STRING = st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=len(text) % 2 == 0))
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(-1, 2**70).map(str) | st.just("1e3"),
        "rate": NUMBER,
        "deep": st.sampled_from(["true", "FALSE", "1"]),
        "label": STRING | st.sampled_from(["word", "a.b", "true", "5"]),
        "kind": st.sampled_from(["round", '"square"', "oval"]),
    },
)


def options(inner: str, rest: dict[str, str]) -> str:
    return f"toy.options({', '.join([inner, *(f'{name}={value}' for name, value in rest.items())])})"


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    chain = st.tuples(SPACE, st.sampled_from("+*"), st.lists(inner | NUMBER, min_size=2, max_size=5))
    return st.one_of(
        chain.map(lambda parts: f"{parts[0]}{parts[1]}{parts[0]}".join(parts[2])),
        inner.map(lambda text: f"({text})"),
        st.builds(options, inner, ARGUMENTS),
    )


EXPRESSIONS = st.recursive(st.sampled_from(NAMES), grow, max_leaves=12)


def check(text: str) -> None:
    try:
        bonus = parse(text)
    except InvalidInput:
        return
    printed = str(bonus)
    printed.encode()
    assert parse(printed) == bonus
    assert str(parse(printed)) == printed


@settings(max_examples=150)
@given(EXPRESSIONS)
@example("2 * (0.5 * e3b)")
@example(f"{'toy.options(' * (MAX_DEPTH - 1)}2 * e3b_plus_rnd{')' * (MAX_DEPTH - 1)}")
@example(f"{'toy.options(' * MAX_DEPTH}2 * e3b_plus_rnd{')' * MAX_DEPTH}")
@example("+".join(["rnd_alone"] * 500))
@example('toy.options(toy.age, label="\\ud800")')
@example("1e308 * (10 * toy.age)")
def test_what_is_accepted_prints_to_something_accepted(text: str) -> None:
    check(text)


@settings(max_examples=300)
@given(st.text(st.sampled_from('e3brnd_toy.age()*+-=,"\\01.5 \n\x00é½\ud800'), max_size=60) | st.text(max_size=40))
def test_any_other_text_is_refused_in_words(text: str) -> None:
    check(text)


def test_what_would_print_too_long_or_too_deep_is_refused() -> None:
    with pytest.raises(InvalidInput, match=f"when written out: .* at most {MAX_CHARACTERS}"):
        parse("+".join(["rnd_alone"] * (MAX_CHARACTERS // 10)))
    deepest = f"{'toy.options(' * MAX_DEPTH}2 * e3b_plus_rnd{')' * MAX_DEPTH}"
    with pytest.raises(InvalidInput, match="when written out: parentheses nested deeper"):
        parse(deepest)


@pytest.mark.parametrize("operator", ["+", "*", "*2+"])
def test_work_is_linear_in_the_text(operator: str) -> None:
    def calls(terms: int) -> int:
        profile = cProfile.Profile()
        profile.runcall(parse, operator.join(["e3b"] * terms))
        return pstats.Stats(profile).total_calls

    small, large = calls(200), calls(1_600)
    assert math.isclose(large / small, 8, rel_tol=0.1), "eight times as many terms are eight times the work"
