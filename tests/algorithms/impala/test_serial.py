"""Serial mode: reproducible to the last bit, also across a checkpoint, and without Ray."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.impala.algorithm import IMPALA
from bonuslab.algorithms.impala.learner import IMPALALearner
from bonuslab.algorithms.learning.checkpoint import DamagedCheckpoint

ENVS = 2
BONUS = "e3b * rnd + count.episodic(position)"


def parameters(algorithm: IMPALA) -> dict[str, np.ndarray]:
    weights = algorithm.learner_group.get_weights()["default_policy"]
    return {name: np.array(value) for name, value in weights.items()}


def same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def train(algorithm: IMPALA, updates: int) -> IMPALA:
    for _ in range(updates):
        algorithm.train()
    return algorithm


def serial(make_config, seed: int = 0):
    return make_config(BONUS, envs=ENVS).run_serially().debugging(seed=seed)


def test_same_seed_same_parameters_also_across_a_checkpoint(make_config, running, tmp_path):
    straight = train(running(serial(make_config)), 25)
    halfway = parameters(straight)
    path = straight.save_to_path(tmp_path / "checkpoint")
    train(straight, 25)
    assert straight.env_steps == 50 * ENVS * 8
    assert not same(halfway, parameters(straight))

    again = train(running(serial(make_config)), 50)
    assert same(parameters(again), parameters(straight))

    restored = IMPALA.from_checkpoint(path)
    assert same(parameters(restored), halfway)
    train(restored, 25)
    assert same(parameters(restored), parameters(straight))
    assert restored.iteration == straight.iteration == 50
    assert restored.env_steps == straight.env_steps
    restored.stop()


def test_another_seed_gives_other_parameters(make_config, running):
    ours, theirs = (parameters(train(running(serial(make_config, seed)), 2)) for seed in (0, 1))
    assert not same(ours, theirs)


PROGRAM = """
import sys, ray
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import LAPTOP
from bonuslab.algorithms.impala.algorithm import IMPALA
from bonuslab.algorithms.impala.learner import IMPALALearner
config = IMPALAConfig().environment("MultiRoom-N2-S4").apply(LAPTOP.values)
config.env_runners(num_envs_per_env_runner=4, rollout_fragment_length=8)
config.evaluation(evaluation_interval=1, evaluation_duration=2)
algorithm = config.bonus("e3b").run_serially().build_algo()
algorithm.train()
restored = IMPALA.from_checkpoint(algorithm.save_to_path(sys.argv[1]))
restored.train()
algorithm.stop()
restored.stop()
print("ray", ray.is_initialized())
"""


def test_it_starts_no_ray(tmp_path):
    """In a process of its own: here Ray may run for other tests."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["ray False"], done.stderr[-3000:]


def test_a_damaged_checkpoint_is_refused(make_config, running, tmp_path):
    path = running(serial(make_config)).save_to_path(tmp_path / "checkpoint")
    victim = max((file for file in (tmp_path / "checkpoint").rglob("*.pkl")), key=lambda file: file.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    with pytest.raises(DamagedCheckpoint, match=f"damaged: .*{victim.name} does not match its checksum"):
        IMPALA.from_checkpoint(path)
    victim.unlink()
    with pytest.raises(DamagedCheckpoint, match=f"{victim.name} is missing"):
        IMPALA.from_checkpoint(path)


def test_an_unfinished_checkpoint_is_refused(make_config, running, tmp_path):
    path = running(serial(make_config)).save_to_path(tmp_path / "checkpoint")
    (tmp_path / "checkpoint" / "bonuslab_manifest.json").unlink()
    with pytest.raises(DamagedCheckpoint, match="writing was cut short"):
        IMPALA.from_checkpoint(path)


def test_weights_that_become_nan_are_named(make_config, running):
    algorithm = train(running(serial(make_config)), 1)
    algorithm.learner_group.foreach_learner(
        lambda learner: learner.module["default_policy"].network.value_head.weight.data.fill_(float("nan"))
    )
    with pytest.raises(NonFinite, match="value is not finite"):
        algorithm.train()


def test_an_exception_in_the_loss_is_the_users(make_config, running):
    class Haunted(IMPALALearner):
        def compute_loss_for_module(self, **given):
            if self._weights_seq_no == 2:
                raise LookupError("the loss is haunted")
            return super().compute_loss_for_module(**given)

    algorithm = running(serial(make_config).training(learner_class=Haunted))
    train(algorithm, 2)
    with pytest.raises(LookupError, match=r"^the loss is haunted$"):
        algorithm.train()


def test_a_bonus_that_becomes_infinite_is_named_and_the_last_checkpoint_stays_good(make_config, running, tmp_path):
    algorithm = train(running(serial(make_config)), 1)
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    model = algorithm.bonus._bonus._pipeline.connectors[-1].model
    model.coefficient = float("inf")
    with pytest.raises(NonFinite, match=r"^bonus is not finite"):
        algorithm.train()
    restored = IMPALA.from_checkpoint(path)
    train(restored, 1)
    assert restored.env_steps == 2 * ENVS * 8
    restored.stop()
