"""Replicas in threads of one process: real gloo groups without Ray."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.memory.joint_experience import join_in_time
from bonuslab.algorithms.learning.collectives import Collectives, Disconnected


def on_all(replicas: list[Collectives], function: Callable[[Collectives], object]) -> list:
    with ThreadPoolExecutor(len(replicas)) as pool:
        return [future.result() for future in [pool.submit(function, replica) for replica in replicas]]


def test_sum_and_gather(connected):
    replicas = connected(3)
    sums = on_all(replicas, lambda replica: replica.sum(torch.full((2,), 1.0 + replica.rank)).tolist())
    assert sums == [[6.0, 6.0]] * 3
    assert on_all(replicas, lambda replica: replica.exchanges) == [1, 1, 1]

    def rows(replica):
        return replica.gather((np.arange(replica.rank + 1), np.full((replica.rank, 2), 0.5)))

    for gathered in on_all(replicas, rows):
        assert [array.tolist() for array, _ in gathered] == [[0], [0, 1], [0, 1, 2]]
        assert [array.shape for _, array in gathered] == [(0, 2), (1, 2), (2, 2)]


def test_gradients_are_weighted_by_the_divisors_of_the_losses(connected):
    """Replicas with 3 and 5 samples: the gradient is that of the mean over all 8."""
    samples = torch.randn(8, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parts = [samples[:3], samples[3:]]

    def gradient(part: torch.Tensor, replica: Collectives) -> list[torch.Tensor]:
        weight = torch.nn.Parameter(torch.ones(4, dtype=torch.float64))
        unused = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
        ((part @ weight) ** 3).mean().backward()
        replica.average_gradients([weight, unused], len(part))
        assert unused.grad is None
        return weight.grad

    expected = gradient(samples, Collectives())
    for got in on_all(connected(2), lambda replica: gradient(parts[replica.rank], replica)):
        torch.testing.assert_close(got, expected, rtol=1e-14, atol=1e-14)


def test_a_single_process_changes_nothing():
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.tensor([1.0, 2.0])
    Collectives().average_gradients([parameter], 7)
    assert parameter.grad.tolist() == [1.0, 2.0]
    assert Collectives().gather("x") == ["x"]


def test_a_replica_that_leaves_disconnects_the_others(connected):
    replicas = connected(3)
    threading.Timer(0.3, replicas[2].close).start()

    def wait(replica: Collectives) -> int:
        with pytest.raises(Disconnected):
            replica.sum(torch.ones(1))
        return replica.exchanges

    assert on_all(replicas[:2], wait) == [0, 0]
    with pytest.raises(Disconnected):
        replicas[0].sum(torch.ones(1))


@pytest.mark.parametrize("lengths", [(4, 4), (6, 2)])
def test_experience_is_joined_in_order_of_time(connected, lengths):
    """Two replicas with 2 envs each, of equal and different lengths, against a plain sort."""
    times = [np.repeat(np.arange(length), 2) for length in lengths]
    rows = [100 * rank + np.arange(len(when)) for rank, when in enumerate(times)]
    expected = sorted((when, rank, row) for rank in range(2) for when, row in zip(times[rank], rows[rank], strict=True))
    for rank, joint in enumerate(
        on_all(connected(2), lambda replica: join_in_time(replica, times[replica.rank], rows[replica.rank]))
    ):
        assert joint.rows.tolist() == [row for _, _, row in expected]
        assert joint.rows[joint.own].tolist() == rows[rank].tolist()
