"""Products and sums: canonical form, scopes, operators, and terms computed once."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import Setting, parse, registered
from bonuslab.algorithms.bonuses.algebra.combinators import combine, restrict
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.envs.errors import InvalidInput

load_plugin(Path(__file__).parents[1] / "toy_bonuses.py")


def setting(**changes) -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", **changes)


@pytest.fixture
def fragments():
    return Trajectory(num_envs=3, num_steps=40, seed=3).cut([17, 1, 22])


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("toy.age", "episodic"),
        ("3 * toy.error", "global"),
        ("toy.age * toy.age", "episodic"),
        ("toy.age * toy.error", "combined"),
        ("toy.age + toy.error", "combined"),
        ("toy.both + toy.age", "combined"),
        ("none + toy.age", "episodic"),
        ("none * none", "none"),
    ],
)
def test_scope(text, scope):
    assert parse(text).scope == scope


@pytest.mark.parametrize(
    ("text", "episodic", "globally"),
    [
        ("toy.age", "toy.age", None),
        ("toy.age * toy.error", "toy.age", "toy.error"),
        ("toy.age + 100 * toy.error", "toy.age", "100 * toy.error"),
        ("2 * (toy.age + toy.error) * toy.age", "2 * toy.age * toy.age", "2 * toy.error"),
        ("toy.both * toy.age", "toy.age", None),
        ("toy.both + toy.both", None, None),
        ("none * toy.error", None, "toy.error"),
    ],
)
def test_restriction_to_a_scope(text, episodic, globally):
    parts = [restrict(parse(text), "episodic"), restrict(parse(text), "global")]
    assert [part and str(part) for part in parts] == [episodic, globally]


def test_equal_terms_are_one(fragments):
    bonus = parse("toy.age + toy.age * toy.error + toy.error(power=1)")
    shared = setting()
    terms = Terms(bonus, shared)
    assert [str(term) for term in terms] == ["toy.age", "toy.error", "toy.error(power=1)"]
    assert list(terms.labels.values()) == ["toy.age", "toy.error", "toy.error_2"]
    alone = parse("toy.age").build(setting())
    for fragment in fragments:
        values = terms.compute(fragment)
        age, error, error_1 = values.values()
        # If the memory advanced twice per fragment, values would be smaller.
        torch.testing.assert_close(age, alone.compute(fragment), rtol=0, atol=0)
        torch.testing.assert_close(combine(bonus, values), age + age * error + error_1, rtol=0, atol=0)
        metrics = terms.learn(fragment)
        assert metrics["toy.error/loss"] == metrics["toy.error_2/loss"]
    (model,) = shared.models.values()
    assert model.updates == len(fragments)
    assert model.passes == len(fragments)


def test_the_same_object_twice_is_computed_once(fragments):
    age = parse("toy.age")
    built = (age * age + age).build(setting())
    alone = parse("toy.age").build(setting())
    for fragment in fragments:
        value = alone.compute(fragment)
        torch.testing.assert_close(built.compute(fragment), value * value + value, rtol=0, atol=0)


def test_one_object_in_two_expressions_has_two_memories(fragments):
    age = parse("toy.age")
    first, second = (2 * age).build(setting()), (3 * age).build(setting())
    for fragment in fragments:
        torch.testing.assert_close(first.compute(fragment) / 2, second.compute(fragment) / 3)


def test_values_follow_the_expression(fragments):
    bonus = parse("2 * (toy.age + toy.both) * toy.age(offset=2) + -0.5 * toy.both").build(setting())
    one, two = parse("toy.age").build(setting()), parse("toy.age(offset=2)").build(setting())
    for fragment in fragments:
        a, b = one.compute(fragment).numpy(), two.compute(fragment).numpy()
        np.testing.assert_allclose(bonus.compute(fragment).numpy(), 2 * (a + 1) * b - 0.5, rtol=1e-15)


def test_state_round_trips_and_other_expressions_are_rejected(fragments):
    bonus = parse("toy.age * toy.error").build(setting(seed=1))
    bonus.compute(fragments[0])
    state, models = pickle.loads(pickle.dumps((bonus.state_dict(), bonus.setting.state_dict())))
    other = parse("toy.age * toy.error").build(setting(seed=2))
    other.setting.load_state_dict(models)
    other.load_state_dict(state)
    assert torch.equal(other.compute(fragments[1]), bonus.compute(fragments[1]))
    with pytest.raises(InvalidInput, match=r"toy\.age \* toy\.error.*toy\.age \+ toy\.error"):
        parse("toy.age + toy.error").build(setting()).load_state_dict(state)


def test_sum_builtin():
    age, error = parse("toy.age"), parse("2 * toy.error")
    assert sum([age, error, age]) == age + error + age
    assert sum([age]) == age


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("e3b(ridge=0.2) * rnd", "E3B(ridge=0.2) * RND()"),
        ("e3b + 100 * noveld(c=0.5, episodic=true)", "E3B() + 100 * NovelD(c=0.5, episodic=True)"),
        ("2 * (e3b(encoder=random) + rnd) * ngu", "2 * (E3B(encoder='random') + RND()) * NGU()"),
        ("none + -0.5 * count.global(message)", "NoBonus() + -0.5 * GlobalCount(feature='message')"),
        ("adaptive(e3b * icm, window=5)", "Adaptive(first=E3B() * ICM(), window=5)"),
    ],
)
def test_repr_is_python(text, python):
    bonus = parse(text)
    assert repr(bonus) == python
    assert eval(python, {cls.__name__: cls for cls in registered().values()}) == bonus


def test_operators_reject_other_types():
    age = parse("toy.age")
    with pytest.raises(TypeError):
        age + 1
    with pytest.raises(TypeError):
        1 + age
    with pytest.raises(TypeError):
        age * "2"
    with pytest.raises(TypeError):
        age * True
    with pytest.raises(InvalidInput):
        age * float("inf")


def test_invalid_values_are_reported(fragments):
    with pytest.raises(NonFinite, match=r"toy\.broken"):
        parse("toy.age * toy.broken").build(setting()).compute(fragments[0])
    with pytest.raises(ValueError, match="shape"):
        parse("toy.age + toy.broken(shape)").build(setting()).compute(fragments[0])


def test_an_expression_needs_the_policy_features_of_its_terms():
    age = parse("toy.age")
    assert not (age * age).needs_policy_features
    age.needs_policy_features = True
    assert (2 * (parse("toy.both") + age)).needs_policy_features
