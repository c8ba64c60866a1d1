"""Evaluation: full episodes on held-out contexts, greedy and sampled, without a bonus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bonuslab.algorithms.acting.rollout import sample
from bonuslab.algorithms.networks import PolicyNetwork
from bonuslab.envs.catalogue import make_held_out_vector_env
from bonuslab.envs.vector_env import FinishedEpisode, VectorEnv

EVALUATION_ENVS = 16
MODES = ("greedy", "sampled")


@dataclass(frozen=True)
class Evaluation:
    """The episodes of one evaluation."""

    episodes: list[FinishedEpisode]

    def metrics(self) -> dict[str, float]:
        """Means over the episodes, including the environment's own metrics."""
        shared = set.intersection(*(set(episode.metrics) for episode in self.episodes))
        seen: dict[str, set[int]] = {}
        add_seen(seen, self.episodes)
        returns = np.array([episode.total_reward for episode in self.episodes])
        return {
            "episode_return_mean": float(returns.mean()),
            "episode_return_std": float(returns.std()),
            "episode_len_mean": float(np.mean([episode.length for episode in self.episodes])),
            "win_rate": float(np.mean([episode.end_status == "won" for episode in self.episodes])),
            "num_episodes": float(len(self.episodes)),
            **{
                name: float(np.mean([episode.metrics[name] for episode in self.episodes]))
                for name in self.episodes[0].metrics
                if name in shared
            },
            **{f"{name}_ever": float(len(found)) for name, found in seen.items()},
        }


def add_seen(total: dict[str, set[int]], episodes: Iterable[Any]) -> None:
    """Add what the vector envs of finished episodes had `seen`, which may overlap."""
    for episode in episodes:
        for name, seen in episode.seen.items():
            total.setdefault(name, set()).update(seen)


@torch.inference_mode()
def evaluate(network: PolicyNetwork, envs: VectorEnv, num_episodes: int, greedy: bool, seed: int) -> Evaluation:
    """Play `num_episodes` episodes, split evenly among the envs.

    Each env contributes its first episodes: the first to finish overall would be biased towards short ones.
    """
    share = -(-num_episodes // envs.num_envs)
    remaining = [min(share, num_episodes - share * env_index) for env_index in range(envs.num_envs)]
    random = torch.Generator().manual_seed(seed)
    observations: dict[str, Any] = envs.reset()
    first = np.ones(envs.num_envs, bool)
    state = network.initial_state(envs.num_envs)
    done: list[FinishedEpisode] = []
    while any(count > 0 for count in remaining):
        tensors = {key: torch.from_numpy(rows) for key, rows in observations.items()}
        output = network.act(tensors, torch.from_numpy(first), state)
        state = output.state
        action = output.logits.argmax(-1) if greedy else sample(output.logits, random)
        step = envs.step(action.numpy())
        observations, first = step.observations, step.terminated | step.truncated
        for episode in step.finished:
            if remaining[episode.env_index] > 0:
                done.append(episode)
            remaining[episode.env_index] -= 1
    return Evaluation(done)


def evaluate_modes(network: PolicyNetwork, config: Any, episodes: int, seed: int) -> dict[str, dict[str, float]]:
    """Metrics of a greedy and a sampled evaluation on the same held-out contexts."""
    results = {}
    for mode in MODES:
        settings = {**config.env_config, "seed": seed}
        envs = make_held_out_vector_env(config.env, min(EVALUATION_ENVS, episodes), **settings)
        try:
            results[mode] = evaluate(network, envs, episodes, greedy=mode == "greedy", seed=seed).metrics()
        finally:
            envs.close()
    return results
