"""Bonus expressions: parsing, printing, and the position of errors."""

from __future__ import annotations

import builtins
import random
from pathlib import Path

import pytest

from bonuslab.algorithms.bonuses import PRESETS, parse, registered
from bonuslab.algorithms.bonuses.algebra.expression import parameter_types
from bonuslab.algorithms.bonuses.algebra.parser import MAX_CHARACTERS, MAX_DEPTH
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.envs.errors import InvalidInput

load_plugin(Path(__file__).parents[1] / "toy_bonuses.py")
AGE, ERROR, BOTH = parse("toy.age"), parse("toy.error"), parse("toy.both")


def message(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("toy.age*toy.error", AGE * ERROR),
        ("toy.age + 100 * toy.error(power=1)", AGE + 100 * parse("toy.error(1)")),
        ("2 * (toy.age + toy.error) * toy.both", 2 * (AGE + ERROR) * BOTH),
        ("toy.age * 2 * toy.both * 3", 6 * AGE * BOTH),
        ("(2 * 3) * toy.age", 6 * AGE),
        ("((toy.age))", AGE),
        ("toy.age()", AGE),
        ("1 * toy.age", AGE),
        ("toy.age + (toy.error + toy.both)", AGE + ERROR + BOTH),
        ("toy.age * (toy.error * toy.both)", AGE * ERROR * BOTH),
        ("-.5e1 * toy.age", -5 * AGE),
        (" \ttoy.age\n+ toy.both ", AGE + BOTH),
    ],
)
def test_text_and_python_are_equivalent(text, expected):
    assert parse(text) == expected
    assert parse(str(expected)) == expected
    assert hash(parse(text)) == hash(expected)


@pytest.mark.parametrize(
    "text",
    [
        "toy.age * toy.error",
        "toy.age + 100 * toy.error(power=1)",
        "2 * (toy.age + toy.error) * toy.both",
        "toy.age + -0.5 * toy.both",
        "(toy.age + toy.error) * (toy.age + toy.both)",
        "toy.options(inner=2 * (toy.age + toy.error) * toy.both, size=7, deep=true, label=a.b, kind=square)",
        'toy.options(inner=toy.age, label="two words, \\"quoted\\" (é)")',
        'toy.options(inner=toy.age, label="5")',
        "0.1 * toy.age(offset=0.30000000000000004)",
    ],
)
def test_canonical_text_is_printed_unchanged(text):
    assert str(parse(text)) == text


def test_random_expressions_print_and_parse_back():
    rng = random.Random(0)

    def grow(depth: int):
        kind = rng.choice(["leaf", "product", "sum", "scale", "inner"]) if depth else "leaf"
        if kind == "leaf":
            return rng.choice([AGE, ERROR, BOTH, parse(f"toy.age(offset={rng.random()})"), parse("toy.error(4)")])
        if kind == "scale":
            return rng.choice([0.1, 3, -2.5, 1, rng.random() * 1e9, 1e-300, 0]) * grow(depth - 1)
        if kind == "inner":
            return type(parse("toy.options(toy.age)"))(inner=grow(depth - 1), rate=rng.random())
        left, right = grow(depth - 1), grow(depth - 1)
        return left * right if kind == "product" else left + right

    for _ in range(300):
        bonus = grow(5)
        assert parse(str(bonus)) == bonus
        assert str(parse(str(bonus))) == str(bonus)


def test_positional_and_keyword_parameters_have_the_declared_types():
    bonus = parse("toy.options(toy.age + toy.both, 1e3, 2, TRUE, word, kind=square)")
    assert bonus.parameters() == {
        "inner": AGE + BOTH, "size": 1000, "rate": 2.0, "deep": True, "label": "word", "kind": "square",
    }  # fmt: skip
    assert isinstance(bonus.size, int)
    assert isinstance(bonus.rate, float)
    assert parse("toy.options(toy.age, 9007199254740993)").size == 2**53 + 1


