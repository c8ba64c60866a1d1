"""DD-PPO's hyperparameters and presets.

`habitat` and `montezuma` are the paper's. `laptop` (MiniHack) and `laptop-pixels` (small images) are for two cores.
"""

from __future__ import annotations

from dataclasses import dataclass

from bonuslab.algorithms.rllib.hyperparameters import Hyperparameters, hyperparameter, preset

_TABLE = "paper, table Common PPO/DD-PPO Hyperparameters for Habitat"
_MONTEZUMA = "paper, table Hyperparameters for PPO+RND on Montezuma's Revenge"
_TWO_HEADS = "used with two value heads"


@dataclass(frozen=True, kw_only=True)
class DDPPOHyperparameters(Hyperparameters):
    """Hyperparameters of PPO and of the synchronisation of workers."""

    clip_param: float = hyperparameter(0.2, "ε of PPO's clipped objective", _TABLE, above=0)
    vf_clip_param: float | None = hyperparameter(
        0.2,
        "ε of PPO's clipped value loss; none: not clipped",
        "Habitat's baselines",
        above=0,
    )
    num_values: int = hyperparameter(
        1,
        "value heads; 2: separate extrinsic and intrinsic returns",
        "Habitat: no extrinsic reward",
        low=1,
        high=2,
    )
    intrinsic_gamma: float = hyperparameter(0.99, "discount factor of the second head", _TWO_HEADS, high=1)
    intrinsic_episodic: bool = hyperparameter(False, "whether intrinsic returns end with the episode", _TWO_HEADS)
    extrinsic_advantage_coeff: float = hyperparameter(1.0, "weight of the extrinsic advantage", _TWO_HEADS)
    intrinsic_advantage_coeff: float = hyperparameter(1.0, "weight of the intrinsic advantage", _TWO_HEADS)
    warm_up_steps: int = hyperparameter(
        0, "random steps per env to initialise observation normalisers", "Habitat: none"
    )
    sync_fraction: float = hyperparameter(
        0.6, "fraction of workers with a full rollout at which all stop", "paper, same table", high=1
    )
    shortest_rollout: float = hyperparameter(
        0.25, "minimum fraction of a rollout before preemption", "Wijmans et al. (2020)", high=1
    )
    longest_rollout: float = hyperparameter(
        1.0,
        "length, in rollouts, to which fast workers go on instead of waiting; 1.5 with sync_fraction 0.85 scales best",
        "Wijmans et al. (2020): they wait",
        low=1,
        high=4,
    )


