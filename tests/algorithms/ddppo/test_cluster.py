"""DD-PPO workers in separate processes: identical replicas, stragglers, deaths and errors."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time

import numpy as np
import pytest
import ray
import torch
from ray import cloudpickle

from bonuslab.algorithms.ddppo.algorithm import DDPPO
from bonuslab.algorithms.ddppo.worker import DDPPOWorker
from bonuslab.algorithms.rllib.metrics import METRICS
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.results import row_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
pytestmark = pytest.mark.cluster
BONUS = "e3b * rnd + count.global(position)"
ENVS, STEPS = 4, 8


class HookedVectorEnv:
    """A vector env that calls `before_step` before every step."""

    def __init__(self, envs) -> None:
        self._envs = envs
        self.before_step = lambda: None

    def __getattr__(self, name: str):
        return getattr(self._envs, name)

    def step(self, actions, out=None):
        self.before_step()
        return self._envs.step(actions, out)


class Worker(DDPPOWorker):
    def make_env(self) -> None:
        super().make_env()
        self.env = HookedVectorEnv(self.env)

    def _preemption(self, finishers):
        stop = super()._preemption(finishers)
        self.is_preempted = lambda step=STEPS - 1: stop(step)
        return stop


@pytest.fixture(scope="module")
def algorithm(cluster, make_config):
    """Two workers, shared by the tests that leave them working."""
    config = make_config(BONUS, ENVS, STEPS, max_steps=20).env_runners(env_runner_cls=Worker)
    config.evaluation(evaluation_duration=3).training(sync_fraction=0.5, longest_rollout=1.5)
    config.collective_timeout_s = config.straggler_timeout_s = 10_000  # recovery must not rely on timeouts
    made = config.build_algo()
    yield made
    made.stop()


def on_worker(algorithm: DDPPO, worker: int, function):
    actor = algorithm.env_runner_group._worker_manager.actors()[worker]
    return ray.get(actor.apply.remote(function))


def hook(algorithm: DDPPO, worker: int, before_step=lambda worker: None) -> None:
    """Make a worker call `before_step(worker)` before every step."""

    def set_hook(made) -> None:
        made.env.before_step = lambda: before_step(made)

    on_worker(algorithm, worker, set_hook)


@pytest.fixture
def patient(algorithm: DDPPO, monkeypatch) -> None:
    """All workers must have a full rollout; until then fast ones go on for up to four."""
    values = {"sync_fraction": 1.0, "longest_rollout": 4.0}
    before = {name: getattr(algorithm.config, name) for name in values}

    def train_with(values: dict) -> None:
        def change(worker) -> None:
            worker.config = worker.config.copy(copy_frozen=False).training(**values)

        for worker in algorithm.env_runner_group._worker_manager.healthy_actor_ids():
            on_worker(algorithm, worker, change)

    monkeypatch.setattr(algorithm.workers, "_config", algorithm.config.copy(copy_frozen=False).training(**values))
    train_with(values)
    yield
    train_with(before)


def fail(worker) -> None:
    raise OSError("simulated failure")


def fingerprint(worker) -> str:
    """Digest of the replicated state: policy, optimiser, bonus models, normalisers and counts."""
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


def train_until_both_recover(algorithm: DDPPO) -> None:
    while algorithm.train()["workers"]["num_workers"] < 2:
        time.sleep(0.5)  # an update costs more than it tells


def test_results_contain_every_metric_and_replicas_are_identical(algorithm):
    for iteration in range(1, 31):
        results = algorithm.train()
        row = row_of(results, 1.0, algorithm.env_steps, iteration)
        if iteration >= 3 and "episode_return" in row:  # preempted rollouts make episodes take longer
            break
    expected = {"policy_loss", "baseline_loss", "entropy", "gradient_norm", "kl_to_behaviour", "episode_return"}
    assert row.keys() >= expected | {"learn/rnd/predictor_loss", "bonus/mean", "bonus/sigma"}
    assert all(np.isfinite(value) for value in row.values())
    learnt = results["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"]
    assert learnt == algorithm.env_steps == results["env_runners"]["num_env_steps_sampled_lifetime"]
    assert results["workers"]["num_workers"] == 2
    gauges = {metric.name for metric in METRICS if metric.gauge and metric.name.startswith("workers/")}
    assert algorithm._telemetry.publish(results).keys() >= gauges
    ours, theirs = fingerprints(algorithm)
    assert ours == theirs
    algorithm.train()
    assert fingerprints(algorithm)[0] != ours


def test_a_straggler_is_preempted_and_its_steps_are_used(algorithm):
    def dawdle(worker) -> None:
        while not worker.is_preempted():
            time.sleep(0.01)

    hook(algorithm, 2, dawdle)
    before = algorithm.env_steps
    results = algorithm.train()
    hook(algorithm, 2)
    steps = results["workers"]["rollout_share"] * 2 * STEPS - STEPS  # the straggler's
    assert steps == STEPS / 4  # the shortest rollout
    assert results["workers"]["preempted_share"] == 0.5
    assert algorithm.env_steps - before == ENVS * (STEPS + steps)
    assert results["learners"]["__all_modules__"]["num_env_steps_trained"] == ENVS * (STEPS + steps)
    assert len(set(fingerprints(algorithm))) == 1


def count_steps(worker) -> int:
    """The number of the step that begins, from 1."""
    worker.steps_begun = getattr(worker, "steps_begun", 0) + 1
    return worker.steps_begun


def test_a_fast_worker_goes_on_while_a_slow_one_collects(algorithm, patient):
    def tell(worker) -> None:
        if count_steps(worker) == 2 * STEPS:
            worker._store.set("far ahead", "")

    hook(algorithm, 1, tell)
    hook(algorithm, 2, lambda worker: worker._store.wait(["far ahead"]))
    results = algorithm.train()
    for worker in (1, 2):
        hook(algorithm, worker)
    assert results["workers"]["rollout_share"] >= 1.5  # one has at least twice a full rollout
    assert results["learners"]["__all_modules__"]["num_env_steps_trained"] >= ENVS * 3 * STEPS
    assert len(set(fingerprints(algorithm))) == 1


def test_a_worker_that_died_unnoticed_is_not_used_before_it_has_the_current_state(algorithm):
    """Ray restarts it, so the next call reaches a fresh process."""

    def forget(worker) -> None:
        worker.is_replica = False
        worker.learner._weights_seq_no = -1000
        worker.module.network.value_head.weight.data.fill_(0)

    def updates() -> int:
        return on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no)

    before = updates()
    on_worker(algorithm, 2, forget)
    assert algorithm.train()["workers"]["num_workers"] == 1
    train_until_both_recover(algorithm)
    assert updates() > before
    assert len(set(fingerprints(algorithm))) == 1
    for worker in (1, 2):
        on_worker(algorithm, worker, forget)
    train_until_both_recover(algorithm)
    assert updates() > 0  # from the driver's snapshot
    assert len(set(fingerprints(algorithm))) == 1


def test_a_worker_killed_in_a_rollout_rejoins_with_the_current_state(algorithm, patient):
    """Meanwhile the other one does not wait for it: of one worker, one is enough."""

    def die_in_third_step(worker) -> None:
        if count_steps(worker) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    def wait_after_a_full_rollout(worker) -> None:
        if count_steps(worker) > STEPS:
            while not worker.is_preempted(STEPS):
                time.sleep(0.01)

    on_worker(algorithm, 1, lambda worker: setattr(worker, "steps_begun", 0))
    hook(algorithm, 1, wait_after_a_full_rollout)
    hook(algorithm, 2, die_in_third_step)
    results = algorithm.train()
    hook(algorithm, 1)
    assert results["workers"]["num_workers"] == 1
    assert results["workers"]["rollout_share"] <= (STEPS + 1) / STEPS
    train_until_both_recover(algorithm)
    assert len(set(fingerprints(algorithm))) == 1
    incarnations = [on_worker(algorithm, worker, lambda made: made._incarnation) for worker in (1, 2)]
    assert incarnations[0] == 0 < incarnations[1]


def test_replicas_stay_identical_if_a_worker_is_killed_in_an_update(algorithm):
    def die_soon(worker) -> None:
        steps = iter(range(3))
        average = worker.learner.reduce_gradients

        def count_down(*arguments) -> None:
            if next(steps) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            average(*arguments)

        worker.learner.reduce_gradients = count_down

    updates = on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no)
    on_worker(algorithm, 2, die_soon)
    algorithm.train()
    assert on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no) == updates + 1
    train_until_both_recover(algorithm)
    assert len(set(fingerprints(algorithm))) == 1


def test_resumes_from_a_checkpoint(algorithm, tmp_path):
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


@pytest.mark.slow
def test_if_all_die_they_resume_from_the_drivers_snapshot(algorithm):
    for _ in range(2):
        algorithm.train()
    copied = ray.get(algorithm.workers._newest_snapshot())["learner"]["weights_seq_no"]
    for worker in (1, 2):
        os.kill(on_worker(algorithm, worker, lambda _: os.getpid()), signal.SIGKILL)
    algorithm.train()
    train_until_both_recover(algorithm)
    assert on_worker(algorithm, 1, lambda worker: worker.learner._weights_seq_no) > copied > 0
    assert len(set(fingerprints(algorithm))) == 1


def test_an_error_in_the_loss_of_one_worker_is_reported_at_once(algorithm):
    """The other worker, which waits for its gradients, must not hang, and the error must reach the user."""
    on_worker(algorithm, 2, lambda worker: worker.module.network.value_head.weight.data.fill_(float("nan")))
    with pytest.raises(RuntimeError, match=r"NonFinite: (value|advantage) is not finite"):
        algorithm.train()


def test_a_worker_that_hangs_is_restarted(algorithm, monkeypatch, wait_until_gone):
    hasty = algorithm.config.copy(copy_frozen=False)
    hasty.straggler_timeout_s = 2.0
    monkeypatch.setattr(algorithm.workers, "_config", hasty)
    old = on_worker(algorithm, 2, lambda _: os.getpid())
    hook(algorithm, 2, lambda worker: time.sleep(10_000))
    assert algorithm.train()["workers"]["num_workers"] == 1
    assert not algorithm.workers._manager.is_actor_healthy(2)
    wait_until_gone(old)


def test_a_failing_environment_is_reported(algorithm):
    """The last test that uses the shared algorithm."""
    hook(algorithm, 1, fail)
    with pytest.raises(RuntimeError, match="a worker failed: OSError: simulated failure") as caught:
        algorithm.train()
    assert "in step" in "".join(caught.value.__notes__)


def test_an_invalid_task_or_setting_is_named_before_anything_starts(cluster, make_config):
    with pytest.raises(InvalidInput, match="NoSuchRoom"):
        make_config("none").environment("NoSuchRoom").build_algo()
    with pytest.raises(InvalidInput, match="num_values=3"):
        make_config("none").training(num_values=3).build_algo()
    with pytest.raises(InvalidInput, match="every worker of DD-PPO learns"):
        make_config("none").learners(num_learners=2).build_algo()
