"""Presets and resource plans: the paper's numbers, and what a machine gets."""

from __future__ import annotations

import dataclasses

import pytest

from bonuslab.algorithms.ddppo.algorithm import DDPPO
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.presets import PRESETS
from bonuslab.algorithms.ddppo.resources import choose_plan
from bonuslab.algorithms.rllib import catalogue
from bonuslab.envs.errors import InvalidInput


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_reaches_the_configuration(name):
    numbers = PRESETS[name]
    config = numbers.configure(DDPPOConfig().environment("MultiRoom-N2"))
    config.validate()
    assert (config.lr, config.gamma, config.grad_clip) == (
        numbers.learning_rate,
        numbers.discount,
        numbers.max_gradient_norm,
    )
    assert (config.num_epochs, config.num_minibatches) == (numbers.passes, numbers.minibatches)
    assert config.rollout_fragment_length == numbers.unroll_length_steps
    assert config.num_envs_per_env_runner == numbers.envs_per_batch
    assert config.bonus_config.updates == numbers.bonus_updates
    assert config.evaluation_duration == numbers.evaluation_episodes
    assert config.bonus_config.network == numbers.network
    same = {item.name for item in dataclasses.fields(numbers)} & set(vars(config))
    assert len(same) >= 17
    for item in same - {"normalise", "coefficient"}:
        assert getattr(config, item) == getattr(numbers, item), item


def test_two_heads_of_montezuma():
    config = PRESETS["montezuma"].configure(DDPPOConfig())
    settings = config.return_settings()
    assert (settings.discount, settings.intrinsic_discount) == (0.999, 0.99)
    assert (settings.extrinsic_advantage, settings.intrinsic_advantage) == (2.0, 1.0)
    assert not settings.intrinsic_episodic
    assert config.bonus_config.normalise == "return"


@pytest.mark.parametrize(
    ("name", "cpus", "gpus", "workers", "cores", "share"),
    [
        ("cluster", 320, 32, 32, 10, 1.0),
        ("cluster", 64, 32, 32, 2, 1.0),
        ("cluster", 64, 0, 64, 1, 0.0),
        ("workstation", 16, 2, 2, 8, 1.0),
        ("workstation", 8, 0, 8, 1, 0.0),
        ("laptop", 2, 0, 2, 1, 0.0),
        ("laptop", 1, 0, 1, 1, 0.0),
        ("auto", 2, 0, 2, 1, 0.0),
    ],
)
def test_plans(name, cpus, gpus, workers, cores, share):
    plan = choose_plan(name, cpus, gpus)
    assert (plan.num_workers, plan.cpus_per_worker, plan.gpus_per_worker) == (workers, cores, share)
    config = plan.configure(PRESETS["habitat"].configure(DDPPOConfig().environment("MultiRoom-N2")))
    needed = DDPPO.default_resource_request(config.to_dict()).required_resources
    assert needed.get("CPU", 0) == workers * cores
    assert needed.get("GPU", 0) == workers * share
    assert config.threads_per_learner == cores


def test_the_catalogue_names_what_is_unknown():
    with pytest.raises(InvalidInput, match="unknown algorithm 'ppo'; did you mean ddppo"):
        catalogue.find("ppo")
    with pytest.raises(InvalidInput, match="unknown preset of ddppo 'habitt'; did you mean habitat"):
        catalogue.find("ddppo").preset("habitt", {})
    with pytest.raises(InvalidInput, match="unknown setting of ddppo 'policy_clp'"):
        catalogue.find("ddppo").preset("habitat", {"policy_clp": 0.1})
    assert catalogue.find("ddppo").preset("habitat", {"policy_clip": 0.3}).policy_clip == 0.3
