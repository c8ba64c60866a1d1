"""DD-PPO's presets and resource layouts."""

from __future__ import annotations

import pytest

from bonuslab.algorithms import catalogue
from bonuslab.algorithms.ddppo.algorithm import DDPPO
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import PRESETS
from bonuslab.envs.errors import InvalidInput


@pytest.mark.parametrize("name", PRESETS)
def test_every_value_reaches_the_config(name):
    values = PRESETS[name].values
    fitting = {"habitat": "Apartments-64", "laptop-pixels": "Apartments-64", "montezuma": "Montezuma"}
    config = DDPPOConfig().environment(fitting.get(name, "MultiRoom-N2")).apply(values)
    config.validate()
    assert config.hyperparameters == values


def test_the_default_is_the_papers_for_habitat():
    assert DDPPOConfig().hyperparameters == PRESETS["habitat"].values


def test_montezuma_has_two_value_heads():
    values = PRESETS["montezuma"].values
    assert (values.gamma, values.intrinsic_gamma) == (0.999, 0.99)
    assert (values.extrinsic_advantage_coeff, values.intrinsic_advantage_coeff) == (2.0, 1.0)
    assert not values.intrinsic_episodic
    assert values.normalise == "return"


@pytest.mark.parametrize(
    ("name", "cpus", "gpus", "workers", "cores", "gpus_each"),
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
def test_resources(name, cpus, gpus, workers, cores, gpus_each):
    resources = catalogue.find("ddppo").choose_resources(name, cpus, gpus)
    assert (resources.num_workers, resources.cpus_per_worker, resources.gpus_per_worker) == (workers, cores, gpus_each)
    config = resources.configure(DDPPOConfig().environment("Apartments-64"))
    needed = DDPPO.default_resource_request(config.to_dict()).required_resources
    assert needed.get("CPU", 0) == workers * cores
    assert needed.get("GPU", 0) == workers * gpus_each
    assert config.threads_per_learner == cores


def test_unknown_names_get_a_suggestion():
    with pytest.raises(InvalidInput, match="unknown algorithm 'ppo'; did you mean ddppo"):
        catalogue.find("ppo")
    with pytest.raises(InvalidInput, match="unknown preset of ddppo 'habitt'; did you mean habitat"):
        catalogue.find("ddppo").preset("habitt")
    with pytest.raises(InvalidInput, match="unknown hyperparameter 'clip_parm'; did you mean clip_param"):
        PRESETS["habitat"].values.changed(clip_parm=0.1)
