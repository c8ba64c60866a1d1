"""Workers in processes of their own: equal replicas, stragglers, deaths and errors."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import ray
import torch
from ray import cloudpickle

from bonuslab.algorithms.ddppo.algorithm import DDPPO
from bonuslab.algorithms.ddppo.worker import DDPPOWorker
from bonuslab.algorithms.rllib.telemetry import WORKER_GAUGES
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.results import row_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
pytestmark = pytest.mark.cluster
BONUS = "e3b * rnd + count.global(position)"
ENVS, STEPS = 4, 8


class HauntedVectorEnv:
    """VectorEnv that sleep in every step for a time that can be changed, and fail if that is less than nothing."""

    seconds = 0.0

    def __init__(self, envs) -> None:
        self._envs = envs

    def __getattr__(self, name: str):
        return getattr(self._envs, name)

    def step(self, actions, out=None):
        if self.seconds < 0:
            raise OSError("the dungeon has collapsed")
        time.sleep(self.seconds)
        return self._envs.step(actions, out)


class Worker(DDPPOWorker):
    def make_env(self) -> None:
        super().make_env()
        self.env = HauntedVectorEnv(self.env)


@pytest.fixture(scope="module")
def algorithm(cluster, make_config):
    """One algorithm of two workers for the tests that leave it in working order."""
    config = make_config(BONUS, ENVS, STEPS, max_steps=20).env_runners(env_runner_cls=Worker)
    config.evaluation(evaluation_duration=3).training(sync_fraction=0.5)
    made = config.build_algo()
    yield made
    made.stop()


def on_worker(algorithm: DDPPO, worker: int, function):
    actor = algorithm.env_runner_group._worker_manager.actors()[worker]
    return ray.get(actor.apply.remote(function))


def sleep_in_steps(seconds: float):
    def set_seconds(worker) -> None:
        worker.env.seconds = seconds

    return set_seconds


def fingerprint(worker) -> str:
    """Of all that replicas share: policy, optimiser, bonus models, normalisers and counts."""
    state = worker.replica_state()
    digest = hashlib.sha256()

    def take(value, path: str) -> None:
        if "memory" in path or "metrics" in path:
            return
        if isinstance(value, dict):
            for key in sorted(value, key=str):
                take(value[key], f"{path}/{key}")
        elif isinstance(value, list | tuple):
            for number, item in enumerate(value):
                take(item, f"{path}/{number}")
        elif isinstance(value, torch.Tensor | np.ndarray):
            digest.update(np.sort(np.asarray(value), axis=None).tobytes() if "table" in path else np.asarray(value))
        else:
            digest.update(repr(value).encode())

    take(state, "")
    return digest.hexdigest()


def fingerprints(algorithm: DDPPO) -> list[str]:
    return [on_worker(algorithm, worker, fingerprint) for worker in (1, 2)]


def wait_for_both(algorithm: DDPPO, seconds: float = 120) -> dict:
    deadline = time.monotonic() + seconds
    while (results := algorithm.train())["workers"]["num_workers"] < 2:
        assert time.monotonic() < deadline, "the worker did not come back"
    return results


def test_results_hold_every_metric_and_replicas_are_equal(algorithm):
    for iteration in range(1, 31):
        results = algorithm.train()
        row = row_of(results, 1.0, algorithm.env_steps, iteration)
        if iteration >= 3 and "episode_return" in row:  # a slow machine cuts rollouts, so that episodes take longer
            break
    expected = {"policy_loss", "baseline_loss", "entropy", "gradient_norm", "kl_to_behaviour", "episode_return"}
    assert row.keys() >= expected | {"learn/rnd/predictor_loss", "bonus/mean", "bonus/sigma"}
    assert all(np.isfinite(value) for value in row.values())
    learnt = results["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"]
    assert learnt == algorithm.env_steps == results["env_runners"]["num_env_steps_sampled_lifetime"]
    assert results["workers"]["num_workers"] == 2
    assert algorithm._telemetry.publish(results).keys() >= WORKER_GAUGES.keys()
    ours, theirs = fingerprints(algorithm)
    assert ours == theirs
    algorithm.train()
    assert fingerprints(algorithm)[0] != ours


def test_a_straggler_is_preempted_and_its_part_is_learnt_from(algorithm):
    on_worker(algorithm, 2, sleep_in_steps(0.4))
    before = algorithm.env_steps
    results = algorithm.train()
    on_worker(algorithm, 2, sleep_in_steps(0.0))
    steps = results["workers"]["rollout_share"] * 2 * STEPS - STEPS  # the straggler's
    assert STEPS / 4 <= steps < STEPS
    assert results["workers"]["preempted_share"] == 0.5
    assert algorithm.env_steps - before == ENVS * (STEPS + steps)
    assert results["learners"]["__all_modules__"]["num_env_steps_trained"] == ENVS * (STEPS + steps)
    assert len(set(fingerprints(algorithm))) == 1


def test_a_worker_killed_in_a_rollout_is_missed_and_returns_with_the_weights(algorithm):
    for worker in (1, 2):
        on_worker(algorithm, worker, sleep_in_steps(0.2))
    threading.Timer(0.6, os.kill, (on_worker(algorithm, 2, lambda _: os.getpid()), signal.SIGKILL)).start()
    results = algorithm.train()
    assert results["workers"]["num_workers"] == 1
    assert results["learners"]["__all_modules__"]["num_env_steps_trained"] == ENVS * STEPS
    on_worker(algorithm, 1, sleep_in_steps(0.0))
    wait_for_both(algorithm)
    assert len(set(fingerprints(algorithm))) == 1
    lives = [on_worker(algorithm, worker, lambda made: made._incarnation) for worker in (1, 2)]
    assert lives[0] == 0 < lives[1]


def test_a_worker_killed_in_an_update_leaves_equal_replicas(algorithm):
    def die_soon(worker) -> None:
        steps = iter(range(3))
        average = worker.learner.reduce_gradients

        def last_words(*arguments) -> None:
            if next(steps) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            average(*arguments)

        worker.learner.reduce_gradients = last_words

    updates = on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no)
    on_worker(algorithm, 2, die_soon)
    started = time.monotonic()
    algorithm.train()
    assert time.monotonic() - started < 30  # nobody waits for the dead
    assert on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no) == updates + 1
    wait_for_both(algorithm)
    assert len(set(fingerprints(algorithm))) == 1


def test_it_goes_on_from_a_checkpoint(algorithm, tmp_path):
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    steps, mark = algorithm.env_steps, fingerprints(algorithm)[0]
    algorithm.train()
    assert fingerprints(algorithm)[0] != mark
    algorithm.restore_from_path(path)
    assert algorithm.env_steps == steps
    algorithm.workers._assemble()
    assert fingerprints(algorithm) == [mark, mark]
    outcome = algorithm.evaluate()
    assert outcome["greedy"]["num_episodes"] == 3
    algorithm.train()
    assert len(set(fingerprints(algorithm))) == 1


def test_an_error_in_the_loss_of_one_worker_is_heard_at_once(cluster, make_config, running):
    """The other worker waits for its gradients: it must be freed, and the first one's words reach the user."""

    class Forgetful(Worker):
        def make_module(self) -> None:
            super().make_module()
            if self.worker_index == 2:
                self.module.network.value_head.weight.data.fill_(float("nan"))

        def set_state(self, state) -> None:
            """RLlib's first weights are not wanted here."""

    algorithm = running(make_config("none").env_runners(env_runner_cls=Forgetful))
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"NonFinite: (value|advantage) is not finite"):
        algorithm.train()
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_when_all_die_they_return_with_the_drivers_copy(algorithm):
    for _ in range(2):
        algorithm.train()
    copied = ray.get(algorithm.workers._newest_snapshot())["learner"]["weights_seq_no"]
    for worker in (1, 2):
        os.kill(on_worker(algorithm, worker, lambda _: os.getpid()), signal.SIGKILL)
    algorithm.train()
    wait_for_both(algorithm)
    assert on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no) > copied > 0
    assert len(set(fingerprints(algorithm))) == 1


