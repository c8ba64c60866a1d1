"""Explorer gives the numbers of `IntrinsicModel` to any loop, and says what does not fit."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from bonuslab.algorithms.bonuses import IntrinsicModel, Setting, parse
from bonuslab.algorithms.bonuses.reward.explorer import Explorer
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.vector_env import EnvError

N = 3
ACTION_SPACE = spaces.Discrete(NUM_ACTIONS)
SAME = {"rtol": 1e-6, "atol": 1e-6}
STEPWISE = [
    "count.episodic(position)",
    "count.episodic(message, root)",
    "count.global(message)",
    "rnd",
    "rnd(networks=full, convention=paper)",
    "noveld",
    "noveld(episodic=true)",
    "e3b",
    "e3b(encoder=policy)",
    "ngu",
    "icm",
    "ride",
    "elliptical.global(features=inverse)",
    "e3b * rnd",
    "e3b + 100 * noveld(c=0.1)",
    "ngu * count.global(message)",
]
BOX = spaces.Box(-1, 1, (4,), np.float32)


def explorer(bonus: str, **settings: Any) -> Explorer:
    return Explorer(bonus, OBSERVATION_SPACE, ACTION_SPACE, N, network="small", **settings)


def model(bonus: str, **settings: Any) -> IntrinsicModel:
    return IntrinsicModel(parse(bonus), Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small"), **settings)


def cut(lengths: list[int]) -> list[Fragment]:
    features = np.random.default_rng(1).normal(size=(sum(lengths) + 1, N, 16)).astype(np.float32)
    starts = np.cumsum([0, *lengths])
    return [
        replace(fragment, policy_features=features[start : start + fragment.num_steps + 1])
        for fragment, start in zip(Trajectory(N, sum(lengths), seed=3).cut(lengths), starts[:-1], strict=True)
    ]


def arguments(fragment: Fragment, bonus: str) -> dict[str, Any]:
    """The fragment as a loop would pass it: with the true next observations."""
    states, index = fragment.states(), fragment.next_state_index()
    given: dict[str, Any] = {
        "obs": {key: rows[:-1] for key, rows in fragment.observations.items()},
        "action": fragment.action,
        "next_obs": {key: rows[index] for key, rows in states.items()},
        "terminated": fragment.terminated,
        "truncated": fragment.truncated,
    }
    if "policy" in bonus:
        given["features"] = fragment.policy_features[:-1]
    if "agac" in bonus:
        given["logits"] = fragment.behaviour_logits
    if "adaptive" in bonus:
        given["reward"] = fragment.reward
    return given


def at(given: dict[str, Any], t: int) -> dict[str, Any]:
    return {
        name: {key: rows[t] for key, rows in value.items()} if isinstance(value, dict) else value[t]
        for name, value in given.items()
    }


@pytest.mark.parametrize("bonus", [*STEPWISE, "agac(episodic_coefficient=0.1)", "agac * e3b", "adaptive"])
def test_rollouts_give_the_numbers_of_the_intrinsic_model(bonus: str) -> None:
    settings: dict[str, Any] = {"normalise_at": "terms", "coefficient": 0.5, "updates": 2}
    ours, theirs = explorer(bonus, **settings), model(bonus, **settings)
    for fragment in cut([20, 15, 15]):
        given = arguments(fragment, bonus)
        if fragment.num_steps == 20:
            given["obs"] = fragment.observations  # T + 1 rows
        batch = theirs.process(fragment)
        np.testing.assert_allclose(ours.rollout(**given), batch.bonus, **SAME)
        assert ours.metrics.keys() == batch.metrics.keys()
        np.testing.assert_allclose(list(ours.metrics.values()), list(batch.metrics.values()), rtol=1e-5)


@pytest.mark.parametrize("bonus", STEPWISE)
def test_single_steps_give_the_numbers_of_the_whole_fragment(bonus: str) -> None:
    ours, theirs = explorer(bonus, normalise="none", updates=0), model(bonus, normalise="none")
    for fragment in cut([25, 15]):
        given = arguments(fragment, bonus)
        found = np.stack([ours.observe(**at(given, t)) for t in range(fragment.num_steps)])
        np.testing.assert_allclose(found, theirs.process(fragment, learn=False).bonus, **SAME)


@pytest.mark.parametrize("fragment_length", [20, None])
@pytest.mark.parametrize("bonus", ["e3b * rnd", "ride + icm", "noveld(episodic=true)"])
def test_learning_from_single_steps_is_learning_from_their_fragment(bonus: str, fragment_length: int | None) -> None:
    ours, theirs = explorer(bonus, normalise="none", fragment_length=fragment_length), model(bonus, normalise="none")
    learnt, after = cut([20, 20])
    before = theirs.process(learnt).bonus
    for fragment, expected in ((learnt, before), (after, theirs.process(after, learn=False).bonus)):
        given = arguments(fragment, bonus)
        found = np.stack([ours.observe(**at(given, t)) for t in range(20)])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        if fragment_length is None and fragment is learnt:
            assert ours.learn() is ours.metrics
            assert any(key.startswith("learn/") for key in ours.metrics)
            np.testing.assert_allclose(ours.metrics["bonus/mean"], before.mean(), rtol=1e-5)
            np.testing.assert_allclose(ours.metrics["bonus/max"], before.max(), rtol=1e-5)


def test_the_normaliser_takes_in_every_step_before_it_divides() -> None:
    raw, normalised = explorer("e3b", normalise="none", updates=0), explorer("e3b", coefficient=3.0, updates=0)
    given = arguments(cut([30])[0], "e3b")
    values = np.stack([raw.observe(**at(given, t)) for t in range(30)])
    found = np.stack([normalised.observe(**at(given, t)) for t in range(30)])
    expected = [3 * row / values[: t + 1].std() for t, row in enumerate(values) if t]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-4)


def test_a_restored_explorer_gives_the_same_next_values() -> None:
    given = arguments(cut([60])[0], "e3b * rnd")
    one, two = explorer("e3b * rnd", fragment_length=16), explorer("e3b * rnd", fragment_length=16, seed=9)
    for t in range(25):
        one.observe(**at(given, t))
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    for t in range(25, 60):  # learns twice, first from steps that were observed before
        np.testing.assert_array_equal(one.observe(**at(given, t)), two.observe(**at(given, t)))
    with pytest.raises(InvalidInput, match="the state has 3 envs; this explorer has 1"):
        Explorer("e3b * rnd", OBSERVATION_SPACE, ACTION_SPACE, network="small").load_state_dict(one.state_dict())


def test_tensors_in_tensors_out() -> None:
    given = arguments(cut([12])[0], "e3b * rnd")
    arrays, tensors = explorer("e3b * rnd"), explorer("e3b * rnd")
    for t in range(12):
        step = at(given, t)
        as_floats = {
            name: {key: torch.tensor(rows).float() for key, rows in value.items()}
            if isinstance(value, dict)
            else torch.tensor(value).float()
            for name, value in step.items()
        }
        expected, found = arrays.observe(**step), tensors.observe(**as_floats)
        assert expected.dtype == np.float32
        assert found.dtype == torch.float32
        np.testing.assert_array_equal(found.numpy(), expected)


def test_one_env_needs_no_axis() -> None:
    flat, batched = [Explorer("rnd + count.episodic(observation)", BOX, spaces.Discrete(2)) for _ in range(2)]
    rng = np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (11, 4)).astype(np.float32)
    for t in range(10):
        found = flat.observe(obs[t], 1, obs[t + 1], False, False)
        expected = batched.observe(obs[t : t + 1], [1], obs[t + 1 : t + 2], [False], [False])
        assert found.shape == ()
        assert found == expected[0]


@pytest.mark.parametrize(
    "bonus", ["rnd", "noveld", "count.global(observation)", "elliptical.global(features=random)", "e3b(encoder=random)"]
)
def test_continuous_actions_where_none_are_needed(bonus: str) -> None:
    env = gym.make("Pendulum-v1")
    found = Explorer(bonus, env.observation_space, env.action_space)
    obs, _ = env.reset(seed=0)
    for _ in range(3):
        action = env.action_space.sample()
        next_obs, _, terminated, truncated, _ = env.step(action)
        assert np.isfinite(found.observe(obs, action, next_obs, terminated, truncated))
        obs = next_obs
    assert found.learn().keys() >= {"bonus/mean"}


@pytest.mark.parametrize("bonus", ["e3b * rnd", "icm", "ride", "ngu", "agac"])
def test_continuous_actions_where_discrete_ones_are_needed(bonus: str) -> None:
    with pytest.raises(InvalidInput, match=r"learns from discrete actions: the environment has actions Box.*; rnd, "):
        Explorer(bonus, BOX, spaces.Box(-1, 1, (2,)))


def test_what_a_loop_must_pass() -> None:
    given = arguments(cut([4])[0], "")
    with pytest.raises(InvalidInput, match="'agac' learns from whole rollouts: use rollout"):
        explorer("agac").observe(**at(given, 0))
    with pytest.raises(InvalidInput, match="needs logits of every step: pass logits="):
        explorer("agac").rollout(**given)
    with pytest.raises(InvalidInput, match="needs reward of every step: pass reward="):
        explorer("adaptive").rollout(**given)
    with pytest.raises(InvalidInput, match="needs the policy's features of every step: pass features="):
        explorer("e3b(encoder=policy)").observe(**at(given, 0))
    with pytest.raises(InvalidInput, match=r"logits has shape \(4, 3\), not \(4, 3, 8\)"):
        explorer("agac").rollout(**given, logits=np.zeros((4, 3)))
    with pytest.raises(InvalidInput, match="unknown argument 'rewards'; did you mean reward"):
        explorer("rnd").observe(**at(given, 0), rewards=0)
    with pytest.raises(InvalidInput, match=r"without reset steps.*SAME_STEP"):
        explorer("agac", autoreset="next_step")


def test_wrong_arguments_are_named() -> None:
    made = Explorer("rnd", BOX, spaces.Discrete(2), 2)
    zeros, no = np.zeros((2, 4), np.float32), [False, False]
    with pytest.raises(InvalidInput, match=r"obs has shape \(4,\), not \(2, 4\)"):
        made.observe(zeros[0], [0, 1], zeros, no, no)
    with pytest.raises(InvalidInput, match=r"terminated has shape \(3,\), not \(2,\)"):
        made.observe(zeros, [0, 1], zeros, [False] * 3, no)
    with pytest.raises(InvalidInput, match=r"invalid actions \[0, 2\]"):
        made.observe(zeros, [0, 2], zeros, no, no)
    with pytest.raises(EnvError, match="'obs' contains NaN"):
        made.observe(zeros, [0, 1], zeros * np.nan, no, no)
    with pytest.raises(InvalidInput, match="next_obs must have the parts 'blstats', 'glyphs', 'message'"):
        explorer("rnd").observe(**at(arguments(cut([1])[0], ""), 0) | {"next_obs": {"glyphs": 0}})
    with pytest.raises(InvalidInput, match="unknown autoreset mode 'same-step'; did you mean same_step"):
        explorer("rnd", autoreset="same-step")


def test_misplaced_observations_are_warned_about_once() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (6, 1, 4)).astype(np.float32)
    jumping, reset_itself, right = [Explorer("rnd", BOX, spaces.Discrete(2)) for _ in range(3)]
    jumping.observe(rows[0], [0], rows[1], [False], [False])
    with pytest.warns(UserWarning, match="obs is not the next_obs of the step before"):
        jumping.observe(rows[2], [0], rows[3], [False], [False])
    for t in range(8):
        reset_itself.observe(rows[t % 2], [0], rows[1 - t % 2], [True], [False])
    with pytest.warns(UserWarning, match="create the Explorer with autoreset="):
        reset_itself.observe(rows[0], [0], rows[1], [True], [False])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jumping.observe(rows[2], [0], rows[3], [False], [False])
        right.observe(rows[0], [0], rows[1], [False], [True])
        right.observe(rows[2], [0], rows[3], [True], [False])
        for t in range(20):  # episodes that start where the last one ended, though not all of them
            right.observe(rows[(t + 1) % 2], [0], rows[t % 2], [True], [False])
        right.reset()
        right.observe(rows[4], [0], rows[5], [False], [False])


def test_reset_starts_new_episodes() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (3, 4)).astype(np.float32)
    made = Explorer("count.episodic(observation)", BOX, spaces.Discrete(2), normalise="none")
    seen = [made.observe(rows[0], 0, rows[1], False, False), made.observe(rows[1], 0, rows[0], False, False)]
    made.reset()
    seen.append(made.observe(rows[2], 0, rows[1], False, False))
    assert seen == [1, 0, 1]


def test_repr() -> None:
    assert repr(explorer("e3b*rnd")) == "Explorer('e3b * rnd', num_envs=3, network='small')"


def test_neither_ray_nor_an_environment_is_imported() -> None:
    code = """
import sys
for name in ("ray", "nle", "minihack", "mlflow", "ale_py", "minigrid", "pandas", "matplotlib", "PIL"):
    sys.modules[name] = None
import gymnasium, numpy
from bonuslab.algorithms.bonuses.reward.explorer import Explorer
from bonuslab.algorithms.extensions import bonus
@bonus("far", scope="global")
def far(step): return step.next_obs["obs"][..., 0].abs()
env = gymnasium.make("CartPole-v1")
explorer = Explorer("e3b * rnd + far", env.observation_space, env.action_space, 2, fragment_length=2)
obs = numpy.zeros((3, 2, 4), numpy.float32)
for t in range(2):
    bonus = explorer.observe(obs[t], [0, 1], obs[t + 1], [False, False], [False, False])
print(bonus.shape, "learn/rnd/predictor_loss" in explorer.metrics)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(2,) True", done.stderr
