"""Serial mode: reproducible to the last bit, also across a checkpoint, with every normaliser, and without Ray."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.ddppo.algorithm import DDPPO
from bonuslab.algorithms.learning.checkpoint import DamagedCheckpoint

ENVS, STEPS = 2, 8
BONUS = "e3b * rnd + count.episodic(position)"


def parameters(algorithm: DDPPO) -> dict[str, np.ndarray]:
    weights = algorithm.learner_group.get_weights()["default_policy"]
    return {name: np.array(value) for name, value in weights.items()}


def same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def train(algorithm: DDPPO, updates: int) -> DDPPO:
    for _ in range(updates):
        algorithm.train()
    return algorithm


def serial(make_config, seed: int = 0):
    config = make_config(BONUS, envs=ENVS, steps=STEPS).training(num_values=2, extrinsic_advantage_coeff=2.0)
    return config.bonus(normalise="return", bonus_updates=3).run_serially().debugging(seed=seed)


def moments(algorithm: DDPPO) -> dict:
    """Normalisers of the bonus, and how far each environment's discounted sum has come."""
    return {name: made.state_dict() for name, made in algorithm.env_runner.model._normalisers.items()}


def test_same_seed_same_parameters_also_across_a_checkpoint(make_config, running, tmp_path):
    straight = train(running(serial(make_config)), 8)
    halfway, normalisers = parameters(straight), moments(straight)
    path = straight.save_to_path(tmp_path / "checkpoint")
    train(straight, 8)
    assert straight.env_steps == 16 * ENVS * STEPS
    assert not same(halfway, parameters(straight))

    again = train(running(serial(make_config)), 16)
    assert same(parameters(again), parameters(straight))
    other = train(running(serial(make_config, seed=1)), 1)
    assert not same(parameters(other), parameters(train(running(serial(make_config)), 1)))

    restored = DDPPO.from_checkpoint(path)
    assert same(parameters(restored), halfway)
    assert moments(restored) == normalisers
    assert normalisers["combined bonus"]["count"] == 8 * ENVS * STEPS
    assert len(normalisers["combined bonus"]["sums"]) == ENVS
    train(restored, 8)
    assert same(parameters(restored), parameters(straight))
    assert moments(restored) == moments(straight)
    assert restored.iteration == straight.iteration == 16
    assert restored.env_steps == straight.env_steps
    restored.stop()


def test_a_checkpoint_goes_into_an_algorithm_that_has_trained(make_config, running, tmp_path):
    algorithm = train(running(serial(make_config)), 2)
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    train(algorithm, 2)
    after = parameters(algorithm)
    algorithm.restore_from_path(path)
    assert same(parameters(train(algorithm, 2)), after)


def test_random_play_comes_before_training_and_once(make_config, running, monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr(IntrinsicModel, "warms_up", True)
    monkeypatch.setattr(IntrinsicModel, "warm_up", lambda model, fragment: shown.append(fragment))
    config = make_config("none", envs=ENVS, steps=STEPS).training(warm_up_steps=20).run_serially()
    algorithm = train(running(config), 2)
    assert [fragment.action.shape for fragment in shown] == [(STEPS, ENVS)] * 3
    assert not any(fragment.behaviour_logits.any() for fragment in shown)
    assert algorithm.env_steps == 2 * ENVS * STEPS
    algorithm.restore_from_path(algorithm.save_to_path(tmp_path / "checkpoint"))
    train(algorithm, 1)
    assert len(shown) == 3


PROGRAM = """
import sys, ray
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import LAPTOP
from bonuslab.algorithms.ddppo.algorithm import DDPPO
config = DDPPOConfig().environment("MultiRoom-N2-S4").apply(LAPTOP.values)
config.env_runners(num_envs_per_env_runner=4, rollout_fragment_length=8)
config.evaluation(evaluation_interval=1, evaluation_duration=2)
algorithm = config.bonus("e3b").run_serially().build_algo()
algorithm.train()
restored = DDPPO.from_checkpoint(algorithm.save_to_path(sys.argv[1]))
restored.train()
algorithm.stop()
restored.stop()
print("ray", ray.is_initialized())
"""


@pytest.mark.slow
def test_it_starts_no_ray(tmp_path):
    """In a process of its own: here Ray may run for other tests."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["ray False"], done.stderr[-3000:]


def test_a_damaged_checkpoint_is_refused(make_config, running, tmp_path):
    path = running(serial(make_config)).save_to_path(tmp_path / "checkpoint")
    victim = max((file for file in (tmp_path / "checkpoint").rglob("*.pkl")), key=lambda file: file.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(DamagedCheckpoint, match="does not match its checksum"):
        DDPPO.from_checkpoint(path)


def test_errors_are_the_users_own(make_config, running):
    algorithm = train(running(serial(make_config)), 1)
    algorithm.env_runner.module.network.value_head.weight.data.fill_(float("nan"))
    with pytest.raises(NonFinite, match="is not finite"):
        algorithm.train()


@pytest.mark.parametrize("bonus", ["none", "e3b(encoder=policy)", "agac", "ngu * noveld", "elliptical.global"])
def test_bonuses_of_every_kind_train(make_config, running, bonus):
    config = make_config(bonus, envs=ENVS).run_serially()
    results = train(running(config), 2).train()
    assert np.isfinite(results["learners"]["default_policy"]["policy_loss"])
    assert results["bonus"]["bonus/mean"] == 0 if bonus == "none" else results["bonus"]["bonus/mean"] > 0