def test_a_worker_that_hangs_is_restarted(algorithm, monkeypatch):
    hasty = algorithm.config.copy(copy_frozen=False)
    hasty.straggler_patience_s = 2.0
    monkeypatch.setattr(algorithm.workers, "_config", hasty)
    old = on_worker(algorithm, 2, lambda _: os.getpid())
    on_worker(algorithm, 2, sleep_in_steps(1000.0))
    started = time.monotonic()
    assert algorithm.train()["workers"]["num_workers"] == 1
    assert time.monotonic() - started < 20
    assert not algorithm.workers._manager.is_actor_healthy(2)
    with open(f"/proc/{old}/stat") if os.path.exists(f"/proc/{old}") else open(os.devnull) as file:
        assert file.read().rsplit(")", 1)[-1].split()[:1] in ([], ["Z"])


def test_a_failing_environment_is_heard(algorithm):
    """The last test of this algorithm."""
    on_worker(algorithm, 1, sleep_in_steps(-1.0))
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="a worker failed: OSError: the dungeon has collapsed") as caught:
        algorithm.train()
    assert time.monotonic() - started < 20
    assert "in step" in "".join(caught.value.__notes__)


def test_a_bad_task_or_setting_is_named_before_anything_starts(cluster, make_config):
    with pytest.raises(InvalidInput, match="NoSuchRoom"):
        make_config("none").environment("NoSuchRoom").build_algo()
    with pytest.raises(InvalidInput, match="num_values=3"):
        make_config("none").training(num_values=3).build_algo()
    with pytest.raises(InvalidInput, match="every worker of DD-PPO learns"):
        make_config("none").learners(num_learners=2).build_algo()
