"""Memory tasks: the LSTM solves them, a feed-forward network does not.

Results to expect with the `classic` preset in serial mode, at the first mean return of 100 episodes above the target:
StatelessCartPole 350 (the target of RLlib's tuned IMPALA and PPO, within 2,000,000 steps) after 333,000 and 264,000
steps (seeds 101 and 102; the preset was chosen on 101), CartPole-v1 475 after 185,000 (seed 101). Without an LSTM,
StatelessCartPole had 46 after 50,000 steps (seed 101). The slow test has a seed of its own.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import CLASSIC
from bonuslab.envs.catalogue import canonical_name


class Recall(gym.Env):
    """Shows 0 or 1, then blanks; the reward of the third step is 1 if its action is what was shown."""

    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.shown, self.steps = int(self.np_random.integers(2)), 0
        return self.shown, {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        done = self.steps == 3
        return 2, float(done and int(action) == self.shown), done, False, {}


def best_return(environment: Any, steps: int, target: float, seed: int, **changes: Any) -> float:
    """Largest mean return of the last 100 episodes, up to `target`."""
    config = IMPALAConfig().environment(canonical_name(environment)).apply(CLASSIC.values.changed(**changes))
    algorithm = config.run_serially().debugging(seed=seed, log_level="ERROR").build_algo()
    best = 0.0
    try:
        while algorithm.env_steps < steps and best < target:
            results = algorithm.train()["env_runners"]
            if algorithm.env_steps > 1000:
                best = max(best, results["episode_return_mean"])
    finally:
        algorithm.stop()
    return best


@pytest.mark.parametrize(("recurrent", "solves"), [(True, True), (False, False)])
def test_only_the_lstm_recalls_what_was_shown(recurrent: bool, solves: bool) -> None:
    best = best_return(Recall, 6_000, 0.9, seed=5, recurrent=recurrent, num_epochs=5)
    assert best >= 0.9 if solves else best <= 0.7


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_lstm_reaches_rllibs_target_on_stateless_cartpole() -> None:
    assert best_return("StatelessCartPole", 1_000_000, 350, seed=11) >= 350
