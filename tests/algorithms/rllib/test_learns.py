"""Both algorithms solve a small task in serial mode, also on held-out contexts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bonuslab.algorithms.catalogue import find


@pytest.mark.parametrize(
    ("name", "max_steps"), [("impala", 80_000), pytest.param("ddppo", 60_000, marks=pytest.mark.slow)]
)
def test_solves_two_small_rooms(name: str, max_steps: int, running: Any) -> None:
    """About 35,000 steps and 20 seconds. A random walk finds the stairs in half of the episodes, late."""
    threads = torch.get_num_threads()
    entry = find(name)
    config = entry.config().environment("MultiRoom-N2-S4", env_config={"contexts": "inf"})
    config.apply(entry.preset("laptop").values)
    config.bonus("none").run_serially().debugging(seed=1).evaluation(evaluation_duration=32)
    config.min_sample_timesteps_per_iteration = 6000
    algorithm = running(config)
    curve: list[tuple[int, float, float]] = []
    while not curve or (curve[-1][1] < 0.9 and curve[-1][0] < max_steps):
        results = algorithm.train()["env_runners"]
        curve.append((algorithm.env_steps, results["episode_return_mean"], results["episode_len_mean"]))
    torch.set_num_threads(threads)
    lines = "\n".join(f"{steps:>8} steps  return {mean:6.3f}  length {length:5.1f}" for steps, mean, length in curve)
    assert curve[0][1] < 0.5, f"solved from the start\n{lines}"
    assert curve[-1][1] >= 0.9, f"not solved\n{lines}"
    held_out = algorithm.evaluate()["sampled"]
    assert held_out["win_rate"] >= 0.9, f"{held_out} on held-out contexts\n{lines}"
