"""IMPALA with runners and a bonus actor in separate processes."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pytest
import ray
from ray import cloudpickle

from bonuslab.algorithms.acting.runner import FragmentRunner
from bonuslab.algorithms.impala import algorithm as impala
from bonuslab.algorithms.impala.algorithm import IMPALA, POLL_SECONDS
from bonuslab.algorithms.impala.resources import laptop
from bonuslab.algorithms.rllib.bonus_client import LocalBonus
from bonuslab.algorithms.rllib.metrics import METRICS
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.contexts import MiniHackContexts

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
pytestmark = pytest.mark.cluster
BONUS = "e3b * rnd + count.global(position)"
ENVS, STEPS = 4, 8


@pytest.fixture(scope="module")
def algorithm(cluster, make_config):
    """Shared by the tests that leave it working."""
    config = make_config(BONUS, ENVS, STEPS, max_steps=20)
    config.evaluation(evaluation_interval=2, evaluation_duration=5)
    made = config.build_algo()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(impala, "RECOVERY_TIMEOUT_SECONDS", 600)  # processes start slowly on a busy machine
        yield made
    made.stop()


def on_runner(algorithm: IMPALA, function):
    """Result of `function(runner)` on the first runner."""
    actor = algorithm.env_runner_group._worker_manager.actors()[1]
    return ray.get(actor.apply.remote(function))


def bonus_process(algorithm: IMPALA) -> int:
    return ray.get(algorithm.bonus._actor.__ray_call__.remote(lambda _: os.getpid()))


def visits(state) -> int:
    if isinstance(state, dict):
        if state.keys() == {"keys", "counts"}:
            return int(state["counts"].sum())
        return sum(visits(value) for value in state.values())
    return 0


def check_counts(algorithm: IMPALA, incarnations: int) -> None:
    """The bonus counted every batch once, including the first states of episodes."""
    episodes = int(algorithm.metrics.peek(("env_runners", "num_episodes_lifetime"), default=0))
    batches = algorithm.bonus._submitted - algorithm.bonus.lost_batches
    assert batches >= algorithm._updates
    found = visits(algorithm.bonus.get_state()) - batches * ENVS * STEPS
    assert ENVS * incarnations <= found <= ENVS * (incarnations + 3) + episodes + ENVS * STEPS


def test_results_contain_every_metric(algorithm):
    iterations = [algorithm.train() for _ in range(7)]
    results = iterations[-1]
    runners, bonus = results["env_runners"], results["bonus"]
    learner, all_learners = results["learners"]["default_policy"], results["learners"]["__all_modules__"]
    assert runners["num_env_steps_sampled_lifetime"] >= 7 * ENVS * STEPS
    assert all_learners["num_env_steps_trained_lifetime"] == algorithm._updates * ENVS * STEPS
    sampled = [made["env_runners"]["num_env_steps_sampled_lifetime_throughput"] for made in iterations]
    trained = [made["learners"]["__all_modules__"]["num_env_steps_trained_lifetime_throughput"] for made in iterations]
    for rates in (sampled, trained):  # not in each: an iteration may learn from batches that were waiting
        assert max(rate["throughput_since_last_reduce"] for rate in rates) > 0
    assert -0.5 < runners["episode_return_mean"] <= 1
    assert 1 <= runners["episode_len_mean"] <= 20
    assert 0 <= runners["win_rate"] <= 1
    for name in ("policy_loss", "baseline_loss", "entropy", "policy_lag_updates", "gradient_norm"):
        assert np.isfinite(learner[name]), name
    assert 0 < learner["entropy"] <= np.log(8) + 1e-6
    assert learner["policy_lag_updates"] >= 0
    assert results["queue_depth"] >= 0
    for name in ("bonus", "bonus_raw", "bonus_episodic", "bonus_global"):
        assert bonus[f"{name}/mean"] > 0
    for term in ("e3b", "rnd", "count.global"):
        assert bonus[f"term/{term}/raw_mean"] > 0
    assert bonus["bonus/sigma"] > 0
    assert bonus["learn/e3b/inverse_dynamics_loss"] > 0
    assert bonus["learn/rnd/predictor_loss"] > 0

    published = algorithm._telemetry.publish(results)
    gauges = {metric.name for metric in METRICS if metric.gauge and not metric.name.startswith("workers/")}
    assert published.keys() >= gauges | set(bonus)
    assert published["learnt_steps_per_second"] > 0


def test_evaluation_does_not_affect_training(algorithm):
    before = algorithm.env_steps
    outcome = algorithm.evaluate()
    assert algorithm.env_steps == before
    assert outcome.keys() == {"greedy", "sampled", "env_runners"}
    for values in outcome.values():
        assert values["num_episodes"] == 5
        assert values["episode_len_mean"] <= 20
    assert algorithm.evaluate()["greedy"] == outcome["greedy"]  # the same held-out contexts
    results = algorithm.train()
    if "evaluation" not in results:
        results = algorithm.train()
    assert results["evaluation"]["sampled"].keys() >= {"episode_return_mean", "win_rate"}


def test_a_killed_runner_restarts_with_new_contexts(algorithm):
    algorithm.train()
    check_counts(algorithm, incarnations=1)
    steps, old = algorithm.env_steps, on_runner(algorithm, lambda _: os.getpid())
    os.kill(old, signal.SIGKILL)
    while algorithm.env_steps < steps + 6 * ENVS * STEPS:
        algorithm.train()
    assert on_runner(algorithm, lambda _: os.getpid()) != old
    met = on_runner(algorithm, lambda runner: runner.env.contexts.tolist())
    draws = [MiniHackContexts("inf", 0, stream=(1, env_index)) for env_index in range(ENVS)]
    assert not set(met) & {sampler.draw() for sampler in draws for _ in range(200)}
    version = on_runner(algorithm, lambda runner: runner._weights_version)
    assert 0 <= algorithm._updates - version < 10
    check_counts(algorithm, incarnations=2)


def test_a_killed_bonus_actor_restarts_with_its_counts(algorithm):
    for _ in range(3):
        algorithm.train()
    restarts, updates = algorithm.bonus.restarts, algorithm._updates
    os.kill(bonus_process(algorithm), signal.SIGKILL)
    while algorithm._updates < updates + 8:
        algorithm.train()
    assert algorithm.bonus.restarts == restarts + 1
    check_counts(algorithm, incarnations=2)


def test_resumes_from_a_checkpoint_and_leaves_no_process(algorithm, tmp_path, wait_until_gone):
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    counted = visits(algorithm.bonus.get_state())
    restored = IMPALA.from_checkpoint(path)
    assert visits(restored.bonus.get_state()) == counted
    assert restored.env_steps == algorithm.env_steps
    assert restored.iteration == algorithm.iteration
    ours, theirs = (algo.learner_group.get_weights()["default_policy"] for algo in (algorithm, restored))
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    restored.train()
    assert visits(restored.bonus.get_state()) > counted
    assert on_runner(restored, lambda runner: runner._incarnation) == algorithm.env_steps

    processes = [on_runner(restored, lambda _: os.getpid()), bonus_process(restored)]
    restored.stop()
    wait_until_gone(*processes)


def test_an_invalid_task_or_setting_is_named_before_anything_starts(cluster, make_config):
    with pytest.raises(InvalidInput, match="NoSuchRoom"):
        make_config("none").environment("NoSuchRoom").build_algo()
    with pytest.raises(InvalidInput, match="contexts 'many' cannot be used"):
        make_config("none", contexts="many").build_algo()


def break_after_two_fragments(runner) -> None:
    """Every step sleeps, and a step of the third fragment fails."""
    left, plain = iter(range(2 * STEPS + STEPS // 2)), runner.env.step

    def step(actions, out=None):
        time.sleep(0.05)
        if next(left, None) is None:
            raise OSError("simulated failure")
        return plain(actions, out)

    runner.env.step = step


def test_an_idle_driver_sleeps_and_a_failing_environment_is_reported(algorithm, wait_until_gone, monkeypatch):
    """The last test that uses the shared algorithm."""
    processes = [on_runner(algorithm, lambda _: os.getpid()), bonus_process(algorithm)]
    on_runner(algorithm, break_after_two_fragments)
    waits = []
    fetch = algorithm.env_runner_group.foreach_env_runner_async_fetch_ready
    monkeypatch.setattr(
        algorithm.env_runner_group,
        "foreach_env_runner_async_fetch_ready",
        lambda timeout_seconds, **given: (
            waits.append(timeout_seconds),
            fetch(timeout_seconds=timeout_seconds, **given),
        )[1],
    )
    with pytest.raises(RuntimeError, match="a runner failed: OSError: simulated failure") as caught:
        [algorithm.train() for _ in range(20)]
    assert set(waits) == {POLL_SECONDS}, "an idle driver must wait for the runners"
    assert "in step" in "".join(caught.value.__notes__)  # the traceback of the other process
    algorithm.stop()
    wait_until_gone(*processes)


@pytest.mark.slow
def test_runners_that_keep_dying_end_the_run(cluster, make_config, running):
    class Runner(FragmentRunner):
        def sample(self, **_):
            os.kill(os.getpid(), signal.SIGKILL)

    algorithm = running(make_config("none").env_runners(env_runner_cls=Runner))
    with pytest.raises(RuntimeError, match="all runners died 4 times without finishing a fragment; if MultiRoom"):
        algorithm.train()


def test_the_laptops_bonus_is_in_the_driver_and_counts_what_is_learnt(cluster, make_config, tmp_path):
    config = laptop(2, 0.0).configure(make_config("count.global(position)", ENVS, STEPS))
    algorithm = config.build_algo()
    try:
        assert isinstance(algorithm.bonus, LocalBonus)
        for _ in range(4):
            results = algorithm.train()
        learnt = results["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"]
        assert learnt == algorithm._updates * ENVS * STEPS
        assert visits(algorithm.bonus.get_state()) >= learnt
        saved = visits(algorithm.bonus.get_state())
        algorithm.save_to_path(tmp_path / "checkpoint")
        algorithm.train()
        algorithm.restore_from_path(tmp_path / "checkpoint")
        assert visits(algorithm.bonus.get_state()) == saved
    finally:
        algorithm.stop()
