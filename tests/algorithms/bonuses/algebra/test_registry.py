"""Registration by decorator, and the package that imports its own modules."""

from __future__ import annotations

import pkgutil
import sys

import pytest

from bonuslab.algorithms import bonuses
from bonuslab.algorithms.bonuses import Bonus, register, registered
from bonuslab.algorithms.bonuses.algebra import registry as registry_module
from bonuslab.algorithms.bonuses.algebra.expression import parameter_types
from bonuslab.envs.errors import InvalidInput


@pytest.fixture(autouse=True)
def registry_as_before(monkeypatch):
    monkeypatch.setattr(registry_module, "_BONUSES", dict(registry_module._BONUSES))


def make(name: str, **attributes):
    described = {"scope": "global", "equation": "0", "when": "never", **attributes}
    return register(name)(type("Made", (Bonus,), described))


def test_every_module_of_the_package_is_imported():
    for module in pkgutil.iter_modules(bonuses.__path__):
        assert f"{bonuses.__name__}.{module.name}" in sys.modules


def test_the_names_of_the_issue_are_registered():
    expected = {
        "none", "count.global", "count.episodic", "rnd", "noveld", "agac", "ride", "icm", "e3b", "ngu",
        "elliptical.global",
    }  # fmt: skip
    assert expected <= registered().keys()


def test_a_registered_class_is_a_dataclass_of_its_parameters():
    made = make("made.one", __annotations__={"size": int}, size=3)
    assert made(4) == made(size=4) != made()
    assert hash(made(4)) == hash(made(size=4))
    assert str(made()) == "made.one"
    assert str(made(4)) == "made.one(size=4)"
    assert registered()["made.one"] is made


@pytest.mark.parametrize("name", ["", "Upper", "two words", "a..b", "1st", "a.", "é", "a-b"])
def test_names_that_no_expression_could_hold_are_refused(name):
    with pytest.raises(ValueError, match="lower-case words"):
        make(name)


@pytest.mark.parametrize("missing", ["scope", "equation", "when"])
def test_a_bonus_must_describe_itself(missing):
    described = {"scope": "global", "equation": "0", "when": "never"}
    del described[missing]
    with pytest.raises(TypeError, match=missing):
        register("made.bare")(type("Bare", (Bonus,), described))


def test_scopes_and_names_of_presets_are_checked():
    with pytest.raises(InvalidInput, match=r"unknown scope of bonus 'made\.scope': 'episodc'; did you mean episodic"):
        make("made.scope", scope="episodc")
    with pytest.raises(InvalidInput, match="name of a preset"):
        make("e3b_x_rnd")


@pytest.mark.parametrize("name", ["agac", "e3b", "elliptical.global", "icm", "ngu", "noveld", "ride", "rnd"])
def test_negative_learning_rates_are_refused_before_anything_is_built(name):
    with pytest.raises(InvalidInput, match=f"{name}: learning_rate must be 0 or more, not -1"):
        registered()[name](learning_rate=-1.0)


def test_types_written_as_text_are_resolved_when_the_class_is_registered():
    made = make("made.text", __annotations__={"size": "int"}, size=3, __module__=__name__)
    assert parameter_types(made) == {"size": int}
    with pytest.raises(InvalidInput, match=r"'made\.unknown': .* name 'Missing' is not defined"):
        make("made.unknown", __annotations__={"size": "Missing"}, size=3, __module__=__name__)
    assert "made.unknown" not in registered()


def test_taken_names():
    with pytest.raises(ValueError, match="taken by"):
        make("none")


def test_a_bonus_without_compute_says_so():
    with pytest.raises(TypeError, match="define compute"):
        make("made.idle")().compute(None)
