"""Simulated rounds of DD-PPO against rounds worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bonuslab.experiments.benchmarks.habitat_projection import NetworkCost, calibrated_spread, published_job
from bonuslab.experiments.benchmarks.worker_simulation import Job, Network, simulate, speed_up

FREE = Network(bytes_per_second=np.inf, latency_seconds=0.0)


def job(step_seconds: list[list[float]], learn_seconds: float = 0.0, exchanges: int = 0) -> Job:
    return Job(np.array(step_seconds), 0.0, learn_seconds, exchanges, num_bytes=1e6)


def test_equal_workers_scale_perfectly_but_for_their_exchanges() -> None:
    even = job([[0.5] * 8], learn_seconds=1.0)
    assert speed_up(even, 16, sync_fraction=None, network=FREE) == (pytest.approx(16), 1.0)
    chatty = job([[0.5] * 8], learn_seconds=1.0, exchanges=10)
    ring = 10 * 2 * 15 * (1e6 / 16 / 12.5e9 + 30e-6)
    assert speed_up(chatty, 16, sync_fraction=0.6)[0] == pytest.approx(16 * 5 / (5 + ring))
    small = replace(chatty, small_exchanges=20)
    assert small.exchange_seconds(Network(), 16) == pytest.approx(ring + 20 * 2 * 15 * 30e-6)


def test_a_tree_needs_fewer_hops() -> None:
    even = job([[0.5] * 8], learn_seconds=1.0, exchanges=10)
    tree = 10 * 2 * (1e6 / 12.5e9 + 4 * 30e-6)
    found = speed_up(even, 16, sync_fraction=0.6, network=Network("tree"))
    assert found == (pytest.approx(16 * 5 / (5 + tree)), 1.0)


def test_a_straggler_is_waited_for_or_stopped_after_the_step_it_is_in() -> None:
    """Rollouts of 8 steps that take 8 s or 40 s: with 2 of 3 done after 8 s, the third ends its second step at 10 s."""
    fast, slow = [1.0] * 8, [5.0] * 8
    found = {
        fraction: [simulate(job([fast, slow]), 3, sync_fraction=fraction, rounds=2, seed=seed) for seed in range(30)]
        for fraction in (None, 0.6)
    }
    waiting = {round(result.steps_per_second, 6) for result in found[None]}
    # In two rounds all play both rollouts; who begins with which is drawn.
    assert waiting <= {round(48 / (8 + 40), 6), round(48 / (40 + 40), 6)}
    one_slow = (8 + 8 + 2) / 10  # this round and, after it, one in which two of three are slow and are waited for
    mixed = round((18 + 24) / (10 + 40), 6)
    assert mixed in {round(result.steps_per_second, 6) for result in found[0.6]}
    assert one_slow > 24 / 40


def test_everyone_collects_the_shortest_rollout() -> None:
    """Three fast workers and one that needs a minute a step: it plays a quarter of its 8 steps all the same."""
    rows = job([[1.0] * 8, [60.0] * 8])
    shares = {simulate(rows, 4, sync_fraction=0.5, rounds=1, seed=seed).share for seed in range(30)}
    assert (24 + 2) / 32 in shares
    with_none = {simulate(rows, 4, sync_fraction=0.5, shortest=0.0, rounds=1, seed=seed).share for seed in range(30)}
    assert (24 + 1) / 32 in with_none


def test_fast_workers_go_on_until_the_others_are_done() -> None:
    """Rollouts of 8 steps that take 8 s or 12 s: whoever is done first plays 12 steps at most, while others end."""
    rows = job([[1.0] * 8, [1.5] * 8], learn_seconds=8.0)
    results = {
        longest: simulate(rows, 2, sync_fraction=1.0, longest=longest, rounds=2, seed=1) for longest in (1.0, 1.25, 1.5)
    }
    # The worker that starts with the second rollout continues with the first, and the other way round.
    assert results[1.0].share == 1
    assert results[1.25].share == pytest.approx((8 + 10) / 16)
    assert results[1.25].steps_per_second == pytest.approx(18 / (12 + 8 * 10 / 8))
    assert results[1.5].steps_per_second == pytest.approx((8 + 11) / (12.5 + 8 * 11 / 8))


def test_the_spread_is_that_of_the_published_speed_up() -> None:
    cost, network = NetworkCost(7.4e8, 12_500_000), Network("tree")
    spread = calibrated_spread(cost, network, rounds=200)
    options = {"sync_fraction": 0.6, "network": network, "rounds": 200}
    found = [speed_up(published_job(cost), 128, spread=tried, **options)[0] for tried in (spread, spread + 0.2)]
    assert found[0] == pytest.approx(107, abs=0.5)
    assert found[1] < 100
