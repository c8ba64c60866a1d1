"""Two learners on CPU, connected by gloo: they stay identical, and training stops if one fails."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from bonuslab.algorithms.impala.algorithm import IMPALA

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def algorithm(cluster, make_config):
    config = make_config("count.episodic(position)").learners(num_learners=2, num_cpus_per_learner=0.5)
    made = config.env_runners(num_cpus_per_env_runner=0.5).build_algo()
    yield made
    made.stop()


def on_learners(algorithm: IMPALA, function) -> list:
    return [result.get() for result in algorithm.learner_group.foreach_learner(function)]


def parameters(learner) -> dict[str, np.ndarray]:
    module = learner.module["default_policy"].unwrapped()
    return {name: value.detach().numpy().copy() for name, value in module.named_parameters()}


def moments(learner) -> list[np.ndarray]:
    state = learner.get_optimizer("default_policy").state_dict()["state"]
    return [state[key]["exp_avg_sq"].numpy().copy() for key in sorted(state)]


def poison(learner) -> None:
    if learner._learner_index == 1:
        learner.module["default_policy"].unwrapped().network.value_head.weight.data.fill_(float("nan"))


def test_parameters_are_identical_after_20_updates(algorithm):
    before = on_learners(algorithm, parameters)[0]
    while algorithm._updates < 20:
        results = algorithm.train()
    ours, theirs = on_learners(algorithm, parameters)
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert all(map(np.array_equal, *on_learners(algorithm, moments)))
    assert sum(not np.array_equal(ours[name], before[name]) for name in ours) > len(ours) / 2
    # Each learner had its own batch.
    trained = results["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"]
    assert trained == 2 * algorithm._updates * 4 * 8


def test_a_nan_loss_on_one_learner_stops_both(algorithm):
    on_learners(algorithm, poison)
    with pytest.raises((RuntimeError, ArithmeticError), match=r"value is not finite: .* are NaN or infinite"):
        algorithm.train()


def test_a_killed_learner_is_reported(algorithm):
    manager = algorithm.learner_group._worker_manager
    for actor in manager.actor_ids():  # RLlib marked both as unhealthy when they raised
        manager.set_actor_state(actor, healthy=True)
    os.kill(on_learners(algorithm, lambda _: os.getpid())[1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a learner process died; resume from the last checkpoint"):
        algorithm.train()


@pytest.mark.slow
def test_a_killed_single_learner_is_reported(cluster, make_config, running):
    config = make_config("none").learners(num_learners=1, num_cpus_per_learner=0.5)
    algorithm = running(config.env_runners(num_cpus_per_env_runner=0.5))
    algorithm.train()
    os.kill(on_learners(algorithm, lambda _: os.getpid())[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a learner process died; resume from the last checkpoint"):
        algorithm.train()
