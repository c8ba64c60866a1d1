"""DD-PPO in serial mode: normalisers, random rollouts before training, errors and all kinds of bonuses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch.distributed as dist

from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.ddppo.algorithm import DDPPO

ENVS, STEPS = 2, 8


def train(algorithm: DDPPO, updates: int) -> DDPPO:
    for _ in range(updates):
        algorithm.train()
    return algorithm


def moments(algorithm: DDPPO) -> dict:
    """State of the bonus's normalisers, including the discounted sum of each env."""
    return {name: made.state_dict() for name, made in algorithm.env_runner.bonus.model._normalisers.items()}


def test_normalisers_survive_a_checkpoint(make_config, running, tmp_path):
    config = make_config("e3b * rnd", envs=ENVS, steps=STEPS).bonus(normalise="return", bonus_updates=3)
    algorithm = train(running(config.run_serially()), 4)
    before = moments(algorithm)
    assert before["combined bonus"]["count"] == 4 * ENVS * STEPS
    assert len(before["combined bonus"]["sums"]) == ENVS
    restored = DDPPO.from_checkpoint(algorithm.save_to_path(tmp_path / "checkpoint"))
    assert moments(restored) == before
    assert moments(train(restored, 2)) == moments(train(algorithm, 2)) != before
    restored.stop()


def test_random_rollouts_come_once_before_training(make_config, running, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(IntrinsicModel, "warms_up", True)
    monkeypatch.setattr(IntrinsicModel, "warm_up", lambda model, fragment: seen.append(fragment))
    config = make_config("none", envs=ENVS, steps=STEPS).training(warm_up_steps=20).run_serially()
    algorithm = train(running(config), 2)
    assert [fragment.action.shape for fragment in seen] == [(STEPS, ENVS)] * 3
    assert not any(fragment.behaviour_logits.any() for fragment in seen)
    assert algorithm.env_steps == 2 * ENVS * STEPS
    algorithm.restore_from_path(algorithm.save_to_path(tmp_path / "checkpoint"))
    train(algorithm, 1)
    assert len(seen) == 3


def test_errors_are_raised_unchanged(make_config, running):
    algorithm = train(running(make_config("none", envs=ENVS).run_serially()), 1)
    algorithm.env_runner.module.network.value_head.weight.data.fill_(float("nan"))
    with pytest.raises(NonFinite, match="is not finite"):
        algorithm.train()


@pytest.mark.parametrize("bonus", ["none", "e3b(encoder=policy)", "agac", "ngu * noveld", "elliptical.global"])
def test_every_kind_of_bonus_trains(make_config, running, bonus):
    config = make_config(bonus, envs=ENVS).run_serially()
    results = train(running(config), 2).train()
    assert np.isfinite(results["learners"]["default_policy"]["policy_loss"])
    assert results["bonus"]["bonus/mean"] == 0 if bonus == "none" else results["bonus"]["bonus/mean"] > 0


def test_fast_workers_go_on_and_stragglers_stop(make_config, running):
    config = make_config("none", envs=ENVS, steps=STEPS).training(sync_fraction=0.6, longest_rollout=1.5)
    worker = running(config.run_serially()).env_runner
    worker._store = store = dist.HashStore()
    worker.collectives = SimpleNamespace(size=3)  # two of them must be done
    assert worker.collect("one").num_steps == 12  # nobody else is
    assert store.add("one", 0) == 1
    store.add("two", 1)
    assert worker.collect("two").num_steps == STEPS
    store.add("three", 2)
    assert worker.collect("three").num_steps == STEPS / 4
    assert store.add("three", 0) == 2
    worker.config.longest_rollout = 1.0
    assert worker.collect("four").num_steps == STEPS
    assert store.add("four", 0) == 1
    worker.collectives.size = 2  # both must be done, so nobody stops early
    store.add("five", 2)
    assert worker.collect("five").num_steps == STEPS
    assert store.add("five", 0) == 3
