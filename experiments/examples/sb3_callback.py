"""An exploration bonus for Stable-Baselines3 in one callback.

    python experiments/examples/sb3_callback.py --env MountainCar-v0 --bonus "e3b * rnd"

The callback adds the bonus to the rewards that the algorithm stores. `Monitor` is inside the env, so that reported
returns stay extrinsic.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import bonuslab as bl


class ExplorationBonus(BaseCallback):
    """Adds the bonus of every step to its reward; works for all algorithms with rewards per step."""

    def __init__(self, bonus: str, **settings: Any) -> None:
        """`settings` of `bl.Explorer`."""
        super().__init__()
        self._make = lambda env: bl.Explorer(
            bonus, env.observation_space, env.action_space, env.num_envs, autoreset="same_step", **settings
        )

    def _on_training_start(self) -> None:
        self.explorer = self._make(self.training_env)
        self.bonuses: list[float] = []

    def _on_step(self) -> bool:
        dones, infos = self.locals["dones"], self.locals["infos"]
        truncated = np.array([info.get("TimeLimit.truncated", False) for info in infos])
        bonus = self.explorer.observe(
            self.model._last_obs,  # what the actions were chosen for
            self.locals["actions"],
            self.locals["new_obs"],
            dones & ~truncated,
            truncated,
            infos=infos,
        )
        self.locals["rewards"] += bonus  # in place: the algorithm stores this array after the callback
        self.bonuses.append(float(bonus.mean()))
        self.logger.record("rollout/bonus", np.mean(self.bonuses[-1000:]))
        return True


def main() -> None:
    """Train PPO with the bonus and print the mean return and bonus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="MountainCar-v0", help="a Gymnasium environment")
    parser.add_argument("--bonus", default="e3b * rnd", help="a bonus expression")
    parser.add_argument("--coefficient", type=float, default=0.5, help="of the bonus")
    parser.add_argument("--steps", type=int, default=100_000, help="environment steps")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    envs = make_vec_env(args.env, n_envs=8, seed=args.seed)
    callback = ExplorationBonus(args.bonus, coefficient=args.coefficient, seed=args.seed)
    model = PPO("MlpPolicy", envs, n_steps=128, batch_size=256, seed=args.seed, device="cpu")
    model.learn(args.steps, callback=callback)
    mean_return, _ = evaluate_policy(model, envs, n_eval_episodes=8)
    print(f"mean return {mean_return:.3f}  mean bonus {np.mean(callback.bonuses):.4f}")


if __name__ == "__main__":
    main()
