"""Serial mode: bit-for-bit reproducible, also across a checkpoint, and without Ray."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bonuslab.algorithms.catalogue import ALGORITHMS, find
from bonuslab.algorithms.learning.checkpoint import DamagedCheckpoint
from bonuslab.algorithms.rllib.config import FragmentConfig

ENVS, STEPS = 2, 8
BONUS = "e3b * rnd + count.episodic(position)"


def serial(name: str, seed: int = 0) -> FragmentConfig:
    entry = find(name)
    config = entry.config().environment("MultiRoom-N2-S4", env_config={"contexts": "inf"})
    config.apply(entry.preset("laptop").values).training(num_epochs=2, num_minibatches=2)
    config.env_runners(num_envs_per_env_runner=ENVS, rollout_fragment_length=STEPS)
    if name == "ddppo":
        config.training(num_values=2, extrinsic_advantage_coeff=2.0).bonus(normalise="return", bonus_updates=3)
    return config.bonus(BONUS).run_serially().debugging(seed=seed)


def train(algorithm: Any, updates: int) -> Any:
    for _ in range(updates):
        algorithm.train()
    return algorithm


def parameters(algorithm: Any) -> dict[str, np.ndarray]:
    weights = algorithm.learner_group.get_weights()["default_policy"]
    return {name: np.array(value) for name, value in weights.items()}


def same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_same_seed_same_parameters_also_across_a_checkpoint(name: str, running: Any, tmp_path: Path) -> None:
    straight = train(running(serial(name)), 8)
    halfway = parameters(straight)
    path = straight.save_to_path(tmp_path / "checkpoint")
    train(straight, 8)
    assert straight.env_steps == 16 * ENVS * STEPS
    assert not same(halfway, parameters(straight))

    again = train(running(serial(name)), 16)
    assert same(parameters(again), parameters(straight))

    restored = type(straight).from_checkpoint(path)
    assert same(parameters(restored), halfway)
    train(restored, 8)
    assert same(parameters(restored), parameters(straight))
    assert restored.iteration == straight.iteration == 16
    assert restored.env_steps == straight.env_steps
    restored.stop()

    again.restore_from_path(path)  # into an algorithm that has trained
    assert same(parameters(train(again, 8)), parameters(straight))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_different_seeds_give_different_parameters(name: str, running: Any) -> None:
    ours, theirs = (parameters(train(running(serial(name, seed)), 1)) for seed in (0, 1))
    assert not same(ours, theirs)


PROGRAM = """
import sys, ray
from bonuslab.algorithms.catalogue import find
entry = find(sys.argv[1])
config = entry.config().environment("MultiRoom-N2-S4").apply(entry.preset("laptop").values)
config.env_runners(num_envs_per_env_runner=8, rollout_fragment_length=8)
config.evaluation(evaluation_interval=1, evaluation_duration=2)
algorithm = config.bonus("e3b").run_serially().build_algo()
algorithm.train()
restored = type(algorithm).from_checkpoint(algorithm.save_to_path(sys.argv[2]))
restored.train()
algorithm.stop()
restored.stop()
print("ray", ray.is_initialized())
"""


@pytest.mark.parametrize("name", ["impala", pytest.param("ddppo", marks=pytest.mark.slow)])
def test_ray_is_not_started(name: str, tmp_path: Path) -> None:
    """In a new process: in this one, other tests may have started Ray."""
    command = [sys.executable, "-c", PROGRAM, name, str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["ray False"], done.stderr[-3000:]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_damaged_and_incomplete_checkpoints_are_rejected(name: str, running: Any, tmp_path: Path) -> None:
    algorithm = running(serial(name))
    path = Path(algorithm.save_to_path(tmp_path / "checkpoint"))
    victim = path / "state.bin"
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    with pytest.raises(DamagedCheckpoint, match=f"damaged: .*{victim.name} does not match its checksum"):
        type(algorithm).from_checkpoint(path)
    victim.unlink()
    with pytest.raises(DamagedCheckpoint, match=f"{victim.name} is missing"):
        algorithm.restore_from_path(path)
    (path / "bonuslab_manifest.json").unlink()
    with pytest.raises(DamagedCheckpoint, match="writing was cut short"):
        type(algorithm).from_checkpoint(path)
