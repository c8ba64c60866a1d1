"""It learns: two small rooms, new ones in every episode, on one core."""

from __future__ import annotations

import torch

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import LAPTOP

MOST_STEPS = 80_000


def test_it_solves_two_small_rooms_in_serial_mode(running):
    """About 35,000 steps and 20 seconds. A random walk finds the stairs in half of the episodes, late."""
    threads = torch.get_num_threads()
    config = IMPALAConfig().environment("MultiRoom-N2-S4", env_config={"contexts": "inf"})
    config.apply(LAPTOP.values)
    config.bonus("none").run_serially().debugging(seed=1).evaluation(evaluation_duration=32)
    config.min_sample_timesteps_per_iteration = 6000
    algorithm = running(config)
    curve = []
    while not curve or (curve[-1][1] < 0.9 and curve[-1][0] < MOST_STEPS):
        results = algorithm.train()["env_runners"]
        curve.append((algorithm.env_steps, results["episode_return_mean"], results["episode_len_mean"]))
    torch.set_num_threads(threads)
    lines = "\n".join(f"{steps:>8} steps  return {mean:6.3f}  length {length:5.1f}" for steps, mean, length in curve)
    assert curve[0][1] < 0.5, f"it could do it from the start\n{lines}"
    assert curve[-1][1] >= 0.9, f"it did not learn\n{lines}"
    held_out = algorithm.evaluate()["sampled"]
    assert held_out["win_rate"] >= 0.9, f"{held_out} on held-out contexts\n{lines}"
