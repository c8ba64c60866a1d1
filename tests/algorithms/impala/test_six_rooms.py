"""The paper's main finding in minutes: with a new map every episode, only episodic bonuses solve six rooms.

Results to expect at 300,000 steps (win rate of the last 100 episodes; 253 s on 2 cores): with seed 11 the test passes;
its rates were not recorded. Single runs while tuning the preset's coefficient on this task: e3b 0.96, 0.92 and 0.98
(seeds 3, 5, 6; seed 3 at 266,000), count.episodic 0.99, none 0.00 and count.global 0.00 (seed 3).
"""

from __future__ import annotations

import multiprocessing

import pytest
import torch

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import LAPTOP

TASK, STEPS, SEED = "MultiRoom-N6-S5", 300_000, 11
SOLVES = ["count.episodic(position)", "e3b"]
FAILS = ["none", "count.global(position)"]


def win_rate(bonus: str) -> float:
    """Win rate of the last 100 training episodes, after the same number of steps for every bonus."""
    torch.set_num_threads(1)
    config = IMPALAConfig().environment(TASK, env_config={"contexts": "inf"})
    config.apply(LAPTOP.values)
    config.bonus(bonus).run_serially().debugging(seed=SEED, log_level="ERROR")
    config.min_sample_timesteps_per_iteration = STEPS
    algorithm = config.build_algo()
    results = algorithm.train()["env_runners"]
    algorithm.stop()
    return float(results["win_rate"])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_episodic_bonuses_solve_six_rooms_where_no_bonus_and_the_global_one_do_not() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        rates = dict(zip(SOLVES + FAILS, pool.map(win_rate, SOLVES + FAILS, chunksize=1), strict=True))
    print(rates)
    assert {bonus: rates[bonus] for bonus in SOLVES if rates[bonus] < 0.8} == {}, rates
    assert {bonus: rates[bonus] for bonus in FAILS if rates[bonus] > 0.1} == {}, rates