@pytest.mark.parametrize(
    ("text", "where", "parts"),
    [
        ("toy.age ** toy.error", 9, ["power"]),
        ("toy.error(pwoer=1)", 11, ["'pwoer'", "did you mean power?"]),
        ("toy.agee", 1, ["unknown bonus", "did you mean toy.age"]),
        ("TOY.AGE", 1, ["did you mean toy.age"]),
        ("2 * toy.errr", 5, ["toy.error"]),
        ("e3b_x_rdn", 1, ["e3b_x_rnd"]),
        ("", 1, ["empty"]),
        ("   ", 1, ["empty"]),
        ("toy.age +", 10, ["ends"]),
        ("toy.age *", 10, ["ends"]),
        ("+ toy.age", 1, ["'+'"]),
        ("toy.age toy.age", 9, ["expected + or *"]),
        ("toy.age)", 8, ["unmatched )"]),
        ("(toy.age", 9, ["expected )"]),
        ("toy.age(", 9, ["ends"]),
        ("toy.age(1,)", 11, ["')'"]),
        ("toy.age(1 2)", 11, ["expected , or )"]),
        ("toy.age(offset=1, offset=2)", 19, ["repeated"]),
        ("toy.age(1, 2)", 12, ["takes only offset"]),
        ("toy.options(inner=toy.age, 3)", 28, ["positional argument after keyword"]),
        ("toy.both(x=1)", 10, ["takes no parameters"]),
        ("toy.both(1)", 10, ["takes no parameters"]),
        ("toy.options", 1, ["requires inner"]),
        ("toy.options(3)", 13, ["not a bonus itself"]),
        ("toy.options(toy.age, 1.5)", 22, ["integer"]),
        ("toy.options(toy.age, 1e30)", 22, ["too large"]),
        ("toy.options(toy.age, -1)", 1, ["must not be negative"]),
        ("toy.options(toy.age, rate=fast)", 27, ["must be a number"]),
        ("toy.options(toy.age, deep=1)", 27, ["true or false"]),
        ("toy.options(toy.age, label=5)", 28, ["must be a word"]),
        ("toy.options(toy.age, kind=squar)", 27, ["did you mean square?"]),
        ("toy.options(toy.age, kind=toy.age*toy.age)", 27, ["round", "square"]),
        ("e3b_x_rnd(1)", 1, ["preset", "no parameters"]),
        ("toy.age - toy.both", 9, ["subtraction is not supported"]),
        ("toy.age / 2", 9, ["division is not supported"]),
        ("-toy.age", 2, ["number after the sign"]),
        ("7", 1, ["number alone"]),
        ("toy.age + 1", 11, ["multiply"]),
        ("1e999 * toy.age", 1, ["too large"]),
        ("9" * 5000 + " * toy.age", 1, ["too large"]),
        ("1e200 * 1e200 * toy.age", 1, ["finite"]),
        ("2e3b", 1, ["'2e3b' is not a number"]),
        ("1.2.3 * toy.age", 1, ["not a number"]),
        ("toy.agé", 7, ["'é'"]),
        ("٣ * toy.age", 1, ["'٣'"]),
        ("toy.age × toy.error", 9, ["'×'"]),
        ("toy.age\x00", 8, ["unexpected character"]),
        ('"toy.age"', 1, ["quoted string"]),
        ('toy.options(toy.age, label="abc)', 28, ["unterminated string"]),
        ('toy.options(toy.age, label="\\x")', 28, ["escape"]),
        ("toy..age", 4, ["not a number"]),
    ],
)
def test_errors_show_their_position(text, where, parts):
    error = message(text)
    for part in parts:
        assert part in error
    first, *_, shown, caret = error.split("\n")
    assert len(first) < 600
    assert f"^ character {where}" in caret
    letter = text[where - 1 : where]
    if letter.isprintable():
        assert shown[caret.index("^") :][:1] == letter


@pytest.mark.parametrize("count", [MAX_DEPTH + 1, 1000, 4900])
@pytest.mark.parametrize("opening", ["(", "toy.options("])
def test_deep_nesting_is_rejected(count, opening):
    text = opening * count + "toy.age" + ")" * count
    assert ("nested deeper" if len(text) <= MAX_CHARACTERS else "too long") in message(text)


def test_nesting_up_to_the_limit_and_long_chains_work():
    assert parse("(" * MAX_DEPTH + "toy.age" + ")" * MAX_DEPTH) == AGE
    assert len(parse(" + ".join(["toy.age"] * 900)).children) == 900
    assert len(parse("*".join(["toy.age"] * 900)).children) == 900
    assert "too long" in message("+".join(["toy.age"] * 9000))


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os").system("touch /tmp/harm")',
        'eval("1")',
        "toy.age.__class__",
        "toy.age.__class__()",
        "().__class__.__bases__[0]",
        "toy.age; import os",
        "lambda: 0",
        "[x for x in (1,)]",
        "toy.age if 1 else toy.both",
        "toy.age(offset=__import__)",
        'toy.age(offset=exec("1"))',
        "f'{1}'",
        "toy.age(**{})",
        "@toy",
        "`ls`",
        "$(ls)",
    ],
)
def test_code_is_never_evaluated(text, monkeypatch):
    evaluate = builtins.eval

    def refuse_text(code, *spaces):
        # `typing` evaluates the annotations of the bonus's class, which are compiled.
        assert not isinstance(code, str), "Python was evaluated"
        return evaluate(code, *spaces)

    monkeypatch.setattr(builtins, "eval", refuse_text)
    monkeypatch.setattr(builtins, "exec", refuse_text)
    assert "^ character" in message(text)


def test_random_text_parses_or_fails_with_a_position():
    rng = random.Random(1)
    pieces = ["toy.age", "toy.error", "(", ")", "*", "+", "-", "2", "1e5", ",", "=", "power", " ", '"', ".", "é", "\\"]
    for _ in range(3000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12)))
        try:
            bonus = parse(text)
        except InvalidInput as error:
            assert "^ character" in str(error)  # noqa: PT017
        else:
            assert parse(str(bonus)) == bonus


def test_presets_parse_and_hide_no_bonus():
    assert not PRESETS.keys() & registered().keys()
    for name, preset in PRESETS.items():
        assert parse(name) == parse(preset.expression)
        assert preset.source
    assert str(parse("2 * e3b_x_rnd")) == "2 * e3b * rnd"
    assert str(parse("e3b_plus_rnd * ngu")) == "(e3b + 100 * rnd) * ngu"


def test_every_registered_bonus_prints_parses_and_describes_itself():
    for name, bonus in registered().items():
        if name.startswith("toy.") or not bonus.__module__.startswith("bonuslab."):
            continue
        assert parse(name) == bonus()
        assert str(bonus()) == name
        assert bonus.equation
        assert bonus.when
        assert parameter_types(bonus).keys() == bonus().parameters().keys()
