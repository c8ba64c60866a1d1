"""A worker's data: recorded values, preempted rollouts, and minibatches of whole sequences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns

from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.acting.random_policy import uniform_policy
from bonuslab.algorithms.acting.rollout import FOLLOWING_VALUE, NEXT_VALUE, VALUE, Rollout
from bonuslab.algorithms.learning.learner import select_envs, to_tensors

NUM_ENVS = 5


@pytest.fixture(params=[1, 2])
def module(request, toy_vector_env) -> PolicyModule:
    torch.manual_seed(0)
    envs = toy_vector_env([0])
    made = PolicyModule(
        observation_space=envs.observation_space,
        action_space=envs.action_space,
        model_config={"family": "small", "recurrent": True, "num_values": request.param},
    )
    with torch.no_grad():
        for parameter in made.parameters():  # large enough for states and values to differ
            parameter.mul_(2.0)
    return made


def rollout(toy_vector_env, module, envs=range(NUM_ENVS)) -> Rollout:
    return Rollout(toy_vector_env(list(envs)), module.network, runner=1, seed=0, keep_features=False, keep_values=True)


def with_reward(fragment):
    fragment.extra["reward"] = fragment.reward
    return fragment


def test_minibatches_equal_the_full_batch(toy_vector_env, module):
    """Some envs, unrolled from the recorded state, give the logits and values of the rollout."""
    play = rollout(toy_vector_env, module)
    play.collect(7)
    fragment = with_reward(play.collect(12)[0])
    assert fragment.first[1:].any()
    tensors = to_tensors(fragment, "cpu")
    whole = module.forward_train(tensors)
    for columns in ([0, 1, 2, 3, 4], [3, 1], [4]):
        part = module.forward_train(select_envs(tensors, torch.tensor(columns)))
        for key in (Columns.ACTION_DIST_INPUTS, Columns.VF_PREDS):
            torch.testing.assert_close(part[key], whole[key][:, columns], rtol=1e-5, atol=1e-6)
        acted = torch.from_numpy(fragment.behaviour_logits[:, columns])
        torch.testing.assert_close(part[Columns.ACTION_DIST_INPUTS], acted, rtol=1e-5, atol=1e-5)


def test_recorded_values_equal_those_of_a_full_forward_pass(toy_vector_env, module):
    play = rollout(toy_vector_env, module)
    fragment = with_reward(play.collect(12)[0])
    assert fragment.truncated.any()
    output = module.forward_train(to_tensors(fragment, "cpu"))
    np.testing.assert_allclose(fragment.extra[VALUE], output[Columns.VF_PREDS].detach(), rtol=1e-5, atol=1e-5)
    known = ~fragment.terminated  # the forward pass skips values that are multiplied by zero
    np.testing.assert_allclose(
        fragment.extra[NEXT_VALUE][known], output["next_value"][known].detach(), rtol=1e-5, atol=1e-5
    )
    following = fragment.extra[FOLLOWING_VALUE]
    np.testing.assert_array_equal(following[:-1], fragment.extra[VALUE][1:])
    continues = ~fragment.done
    np.testing.assert_array_equal(following[continues], fragment.extra[NEXT_VALUE][continues])
    assert not np.allclose(following[fragment.done], fragment.extra[NEXT_VALUE][fragment.done])


def test_a_stopped_rollout_resumes_where_it_stopped(toy_vector_env, module):
    """3 steps and then 5 equal 8 steps, and every array has the length of its rollout."""
    whole, _ = rollout(toy_vector_env, module).collect(8)
    play = rollout(toy_vector_env, module)
    asked: list[int] = []

    def stop(step: int) -> bool:
        asked.append(step)
        return step == 3

    first, _ = play.collect(8, stop=stop)
    second, _ = play.collect(5)
    assert asked == [0, 1, 2, 3]
    assert (first.num_steps, second.num_steps) == (3, 5)
    assert len(first.first) == len(first.context) == len(first.observations["glyphs"]) == 4
    for name in ("action", "reward", "terminated", "truncated", "behaviour_logits"):
        parts = [getattr(fragment, name) for fragment in (first, second)]
        np.testing.assert_array_equal(np.concatenate(parts), getattr(whole, name))
    parts = [fragment.extra[VALUE] for fragment in (first, second)]
    np.testing.assert_array_equal(np.concatenate(parts), whole.extra[VALUE])


def test_the_random_policy_is_uniform(toy_vector_env):
    envs = toy_vector_env([0, 1])
    play = Rollout(envs, uniform_policy(int(envs.action_space.n)), runner=0, seed=0, keep_features=False)
    fragment, _ = play.collect(200)
    assert not fragment.behaviour_logits.any()
    shares = np.bincount(fragment.action.ravel(), minlength=8) / fragment.action.size
    assert abs(shares - 1 / 8).max() < 0.06
