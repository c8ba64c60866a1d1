"""PPO in a single file, in CleanRL's manner, with an exploration bonus for each rollout.

    python experiments/examples/cleanrl_ppo.py --env-id minigrid:MiniGrid-DoorKey-5x5-v0 --bonus "e3b * rnd"

Three lines are about the bonus: the `Explorer`, the true next observations, and the sum of both rewards.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import bonuslab as bl


@dataclass
class Args:
    """What the command line can change."""

    env_id: str = "minigrid:MiniGrid-DoorKey-5x5-v0"
    bonus: str = "e3b * rnd"
    coefficient: float = 0.001  # larger ones pay more for long episodes than the goal does
    steps: int = 100_000
    seed: int = 0
    num_envs: int = 8
    num_steps: int = 128
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    epochs: int = 4
    minibatches: int = 4
    clip: float = 0.2
    entropy: float = 0.01


def make_env(env_id: str) -> gym.Env[Any, Any]:
    """The environment; of several observations, as MiniGrid's, the image."""
    env: Any = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))
    if isinstance(env.observation_space, gym.spaces.Dict):
        return gym.wrappers.TransformObservation(env, lambda obs: obs["image"], env.observation_space["image"])
    return env


class Agent(nn.Module):
    """Actor and critic."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        size = int(np.prod(envs.single_observation_space.shape))
        self.scale = 0.1 if envs.single_observation_space.dtype == np.uint8 else 1.0  # MiniGrid's numbers go to 10
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))
            for outputs in (int(envs.single_action_space.n), 1)
        )

    def forward(self, obs: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """The policy [B] and the value [B]."""
        rows = obs.flatten(1).float() * self.scale
        return Categorical(logits=self.actor(rows)), self.critic(rows).squeeze(-1)


def main(args: Args) -> None:
    """Train, and print the mean return and bonus of every tenth of the run."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    mode = gym.vector.AutoresetMode.SAME_STEP
    envs: Any = gym.vector.SyncVectorEnv([lambda: make_env(args.env_id)] * args.num_envs, autoreset_mode=mode)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    explorer = bl.Explorer(
        args.bonus,
        envs.single_observation_space,
        envs.single_action_space,
        args.num_envs,
        coefficient=args.coefficient,
        seed=args.seed,
    )
    returns: list[float] = []
    bonuses: list[float] = []
    next_obs, _ = envs.reset(seed=args.seed)
    num_updates = max(args.steps // (args.num_envs * args.num_steps), 1)
    for update in range(1, num_updates + 1):
        rollout = []
        for _ in range(args.num_steps):
            obs = next_obs
            with torch.no_grad():
                policy, value = agent(torch.as_tensor(obs))
                action = policy.sample()
            next_obs, reward, terminated, truncated, infos = envs.step(action.numpy())
            done = terminated | truncated
            true_next = explorer.true_next_obs(next_obs, infos, done)
            row = (obs, action, true_next, terminated, truncated, reward, policy.log_prob(action), value)
            rollout.append([torch.as_tensor(column) for column in row])
            if done.any():
                returns += infos["final_info"]["episode"]["r"][done].tolist()

        obs_, actions, after, terminated_, truncated_, rewards, logprobs, values = map(
            torch.stack, zip(*rollout, strict=True)
        )
        bonus = explorer.rollout(obs_, actions, after, terminated_, truncated_)  # [T, N]
        bonuses.append(float(bonus.mean()))
        rewards = rewards.float() + bonus
        with torch.no_grad():
            next_values = agent(after.flatten(0, 1))[1].view_as(values) * ~terminated_  # a time limit is no end
        deltas = rewards + args.gamma * next_values - values
        advantages = torch.zeros_like(deltas)
        last = torch.zeros(args.num_envs)
        for t in reversed(range(args.num_steps)):
            last = deltas[t] + args.gamma * args.gae_lambda * last * ~(terminated_[t] | truncated_[t])
            advantages[t] = last
        targets = advantages + values

        batch = [part.flatten(0, 1) for part in (obs_, actions, logprobs, advantages, targets)]
        for _ in range(args.epochs):
            for index in torch.randperm(len(batch[0])).chunk(args.minibatches):
                mb_obs, mb_actions, mb_logprobs, mb_advantages, mb_targets = (part[index] for part in batch)
                policy, value = agent(mb_obs)
                ratio = (policy.log_prob(mb_actions) - mb_logprobs).exp()
                mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                pg_loss = -torch.min(mb_advantages * ratio, mb_advantages * clipped).mean()
                loss = pg_loss + 0.5 * (value - mb_targets).square().mean() - args.entropy * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()

        if update % max(num_updates // 10, 1) == 0:
            steps = update * args.num_envs * args.num_steps
            print(f"step {steps}  mean return {np.mean(returns or [0]):.3f}  mean bonus {np.mean(bonuses):.4f}")
            returns, bonuses = [], []
    envs.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    main(Args(**vars(parser.parse_args())))
