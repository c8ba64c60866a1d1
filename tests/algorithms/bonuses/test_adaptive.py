"""The adaptive combination against its equation, step by step."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.bonuses.adaptive import Adaptive, arm_weights
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.envs.errors import InvalidInput

COUNTS = "adaptive(count.episodic(position), count.global(position), window=6, temperature=0.5, discount=0.9)"


def build(text: str = COUNTS) -> Adaptive:
    bonus = parse(text)
    assert isinstance(bonus, Adaptive)
    return bonus.build(Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small"))


def fragments(lengths: list[int], seed: int = 3) -> list[Fragment]:
    """Fragments with a random return for each episode."""
    pieces = Trajectory(4, sum(lengths), seed=seed).cut(lengths)
    rng = np.random.default_rng(seed)
    for piece in pieces:
        piece.reward[:] = rng.normal(size=piece.reward.shape)
    return pieces


def run(bonus: Adaptive, pieces: list[Fragment]) -> np.ndarray:
    values = []
    for piece in pieces:
        values.append(bonus.compute(piece).numpy())
        bonus.learn(piece)
    return np.concatenate(values)


def literal(pieces: list[Fragment]) -> tuple[np.ndarray, np.ndarray]:
    """Bonuses and final weights by the docstring's equation, one step at a time."""
    setting = Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")
    one, two = (parse(text).build(setting) for text in ("count.episodic(position)", "count.global(position)"))
    seen: list[list[float]] = [[], [], []]
    window: list[tuple[float, list[float]]] = []
    running: dict[int, tuple[float, list[float], float] | None] = {}
    answer = []
    weights = np.full(3, 1 / 3)
    for piece in pieces:
        a, b = one.compute(piece).numpy(), two.compute(piece).numpy()
        arms = [a, b, a * b]
        sigmas = [np.std(past if past else arm) for past, arm in zip(seen, arms, strict=True)]
        answer.append(sum(w * arm / sigma for w, arm, sigma in zip(weights, arms, sigmas, strict=True)))
        for n in range(piece.num_envs):
            for t in range(piece.num_steps):
                if piece.first[t, n]:
                    running[n] = (0.0, [0.0] * 3, 1.0)
                episode = running.get(n)
                if episode is not None:
                    total, sums, factor = episode
                    sums = [p + factor * arm[t, n] / s for p, arm, s in zip(sums, arms, sigmas, strict=True)]
                    running[n] = (total + float(piece.reward[t, n]), sums, 0.9 * factor)
                    if piece.done[t, n]:
                        window.append(running[n][:2])
                        running[n] = None
        for past, arm in zip(seen, arms, strict=True):
            past.extend(arm.ravel())
        window = window[-6:]
        if len(window) > 1:
            returns = [total for total, _ in window]
            rho = np.array([np.corrcoef(returns, [sums[k] for _, sums in window])[0, 1] for k in range(3)])
            weights = np.exp(rho / 0.5) / np.exp(rho / 0.5).sum()
    return np.concatenate(answer), weights


def test_equals_the_equation() -> None:
    pieces = fragments([10, 7, 20, 13])
    bonus = build()
    expected, weights = literal(pieces)
    np.testing.assert_allclose(run(bonus, pieces), expected, rtol=1e-10)
    np.testing.assert_allclose(bonus.weights, weights, rtol=1e-10)
    assert np.ptp(weights) > 0.05


def test_fragment_boundaries_do_not_change_the_sums_of_an_episode() -> None:
    bonus = build()
    parts = [bonus._follow(piece, np.ones((3, piece.num_steps, 4))) for piece in fragments([12, 11, 19])]
    straight = build()._follow(fragments([42])[0], np.ones((3, 42, 4)))
    joined = np.concatenate(parts)
    assert len(joined) == len(straight) > 4
    np.testing.assert_allclose(sorted(joined[:, 1]), sorted(straight[:, 1]), rtol=1e-12)


def test_an_episode_whose_start_was_lost_is_skipped() -> None:
    pieces = fragments([12, 11, 19])
    bonus = build()
    bonus._follow(pieces[0], np.ones((3, 12, 4)))
    found = bonus._follow(pieces[2], np.ones((3, 19, 4)))  # pieces[1] was lost
    begun = sum(int((pieces[2].done[:, n] & (np.cumsum(pieces[2].first[:19, n]) > 0)).sum()) for n in range(4))
    assert len(found) == begun < pieces[2].done.sum()


def test_weights_of_constructed_episodes() -> None:
    returns = np.array([0.0, 0.0, 1.0, 1.0])
    agrees, opposes, unrelated = returns * 3 + 2, -returns, np.array([1.0, 2.0, 1.0, 2.0])
    weights = arm_weights(np.stack([returns, agrees, opposes, unrelated], axis=1), temperature=1.0)
    np.testing.assert_allclose(weights, np.exp([1, -1, 0]) / np.exp([1, -1, 0]).sum())
    for undefined in (np.empty((0, 4)), np.ones((1, 4)), np.ones((5, 4))):
        np.testing.assert_array_equal(arm_weights(undefined, 1.0), [1 / 3] * 3)


def test_reports_its_weights_and_updates_once_per_fragment() -> None:
    piece = fragments([40])[0]
    bonus = build()
    bonus.compute(piece)
    metrics = bonus.learn(piece)
    assert sum(metrics[f"weight_{arm}"] for arm in ("first", "second", "product")) == pytest.approx(1)
    state = pickle.dumps(bonus.state_dict())
    bonus.learn(piece)  # another update on the same fragment
    assert pickle.dumps(bonus.state_dict()) == state


def test_the_bandit_pays_one_arm_per_block_of_episodes() -> None:
    bonus = build(COUNTS[:-1] + ", rule=bandit)")
    pieces = fragments([30, 30, 30])
    paid = []
    for piece in pieces:
        values = bonus.compute(piece).numpy()
        raw, _ = bonus._unseen
        arm = bonus._bandit.arm
        np.testing.assert_allclose(values, raw[arm] / bonus._sigma(arm, raw[arm]))
        bonus.learn(piece)
        paid.append(arm)
    assert len(set(paid)) > 1
    copy = build(str(bonus))
    copy.load_state_dict(pickle.loads(pickle.dumps(bonus.state_dict())))
    np.testing.assert_array_equal(copy.weights, bonus.weights)


def test_expressions_and_invalid_parameters() -> None:
    assert str(parse("adaptive")) == "adaptive"
    assert parse("adaptive(e3b, rnd)") == parse("adaptive")
    assert str(parse(str(parse(COUNTS)))) == str(parse(COUNTS))
    assert parse(COUNTS).scope == "combined"
    assert parse("2 * adaptive(count.episodic, e3b + rnd)").scope == "combined"
    for text, message in {
        "adaptive(e3b, e3b)": "are equal",
        "adaptive(window=1)": "at least 2",
        "adaptive(temperature=0)": "positive",
        "adaptive(discount=1.5)": "at most 1",
        "adaptive(3)": "not a bonus",
        "adaptive(rule=luck)": "rule",
    }.items():
        with pytest.raises(InvalidInput, match=message):
            parse(text)
