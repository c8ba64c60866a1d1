"""Bonuses at the paper's sizes on one core, and the elliptical bonus beside its usual implementations.

    python experiments/speed.py bonuses [--quick]

Features have d = 1024, fragments T = 80 steps of N = 8 envs. Peers: the rank-one (Sherman–Morrison) update of the
inverse covariance, in place and in double precision, and an explicit inverse at every step. Where the peer is linear
growth, the cost is compared with four times the cost at a quarter of the size. Times are CPU times.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import torch

import bonuslab.algorithms.bonuses  # noqa: F401 (registers them)
from bonuslab.algorithms.bonuses.algebra.registry import registered
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.memory.count_table import CountTable
from bonuslab.algorithms.bonuses.memory.elliptical import EpisodicElliptical
from bonuslab.algorithms.bonuses.ngu import NGU, NeighbourMemory
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import best_cpu_seconds, cpu_seconds, single_thread

D, T, N = 1024, 80, 8
RIDGE = 0.1
_MICRO = "µs/step"


def run(quick: bool) -> list[Measurement]:
    """Measure everything on one core; under a minute when `quick`."""
    with single_thread():
        return [
            *_elliptical(quick),
            *_long_episodes(quick),
            *_neighbours(quick),
            *_count_table(quick),
            *_each_bonus(quick),
        ]


def _elliptical(quick: bool) -> list[Measurement]:
    print(f"elliptical bonus: d = {D}, T = {T}, N = {N}")
    fragment = Trajectory(N, T, mean_episode=10**9).cut([T])[0]
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(T, N, D, generator=generator)
    features[T // 2 :: 3] = features[: T // 2 : 3][: len(features[T // 2 :: 3])]  # states repeat

    def compute() -> torch.Tensor:
        return EpisodicElliptical(RIDGE).compute(fragment, features, True)

    ours = best_cpu_seconds(compute, 5 if quick else 20) / (T * N)
    rank_one, rank_one_time = _rank_one(features.double())

    steps = [T - 1] if quick else [0, T // 4, T // 2, T - 1]
    started = time.process_time()
    inverse = [_explicit_inverse(features[:, 0].double(), t) for t in steps]
    inverse_time = (time.process_time() - started) / len(steps)

    bonus = compute()
    print(f"  largest relative difference from rank-one: {_difference(bonus, rank_one):.1e}")
    print(f"  largest relative difference from the inverse: {_difference(bonus[steps, 0], torch.stack(inverse)):.1e}")
    return [
        Measurement("elliptical; peer: rank-one update", ours * 1e6, rank_one_time * 1e6, _MICRO),
        Measurement("elliptical; peer: explicit inverse", ours * 1e6, inverse_time * 1e6, _MICRO),
    ]


def _long_episodes(quick: bool) -> list[Measurement]:
    print("elliptical bonus in long episodes, one environment")
    fragments = Trajectory(1, 25 * T, mean_episode=10**9).cut([T] * 25)
    features = torch.randn(25 * T, 1, D, generator=torch.Generator().manual_seed(1))
    elliptical = EpisodicElliptical(RIDGE)
    parts = zip(fragments, features.split(T), strict=True)
    cost = [cpu_seconds(partial(elliptical.compute, fragment, part, True)) / T * 1e6 for fragment, part in parts]
    _, rank_one = _rank_one(features[: 20 if quick else 200].double())
    return [
        Measurement(
            f"elliptical, steps {a * T}–{b * T} of an episode; peer: rank-one update",
            float(np.mean(cost[a:b])),
            rank_one * 1e6,
            _MICRO,
        )
        for a, b in ((1, 6), (6, 12), (14, 25))
    ]


def _neighbours(quick: bool) -> list[Measurement]:
    print("nearest neighbours in long episodes")
    bonus = NGU()
    rng = np.random.default_rng(0)
    block = rng.normal(size=(T, D)).astype(np.float32)

    def cost(steps: int) -> float:
        memory = NeighbourMemory(rng.normal(size=(steps, D)).astype(np.float32), 1.0, 1)
        return best_cpu_seconds(lambda: bonus.extend(memory, block), 3) / T * 1e6

    sizes = (500, 2000) if quick else (500, 2000, 8000)
    costs = [cost(steps) for steps in sizes]
    return [
        Measurement(f"ngu, {large} steps into an episode; peer: linear growth", after, 4 * before, _MICRO)
        for large, before, after in zip(sizes[1:], costs[:-1], costs[1:], strict=True)
    ]


def _count_table(quick: bool) -> list[Measurement]:
    states = 1_000_000 if quick else 10_000_000
    print(f"count table of {states:,} distinct states")
    CountTable().count(np.arange(200, dtype=np.uint64))  # compiles
    keys = np.random.default_rng(0).integers(2**63, size=states).astype(np.uint64)
    table = CountTable()
    # Each quarter meets a fuller table.
    cost = [cpu_seconds(partial(table.count, part)) / len(part) * 1e6 for part in np.split(keys, 4)]
    again = cpu_seconds(partial(table.count, keys)) / states * 1e6
    some = keys[: states // 10].tolist()
    dictionary = cpu_seconds(partial(_count_in_dictionary, some)) / len(some) * 1e6
    megabytes = table.table.nbytes / 1e6
    print(f"  new states by quarters: {', '.join(f'{value:.2f}' for value in cost)} µs")
    return [
        Measurement(f"count table, {states:,} new states; peer: dict", float(np.mean(cost)), dictionary, "µs/update"),
        Measurement("count table, known states", again, None, "µs/update"),
        Measurement("count table, memory; peer: our limit", megabytes, 1500 * states / 1e7, "MB"),
    ]


def _each_bonus(quick: bool) -> list[Measurement]:
    """`compute` and `learn` of every registered bonus, with the paper's networks."""
    steps = 16 if quick else T
    measurements = []
    for name, cls in registered().items():
        print(f"{name}: {steps} steps of {N} envs, the paper's networks", flush=True)
        bonus = cls().build(Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="paper"))
        warm, fragment = Trajectory(N, 2 + steps, mean_episode=60).cut([2, steps])
        bonus.compute(warm)
        methods = {"compute": bonus.compute} | ({"learn": bonus.learn} if bonus.learn(warm) else {})
        for part, method in methods.items():
            cost = cpu_seconds(partial(method, fragment)) / (steps * N)
            measurements.append(Measurement(f"{name}: {part}", cost * 1e6, None, _MICRO))
    return measurements


def _rank_one(features: torch.Tensor) -> tuple[torch.Tensor, float]:
    """[T, N] the usual way, C⁻¹ of each env updated in place after each step, and the seconds per step."""
    inverse = [torch.eye(D, dtype=torch.float64) / RIDGE for _ in range(features.shape[1])]
    bonus = torch.empty(features.shape[:2], dtype=torch.float64)
    started = time.process_time()
    for t, row in enumerate(features):
        for n, phi in enumerate(row):
            gain = inverse[n] @ phi
            bonus[t, n] = phi @ gain
            inverse[n].addr_(gain, gain, alpha=-1 / (1 + float(bonus[t, n])))
    return bonus, (time.process_time() - started) / bonus.numel()


def _explicit_inverse(features: torch.Tensor, t: int) -> torch.Tensor:
    covariance = features[:t].T @ features[:t] + RIDGE * torch.eye(D, dtype=torch.float64)
    return features[t] @ torch.linalg.inv(covariance) @ features[t]


def _count_in_dictionary(keys: list[int]) -> None:
    counts: dict[int, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1


def _difference(ours: torch.Tensor, other: torch.Tensor) -> float:
    return float(((ours - other).abs() / other.abs()).max())
