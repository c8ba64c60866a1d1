"""The peer: PPO with an LSTM as one plain loop, written as CleanRL writes it.

Rollout, GAE, then epochs over minibatches of whole envs, with PyTorch's own modules and fused Adam. To its favour it
has our vector env, and stores crops and trigrams instead of whole observations.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Categorical

from bonuslab.envs.minihack import MiniHackVectorEnv
from bonuslab.experiments.benchmarks.peer_network import PlainPolicy
from bonuslab.experiments.benchmarks.peer_turns import Turns, Work, work_from_command_line


class PlainLoop:
    """Trains the policy on vectorised envs."""

    def __init__(self, work: Work) -> None:
        torch.manual_seed(work.seed)
        self.work = work
        self.envs = MiniHackVectorEnv(work.task, work.num_envs, seed=work.seed)
        self.policy = PlainPolicy(self.envs.observation_space, int(self.envs.action_space.n))
        self.optimiser = torch.optim.Adam(self.policy.parameters(), work.lr, fused=True)
        self.next_rows = self._prepare(self.envs.reset())
        self.next_first = torch.ones(work.num_envs, dtype=torch.bool)
        self.state = self.policy.initial_state(work.num_envs)

    def update(self) -> int:
        """One rollout and all its epochs; returns the environment steps."""
        first_state = self.state
        rows, columns = self._rollout()
        advantage = gae(columns["reward"], columns["value"], columns["done"], self.work.gamma, self.work.decay)
        columns |= {"advantage": advantage, "target": advantage + columns["value"][:-1]}
        envs_each = self.work.num_envs // self.work.minibatches
        for _ in range(self.work.epochs):
            for chosen in torch.randperm(self.work.num_envs).split(envs_each):
                batch = {key: column[: self.work.unroll, chosen] for key, column in columns.items()}
                state = tuple(part[:, chosen] for part in first_state)
                self._step({key: each[:, chosen] for key, each in rows.items()}, batch, state)
        return self.work.batch_steps

    @torch.no_grad()
    def _rollout(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Prepared observations and the other columns, [T, N] each; `value` has one row more."""
        rows, found = [], []
        for _ in range(self.work.unroll):
            rows.append(self.next_rows)
            first = self.next_first
            logits, value, self.state = self.policy(self._one(self.next_rows), first[None], self.state)
            chances = Categorical(logits=logits[0])
            action = chances.sample()
            step = self.envs.step(action.numpy())
            self.next_rows = self._prepare(step.observations)
            self.next_first = torch.from_numpy(step.terminated | step.truncated)
            reward = torch.from_numpy(step.reward.copy())
            found.append((first, action, chances.log_prob(action), value[0], reward, self.next_first))
        _, last_value, _ = self.policy(self._one(self.next_rows), self.next_first[None], self.state)
        names = ("first", "action", "log_prob", "value", "reward", "done")
        columns = dict(zip(names, map(torch.stack, zip(*found, strict=True)), strict=True))
        columns["value"] = torch.cat([columns["value"], last_value])
        return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}, columns

    def _step(self, rows: dict[str, Tensor], batch: dict[str, Tensor], state: tuple[Tensor, ...]) -> None:
        """One gradient step on the clipped surrogate objective."""
        logits, value, _ = self.policy(rows, batch["first"], state)
        chances = Categorical(logits=logits)
        ratio = (chances.log_prob(batch["action"]) - batch["log_prob"]).exp()
        clipped = ratio.clamp(1 - self.work.clip, 1 + self.work.clip)
        policy_loss = -torch.min(ratio * batch["advantage"], clipped * batch["advantage"]).mean()
        value_loss = 0.5 * (batch["target"] - value).square().mean()
        loss = policy_loss + self.work.value * value_loss - self.work.entropy * chances.entropy().mean()
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.work.grad_clip)
        self.optimiser.step()

    def _prepare(self, observations: dict) -> dict[str, Tensor]:
        return self.policy.encoder.prepare_rows({key: torch.from_numpy(each) for key, each in observations.items()})

    @staticmethod
    def _one(rows: dict[str, Tensor]) -> dict[str, Tensor]:
        return {key: each[None] for key, each in rows.items()}


def gae(reward: Tensor, value: Tensor, done: Tensor, gamma: float, decay: float) -> Tensor:
    """Advantages [T, N] from rewards and `done` [T, N] and values [T + 1, N]."""
    advantage, after = torch.empty_like(reward), torch.zeros_like(reward[0])
    for t in range(len(reward) - 1, -1, -1):
        going = (~done[t]).to(reward.dtype)
        delta = reward[t] + gamma * value[t + 1] * going - value[t]
        advantage[t] = after = delta + gamma * decay * going * after
    return advantage


def main() -> None:
    """Train as long as asked."""
    torch.set_num_threads(1)
    work, _ = work_from_command_line()
    loop, turns, steps = PlainLoop(work), Turns(work.batch_steps), 0
    while turns.go_on(steps):
        steps += loop.update()


if __name__ == "__main__":
    main()
