"""A learner's tensors of a fragment, minibatches of envs, and values of true next states."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bonuslab.algorithms.acting.policy_module import NEXT_VALUE, PolicyModule
from bonuslab.algorithms.acting.rollout import Rollout
from bonuslab.algorithms.learning.learner import select_envs, to_tensors
from bonuslab.algorithms.networks import build_policy

NUM_ENVS = 5


@pytest.fixture
def module(toy_vector_env) -> PolicyModule:
    torch.manual_seed(0)
    envs = toy_vector_env([0])
    made = PolicyModule(
        observation_space=envs.observation_space,
        action_space=envs.action_space,
        model_config={"family": "small", "recurrent": True},
    )
    with torch.no_grad():
        for parameter in made.parameters():  # large enough for states and values to differ
            parameter.mul_(2.0)
    return made


@pytest.fixture
def fragments(toy_vector_env, module):
    rollout = Rollout(toy_vector_env(list(range(NUM_ENVS))), module.network, runner=1, seed=0, keep_features=False)
    made = [rollout.collect(12)[0] for _ in range(2)]
    for fragment in made:
        fragment.extra["reward"] = fragment.reward + 0.5
    return made


def equal(ours, theirs) -> bool:
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return torch.equal(ours, theirs)


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [3, 1], [4, 0, 2], [2]])
def test_selecting_envs_of_tensors_equals_selecting_envs_of_the_fragment(fragments, columns):
    whole = fragments[1]
    assert len(whole.final_index) > NUM_ENVS
    chosen = select_envs(to_tensors(whole, "cpu"), torch.tensor(columns))
    assert equal(chosen, to_tensors(whole.select_envs(columns), "cpu"))
    assert not equal(chosen["first"], to_tensors(whole.select_envs(columns[::-1]), "cpu")["first"]) or len(columns) == 1


def test_next_values_are_those_of_the_true_next_states(fragments, module):
    """Against stepping the network env by env; a truncated episode's last observation is seen with its own state."""
    fragment = fragments[1]
    outputs = module._forward(to_tensors(fragment, "cpu"))
    T, N = fragment.action.shape
    finals = {tuple(place): row for row, place in enumerate(fragment.final_index.tolist())}
    cut = ended = 0
    for n in range(N):
        state = tuple(torch.from_numpy(part[:, n : n + 1]) for part in fragment.state)
        for t in range(T):
            seen = {key: torch.from_numpy(rows[t, n : n + 1]) for key, rows in fragment.observations.items()}
            output = module.network.act(seen, torch.from_numpy(fragment.first[t, n : n + 1]), state)
            state = output.state
            torch.testing.assert_close(outputs["vf_preds"][t, n], output.value[0], rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(outputs["action_dist_inputs"][t, n], output.logits[0], rtol=1e-4, atol=1e-5)
            ended += bool(fragment.terminated[t, n])
            if fragment.terminated[t, n]:
                continue  # multiplied by zero
            if fragment.truncated[t, n]:
                cut += 1
                after = {key: torch.from_numpy(rows[[finals[t, n]]]) for key, rows in fragment.finals.items()}
            else:
                after = {key: torch.from_numpy(rows[t + 1, n : n + 1]) for key, rows in fragment.observations.items()}
            expected = module.network.act(after, torch.zeros(1, dtype=torch.bool), state).value[0]
            torch.testing.assert_close(outputs[NEXT_VALUE][t, n], expected, rtol=1e-4, atol=1e-5)
            if fragment.truncated[t, n]:
                wrong = module.network.act(after, torch.ones(1, dtype=torch.bool), state).value[0]
                assert abs(wrong - expected) > 1e-4  # the recurrent state matters
    assert cut >= 2
    assert ended >= 2
    assert not outputs[NEXT_VALUE].requires_grad


def test_only_truncated_episodes_are_evaluated_at_their_end(fragments):
    fragment = fragments[0]
    tensors = to_tensors(fragment, "cpu")
    assert len(tensors["final_index"]) == int(fragment.truncated.sum()) < len(fragment.final_index)
    step, env_index = tensors["final_index"].unbind(1)
    assert bool(tensors["truncated"][step, env_index].all())


def test_minibatches_cover_every_env_once(make_config, running):
    learner = running(make_config("none", envs=5).run_serially()).learner_group._learner
    learner.config = learner.config.copy(copy_frozen=False)
    learner.config.num_minibatches = 3
    groups = [learner._minibatches(5) for _ in range(2)]
    for group in groups:
        assert sorted(torch.cat(group).tolist()) == [0, 1, 2, 3, 4]
        assert len(group) == 3
    assert torch.cat(groups[0]).tolist() != torch.cat(groups[1]).tolist()


def test_a_feed_forward_network_reproduces_the_behaviour_logits(toy_vector_env):
    torch.manual_seed(0)
    envs = toy_vector_env([0, 1])
    network = build_policy("small", envs.observation_space, int(envs.action_space.n), recurrent=False)
    fragment, _ = Rollout(envs, network, runner=0, seed=0, keep_features=False).collect(9)
    fragment.extra["reward"] = fragment.reward
    module = PolicyModule(
        observation_space=envs.observation_space,
        action_space=envs.action_space,
        model_config={"family": "small", "recurrent": False},
    )
    module.network.load_state_dict(network.state_dict())
    outputs = module._forward(to_tensors(fragment, "cpu"))
    np.testing.assert_allclose(
        outputs["action_dist_inputs"].detach().numpy(), fragment.behaviour_logits, rtol=1e-4, atol=1e-5
    )
