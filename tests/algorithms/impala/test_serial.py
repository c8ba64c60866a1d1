"""Errors in serial mode reach the user unchanged."""

from __future__ import annotations

import pytest

from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.impala.algorithm import IMPALA
from bonuslab.algorithms.impala.learner import IMPALALearner

ENVS = 2
BONUS = "e3b * rnd + count.episodic(position)"


def serial(make_config):
    return make_config(BONUS, envs=ENVS).run_serially()


def test_nan_weights_are_named(make_config, running):
    algorithm = running(serial(make_config))
    algorithm.train()
    algorithm.learner_group.foreach_learner(
        lambda learner: learner.module["default_policy"].network.value_head.weight.data.fill_(float("nan"))
    )
    with pytest.raises(NonFinite, match="value is not finite"):
        algorithm.train()


def test_an_exception_in_the_loss_is_raised_unchanged(make_config, running):
    class Broken(IMPALALearner):
        def loss(self, batch, outputs):
            if self._weights_seq_no == 2:
                raise LookupError("no such loss")
            return super().loss(batch, outputs)

    algorithm = running(serial(make_config).training(learner_class=Broken))
    for _ in range(2):
        algorithm.train()
    with pytest.raises(LookupError, match=r"^no such loss$"):
        algorithm.train()


def test_an_infinite_bonus_is_named_and_the_last_checkpoint_stays_valid(make_config, running, tmp_path):
    algorithm = running(serial(make_config))
    algorithm.train()
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    algorithm.bonus._bonus.model.coefficient = float("inf")
    with pytest.raises(NonFinite, match=r"^bonus is not finite"):
        algorithm.train()
    restored = IMPALA.from_checkpoint(path)
    restored.train()
    assert restored.env_steps == 2 * ENVS * 8
    restored.stop()
