"""The intrinsic reward: columns, normalisation, learning, saving."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from bonuslab.algorithms.bonuses import IntrinsicModel, Setting, parse, total_reward
from bonuslab.algorithms.bonuses.reward.normalise import make_normaliser
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.envs.errors import InvalidInput

load_plugin(Path(__file__).parents[1] / "toy_bonuses.py")
TEXT = "toy.age * toy.error + 3 * toy.error(power=1)"


def model(text: str = TEXT, seed: int = 0, **options) -> IntrinsicModel:
    return IntrinsicModel(parse(text), Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", seed=seed), **options)


@pytest.fixture
def fragments():
    return Trajectory(num_envs=3, num_steps=60, seed=7).cut([20, 20, 20])


def terms(text: str, fragment, seed: int = 0) -> np.ndarray:
    setting = Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", seed=seed)
    return parse(text).build(setting).compute(fragment).detach().double().numpy()


def test_columns(fragments):
    batch = model(coefficient=0.5).process(fragments[0])
    age, error, error_1 = (terms(text, fragments[0]) for text in ("toy.age", "toy.error", "toy.error(power=1)"))
    raw = age * error + 3 * error_1
    np.testing.assert_allclose(batch.bonus_raw, raw, rtol=1e-6)
    np.testing.assert_allclose(batch.bonus, 0.5 * raw / raw.std(), rtol=1e-6)
    np.testing.assert_allclose(batch.bonus_episodic, age, rtol=1e-6)
    np.testing.assert_allclose(batch.bonus_global, error + 3 * error_1, rtol=1e-6)
    for column in batch.columns().values():
        assert column.shape == fragments[0].action.shape
        assert column.dtype == np.float32
    assert batch.metrics["bonus/mean"] == pytest.approx(batch.bonus.mean(), rel=1e-6)
    assert batch.metrics["bonus/sigma"] == pytest.approx(raw.std(), rel=1e-9)
    assert batch.metrics["term/toy.age/raw_mean"] == pytest.approx(age.mean(), rel=1e-9)
    assert batch.metrics["learn/toy.error/loss"] > 0


def test_products_of_bonuses_take_one_thread(fragments, monkeypatch):
    """Threads that wait for the next small product would burn a core each."""

    def threads() -> set[int]:
        return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}

    used: list[set[int]] = []
    e3b = model("e3b(encoder=random)")
    compute = e3b._terms.compute
    monkeypatch.setattr(e3b._terms, "compute", lambda fragment: used.append(threads()) or compute(fragment))
    with threadpool_limits(2, user_api="blas"):
        e3b.process(fragments[0])
        assert used == [{1}]
        assert threads() == {2}


def test_normalisation_per_term(fragments):
    batch = model(normalise_at="terms").process(fragments[0])
    age, error, error_1 = (terms(text, fragments[0]) for text in ("toy.age", "toy.error", "toy.error(power=1)"))
    expected = age / age.std() * error / error.std() + 3 * error_1 / error_1.std()
    np.testing.assert_allclose(batch.bonus, expected, rtol=1e-5)
    np.testing.assert_allclose(batch.bonus_raw, age * error + 3 * error_1, rtol=1e-6)
    assert "bonus/sigma" not in batch.metrics


@pytest.mark.parametrize("normalise_at", ["combined", "terms"])
def test_term_metrics_use_the_sigma_of_the_term(normalise_at, fragments):
    subject = model("toy.age * toy.error + 1000 * toy.age", normalise_at=normalise_at)
    age = parse("toy.age").build(Setting(OBSERVATION_SPACE, NUM_ACTIONS))
    seen = []
    for fragment in fragments:
        metrics = subject.process(fragment).metrics
        seen.append(age.compute(fragment).numpy())
        sigma = np.concatenate(seen).std()
        assert metrics["term/toy.age/sigma"] == pytest.approx(sigma, rel=1e-9)
        assert metrics["term/toy.age/raw_mean"] == pytest.approx(seen[-1].mean(), rel=1e-9)
        assert metrics["term/toy.age/normalised_mean"] == pytest.approx(seen[-1].mean() / sigma, rel=1e-9)
        assert metrics["term/toy.error/normalised_mean"] > 0


@pytest.mark.parametrize("kind", ["std", "reference", "none"])
def test_sigma_includes_the_fragment_it_divides(kind, fragments):
    running, subject = make_normaliser(kind), model("toy.age", normalise=kind)
    for fragment in fragments:
        batch = subject.process(fragment)
        running.update(batch.bonus_raw)
        np.testing.assert_allclose(batch.bonus, batch.bonus_raw / running.sigma, rtol=1e-6)


def test_without_learning_only_memory_advances(fragments):
    subject = model()
    before = subject.state_dict()
    first = subject.process(fragments[0], learn=False)
    assert not any(key.startswith("learn/") for key in first.metrics)
    np.testing.assert_array_equal(first.bonus, first.bonus_raw)
    after = subject.state_dict()
    assert after["normalisers"] == before["normalisers"]
    assert torch.equal(after["models"]["toy"]["layer"]["weight"], before["models"]["toy"]["layer"]["weight"])
    assert after["terms"]["toy.age"]["memory"]["kept"].keys() == {0, 1, 2}


def test_learning_reduces_the_global_part(fragments):
    subject = model("toy.error")
    means = [subject.process(fragment).bonus_global.mean() for fragment in fragments * 5]
    assert means[-1] < 0.5 * means[0]


@pytest.mark.parametrize("normalise_at", ["combined", "terms"])
def test_a_restored_model_continues_exactly(normalise_at, fragments):
    original = model(normalise_at=normalise_at, normalise="reference")
    original.process(fragments[0])
    state = pickle.loads(pickle.dumps(original.state_dict()))
    snapshot = original.state_dict()
    expected = [original.process(fragment) for fragment in fragments[1:]]
    other = model(seed=99, normalise_at=normalise_at, normalise="reference")
    # Into another model, from a snapshot that the original has left behind, and back into the original.
    for subject, saved in ((other, state), (model(seed=5, normalise_at=normalise_at, normalise="reference"), snapshot),
                           (original, snapshot)):  # fmt: skip
        subject.load_state_dict(saved)
        for fragment, wanted in zip(fragments[1:], expected, strict=True):
            got = subject.process(fragment)
            for name, column in got.columns().items():
                assert np.array_equal(column, wanted.columns()[name]), name
            assert got.metrics == wanted.metrics


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        ({"text": "toy.age"}, "saved with bonus 'toy.age.*this model has 'toy.age'"),
        ({"text": "toy.error * toy.age + 3 * toy.error(power=1)"}, "saved with bonus"),
        ({"normalise": "none"}, "saved with normalise 'std'"),
        ({"normalise_at": "terms"}, "saved with normalise_at 'combined'"),
    ],
)
def test_the_state_of_another_model_is_rejected(other, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        model(**other).load_state_dict(model().state_dict())
    with pytest.raises(InvalidInput, match="not the state of an intrinsic model"):
        model().load_state_dict({})


def test_invalid_options_and_values_are_rejected(fragments):
    with pytest.raises(InvalidInput, match="did you mean terms"):
        model(normalise_at="term")
    with pytest.raises(InvalidInput, match="unknown normalisation"):
        model(normalise="variance")
    with pytest.raises(InvalidInput, match="finite"):
        model(coefficient=float("nan"))
    with pytest.raises(NonFinite, match=r"bonus 'toy\.broken'"):
        model("toy.broken").process(fragments[0])
    with pytest.raises(NonFinite, match="bonus_raw"):
        model("toy.broken(huge)").process(fragments[0])


def test_no_bonus_is_zero(fragments):
    batch = model("none").process(fragments[0])
    assert not batch.bonus.any()
    assert batch.metrics["bonus/sigma"] == 1


def test_total_reward_is_a_new_clipped_array():
    extrinsic, bonus = np.array([[0.5, -3.0]], np.float32), np.array([[2.0, 0.25]], np.float32)
    for array in (extrinsic, bonus):
        array.setflags(write=False)
    np.testing.assert_array_equal(total_reward(extrinsic, bonus, clip=1.0), [[1.0, -1.0]])
    np.testing.assert_array_equal(total_reward(extrinsic, bonus, clip=None), [[2.5, -2.75]])
    assert total_reward(extrinsic, bonus, None).dtype == np.float32
    assert total_reward(extrinsic, np.zeros_like(bonus), None) is not extrinsic
    with pytest.raises(InvalidInput, match="positive"):
        total_reward(extrinsic, bonus, clip=0)
