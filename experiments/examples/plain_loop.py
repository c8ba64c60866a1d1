"""Tabular Q-learning with an exploration bonus: the whole agent is one loop.

    python experiments/examples/plain_loop.py --bonus none
    python experiments/examples/plain_loop.py --bonus "count.global(observation)"

FrozenLake rewards nothing but the goal, which random actions rarely reach.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np

import bonuslab as bl


def main() -> None:
    """Train, and print the mean return and bonus of each tenth of the run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bonus", default="count.global(observation)", help="a bonus expression")
    parser.add_argument("--coefficient", type=float, default=0.1, help="of the bonus")
    parser.add_argument("--steps", type=int, default=30_000, help="environment steps")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    env: Any = gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False)
    explorer = bl.Explorer(
        args.bonus, env.observation_space, env.action_space, normalise="none", coefficient=args.coefficient
    )
    rng = np.random.default_rng(args.seed)
    q = np.zeros((env.observation_space.n, env.action_space.n))
    returns, bonuses, episode_return = [], [], 0.0

    obs, _ = env.reset(seed=args.seed)
    for step in range(1, args.steps + 1):
        best = np.flatnonzero(q[obs] == q[obs].max())  # ties are broken at random
        action = int(rng.choice(best)) if rng.random() > 0.05 else int(rng.integers(env.action_space.n))
        next_obs, reward, terminated, truncated, _ = env.step(action)
        bonus = explorer.observe(obs, action, next_obs, terminated, truncated)
        target = reward + bonus + 0.9 * q[next_obs].max() * (not terminated)
        q[obs, action] += 0.5 * (target - q[obs, action])
        bonuses.append(bonus)
        episode_return += reward
        obs = next_obs
        if terminated or truncated:
            returns.append(episode_return)
            episode_return = 0.0
            obs, _ = env.reset()
        if step % max(args.steps // 10, 1) == 0:
            print(f"step {step}  mean return {np.mean(returns or [0]):.3f}  mean bonus {np.mean(bonuses):.4f}")
            returns, bonuses = [], []


if __name__ == "__main__":
    main()
