"""Products and sums: canonical form, scopes, and terms that are computed once."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import Setting, load_plugin, parse
from bonuslab.algorithms.bonuses.algebra.combinators import combine, restrict
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
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


def test_a_term_and_its_equal_are_one(fragments):
    bonus = parse("toy.age + toy.age * toy.error + toy.error(power=1)")
    shared = setting()
    terms = Terms(bonus, shared)
    assert [str(term) for term in terms] == ["toy.age", "toy.error", "toy.error(power=1)"]
    assert list(terms.labels.values()) == ["toy.age", "toy.error", "toy.error_2"]
    alone = parse("toy.age").build(setting())
    for fragment in fragments:
        values = terms.compute(fragment)
        age, error, error_1 = values.values()
        # Advanced twice a fragment the memory would give smaller values than alone.
        torch.testing.assert_close(age, alone.compute(fragment), rtol=0, atol=0)
        torch.testing.assert_close(combine(bonus, values), age + age * error + error_1, rtol=0, atol=0)
        metrics = terms.learn(fragment)
        assert metrics["toy.error/loss"] == metrics["toy.error_2/loss"]
    (source,) = shared.sources.values()
    assert source.updates == len(fragments)
    assert source.passes == len(fragments)


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


def test_state_round_trip_and_refusal(fragments):
    bonus = parse("toy.age * toy.error").build(setting(seed=1))
    bonus.compute(fragments[0])
    state, sources = pickle.loads(pickle.dumps((bonus.state_dict(), bonus.setting.state_dict())))
    other = parse("toy.age * toy.error").build(setting(seed=2))
    other.setting.load_state_dict(sources)
    other.load_state_dict(state)
    assert torch.equal(other.compute(fragments[1]), bonus.compute(fragments[1]))
    with pytest.raises(InvalidInput, match=r"toy\.age \* toy\.error.*toy\.age \+ toy\.error"):
        parse("toy.age + toy.error").build(setting()).load_state_dict(state)


def test_python_operators_refuse_what_is_no_bonus():
    age = parse("toy.age")
    with pytest.raises(TypeError):
        age + 1
    with pytest.raises(TypeError):
        age * "2"
    with pytest.raises(TypeError):
        age * True
    with pytest.raises(InvalidInput):
        age * float("inf")


def test_bad_values_are_named(fragments):
    with pytest.raises(NonFinite, match=r"toy\.broken"):
        parse("toy.age * toy.broken").build(setting()).compute(fragments[0])
    with pytest.raises(ValueError, match="shape"):
        parse("toy.age + toy.broken(shape)").build(setting()).compute(fragments[0])


def test_policy_features_are_asked_for_by_the_whole():
    age = parse("toy.age")
    assert not (age * age).needs_policy_features
    age.needs_policy_features = True
    assert (2 * (parse("toy.both") + age)).needs_policy_features