HABITAT = preset(
    "habitat",
    "the paper's Habitat runs",
    DDPPOHyperparameters(),
    _TABLE,
    {
        "network": "paper, appendix Habitat, Architecture Details; inputs: released code",
        "bonus_network": "paper, appendix Habitat, Architecture Details; last layers: released code",
        "bonus_variant": "released code: first step paid, RND at s_t, whole networks, 2.5e-4, one step per update",
        "bonus_grad_clip": "released code: as PPO's",
        "num_envs_per_env_runner": "released code: 4 per GPU",
        "entropy_coeff": f"{_TABLE}; the released script has 5e-6",
        "normalise": "released code: none",
        "coefficient": "paper, tables of E3B, RND and ICM on Habitat; the released script has 0.01",
        "bonus_updates": "paper, tables of E3B and RND on Habitat; the released script has 0",
        "reward_clip": "released code: none",
        "total_env_steps": "paper, appendix Habitat, Compute Details",
        "evaluation_duration": "ours",
    },
    network="resnet50",
    bonus_network="resnet50-bonus",
    bonus_variant="habitat",
    bonus_grad_clip=0.2,
    optimiser="adam",
    lr=2.5e-4,
    adam_epsilon=1e-5,
    rollout_fragment_length=128,
    num_envs_per_env_runner=4,
    grad_clip=0.2,
    entropy_coeff=5e-5,
    lambda_=0.95,
    num_epochs=2,
    num_minibatches=2,
    normalise="none",
    coefficient=0.1,
    bonus_updates=3,
    reward_clip=None,
    total_env_steps=225_000_000,
    evaluation_duration=100,
)
MONTEZUMA = preset(
    "montezuma",
    "the paper's runs on Montezuma's Revenge",
    HABITAT,
    _MONTEZUMA,
    {
        "network": "paper, appendix Montezuma: convolutions and an MLP",
        "recurrent": "paper, appendix Montezuma: convolutions and an MLP",
        "adam_epsilon": "PyTorch's default; the table's StableEps is the same value",
        "vf_loss_coeff": "jcwleo's RND, agents.py: 0.5 × the squared error; ours is of half the squared error",
        "vf_clip_param": "jcwleo's RND, agents.py: none",
        "num_values": "jcwleo's RND, train.py",
        "normalise": "jcwleo's RND, train.py",
        "bonus_network": "unused: the atari bonuses have networks of their own",
        "bonus_variant": "ours: the bonuses of this preset name all that differs",
        "bonus_grad_clip": "ClipGradNorm of the table",
        "bonus_updates": "jcwleo's RND, agents.py: 4 epochs of 4 minibatches",
        "reward_clip": "jcwleo's RND, train.py",
        "warm_up_steps": f"{_MONTEZUMA}: ObsNormStep × rollout length",
        "total_env_steps": "ours: the appendix gives none",
        "evaluation_duration": "ours",
    },
    network="atari",
    bonus_network=None,
    bonus_variant="ours",
    bonus_grad_clip=0.5,
    recurrent=False,
    lr=1e-4,
    adam_epsilon=1e-8,
    num_envs_per_env_runner=128,
    grad_clip=0.5,
    entropy_coeff=1e-3,
    vf_loss_coeff=1.0,
    gamma=0.999,
    num_epochs=4,
    num_minibatches=4,
    clip_param=0.1,
    vf_clip_param=None,
    num_values=2,
    extrinsic_advantage_coeff=2.0,
    normalise="return",
    coefficient=1.0,
    bonus_updates=16,
    reward_clip=1.0,
    warm_up_steps=50 * 128,
    total_env_steps=200_000_000,
    evaluation_duration=32,
)
LAPTOP = preset(
    "laptop",
    "small MiniHack tasks on two cores",
    HABITAT,
    "ours, from a prototype (PPO, T = 32, 64 envs, Adam 1e-3, 3 epochs) and the scale of IMPALA's `laptop`",
    network="auto",
    bonus_network=None,
    bonus_variant="ours",
    bonus_grad_clip=40.0,
    bootstrap_truncated=True,
    lr=1e-3,
    rollout_fragment_length=32,
    num_envs_per_env_runner=32,
    grad_clip=0.5,
    entropy_coeff=0.005,
    num_epochs=3,
    num_minibatches=4,
    vf_clip_param=None,
    normalise_advantages=True,
    normalise="std",
    coefficient=0.015,
    bonus_updates=1,
    reward_clip=1.0,
    total_env_steps=300_000,
    evaluation_duration=32,
)
LAPTOP_PIXELS = preset(
    "laptop-pixels",
    "small images on two cores",
    HABITAT,
    "ours: `habitat` with a small network, more envs per worker and a larger learning rate",
    network="pixels-small",
    bonus_network=None,
    bonus_variant="ours",
    bonus_grad_clip=40.0,
    bootstrap_truncated=True,
    lr=5e-4,
    rollout_fragment_length=64,
    num_envs_per_env_runner=16,
    grad_clip=0.5,
    entropy_coeff=1e-3,
    vf_clip_param=None,
    total_env_steps=200_000,
)
_IMPALA = "as IMPALA's preset of this name"
CLASSIC = preset(
    "classic",
    "Gymnasium environments with dense rewards, such as CartPole",
    LAPTOP,
    _IMPALA,
    num_epochs=4,
    num_minibatches=2,
    entropy_coeff=0.0,
    vf_loss_coeff=0.005,
    total_env_steps=500_000,
    reward_clip=None,
)
MINIGRID = preset(
    "minigrid",
    "MiniGrid and BabyAI on two cores",
    LAPTOP,
    _IMPALA,
    lr=5e-4,
    entropy_coeff=0.0005,
    coefficient=0.002,
    total_env_steps=1_000_000,
)
PRESETS = {found.name: found for found in (HABITAT, MONTEZUMA, LAPTOP, LAPTOP_PIXELS, CLASSIC, MINIGRID)}
