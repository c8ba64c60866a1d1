"""Named sets of numbers, each with its source.

`habitat` and `montezuma` are the paper's. `laptop` (MiniHack) and `laptop-pixels` (small pictures) are the same
algorithm made for two cores; their numbers are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bonuslab.algorithms.ddppo.config import DDPPOConfig


@dataclass(frozen=True)
class Preset:
    """All numbers of DD-PPO. Sources are given for `habitat`; the others give theirs below."""

    network: str = "resnet50"
    """Network family of the policy. Paper, appendix Habitat, Architecture Details."""
    recurrent: bool = True
    """LSTM policy. Same place."""
    bonus_network: str | None = None
    """Network family of the bonus's models; None: the policy's. Same place."""
    learning_rate: float = 2.5e-4
    """Paper, table Common PPO/DD-PPO Hyperparameters for Habitat."""
    adam_epsilon: float = 1e-5
    """Paper, same table."""
    unroll_length_steps: int = 128
    """Steps of a rollout. Paper, same table."""
    envs_per_batch: int = 4
    """Environments of each worker. REFERENCE.md: 4 a GPU."""
    max_gradient_norm: float = 0.2
    """Paper, same table."""
    entropy_cost: float = 5e-5
    """Paper, same table; the released script has 5e-6."""
    baseline_cost: float = 0.5
    """Of ½ (R − V)². Paper, same table."""
    discount: float = 0.99
    """Paper, same table."""
    trace_decay: float = 0.95
    """GAE's λ; the table calls it τ. Paper, same table."""
    passes: int = 2
    """Passes over each rollout. Paper, same table."""
    minibatches: int = 2
    """Groups of environments a pass is split into. Paper, same table."""
    policy_clip: float = 0.2
    """Paper, same table."""
    value_clip: float | None = 0.2
    """Habitat's baselines clip values by default, as we remember them; the paper's table does not say."""
    normalise_advantages: bool = False
    """Paper, same table."""
    num_values: int = 1
    """Value heads; with 2 extrinsic and intrinsic returns are apart. One: Habitat has no extrinsic reward."""
    intrinsic_discount: float = 0.99
    """γ of the second head."""
    intrinsic_episodic: bool = False
    """Whether the second head's returns end with the episode."""
    extrinsic_advantage: float = 1.0
    """Weight of the first head's advantage, where there are two."""
    intrinsic_advantage: float = 1.0
    """Weight of the second head's advantage."""
    normalise: Literal["std", "reference", "return", "none"] = "none"
    """How the bonus is normalised. REFERENCE.md: not at all."""
    coefficient: float = 0.1
    """β. Paper, tables of E3B, RND and ICM on Habitat; the released script has 0.01."""
    bonus_updates: int = 3
    """Updates of the bonus's models a rollout. Paper, tables of E3B and RND on Habitat; the released script has 0."""
    reward_clip: float | None = None
    """Clip of the total reward, of the extrinsic one where there are two heads. REFERENCE.md names none."""
    warm_up_steps: int = 0
    """Random steps in each environment that observation normalisers see before training."""
    sync_fraction: float = 0.6
    """Share of the workers that the others are not waited for beyond. Paper, same table."""
    shortest_rollout: float = 0.25
    """Share of a rollout that even a straggler collects. Wijmans et al. (2020)."""
    total_env_steps: int = 225_000_000
    """Paper, appendix Habitat, Compute Details."""
    evaluation_episodes: int = 100
    """Of an evaluation on held-out contexts, played greedily and again sampled. Ours."""

    def configure(self, config: DDPPOConfig) -> DDPPOConfig:
        """Set these numbers in an RLlib configuration."""
        config.training(
            lr=self.learning_rate,
            gamma=self.discount,
            grad_clip=self.max_gradient_norm,
            num_epochs=self.passes,
            num_minibatches=self.minibatches,
            **{name: getattr(self, name) for name in _SAME_NAME},
        )
        config.env_runners(
            rollout_fragment_length=self.unroll_length_steps, num_envs_per_env_runner=self.envs_per_batch
        )
        config.evaluation(evaluation_duration=self.evaluation_episodes)
        return config.bonus(
            normalise=self.normalise,
            coefficient=self.coefficient,
            updates=self.bonus_updates,
            reward_clip=self.reward_clip,
            network=self.bonus_network or self.network,
        )


_SAME_NAME = (
    "network",
    "recurrent",
    "adam_epsilon",
    "entropy_cost",
    "baseline_cost",
    "trace_decay",
    "policy_clip",
    "value_clip",
    "normalise_advantages",
    "num_values",
    "intrinsic_discount",
    "intrinsic_episodic",
    "extrinsic_advantage",
    "intrinsic_advantage",
    "warm_up_steps",
    "sync_fraction",
    "shortest_rollout",
)

HABITAT = Preset()
# Paper, table Hyperparameters for PPO+RND on Montezuma's Revenge, unless said otherwise.
MONTEZUMA = Preset(
    network="atari",
    recurrent=False,  # paper, appendix Montezuma: convolutions and an MLP
    learning_rate=1e-4,
    adam_epsilon=1e-8,  # Adam's own; the table's "StableEps" is the same number
    unroll_length_steps=128,
    envs_per_batch=128,
    max_gradient_norm=0.5,
    entropy_cost=1e-3,
    baseline_cost=1.0,  # the code it builds on: 0.5 × the squared error; ours is of half the squared error
    discount=0.999,
    trace_decay=0.95,
    passes=4,
    minibatches=4,
    policy_clip=0.1,
    value_clip=None,  # the code it builds on, as we remember it
    num_values=2,  # REFERENCE.md
    intrinsic_discount=0.99,
    intrinsic_episodic=False,  # REFERENCE.md
    extrinsic_advantage=2.0,
    intrinsic_advantage=1.0,
    normalise="return",  # REFERENCE.md
    coefficient=1.0,
    bonus_updates=4,  # one a pass; the code it builds on, as we remember it, takes four smaller steps a pass
    reward_clip=1.0,  # the code it builds on, as we remember it
    warm_up_steps=50 * 128,  # ObsNormStep × rollout length
    total_env_steps=200_000_000,  # ours: the appendix gives none
    evaluation_episodes=32,
)
# All of these are ours; they started from a prototype (PPO, T = 32, 64 envs, Adam 1e-3, 3 passes) that solved such
# tasks, and from the scale of the bonus that IMPALA's `laptop` preset was given.
LAPTOP = replace(
    HABITAT,
    network="small",
    learning_rate=1e-3,
    unroll_length_steps=32,
    envs_per_batch=32,
    max_gradient_norm=0.5,
    entropy_cost=0.005,
    passes=3,
    minibatches=4,
    value_clip=None,
    normalise_advantages=True,
    normalise="std",
    coefficient=0.015,
    bonus_updates=1,
    reward_clip=1.0,
    total_env_steps=300_000,
    evaluation_episodes=32,
)
# Ours: `habitat` with a small network, more environments in each worker and a larger learning rate.
LAPTOP_PIXELS = replace(
    HABITAT,
    network="pixels-small",
    learning_rate=5e-4,
    unroll_length_steps=64,
    envs_per_batch=16,
    max_gradient_norm=0.5,
    entropy_cost=1e-3,
    value_clip=None,
    total_env_steps=200_000,
)
PRESETS = {"habitat": HABITAT, "montezuma": MONTEZUMA, "laptop": LAPTOP, "laptop-pixels": LAPTOP_PIXELS}
