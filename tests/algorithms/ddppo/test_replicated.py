"""Two workers act as one: the same gradient steps, bonuses, counts and normalisers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import numpy as np
import pytest
import torch

from bonuslab.algorithms.acting.rollout import FOLLOWING_VALUE, NEXT_VALUE, VALUE
from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.learning.collectives import Collectives

SPACES = {"default_policy": (OBSERVATION_SPACE, gym.spaces.Discrete(NUM_ACTIONS))}
EXPRESSIONS = (
    "e3b * rnd",
    "rnd(networks=full) + noveld(episodic=true)",
    "count.global(position) * count.episodic(position)",
    "elliptical.global(centres=16)",
    "icm + ride",
    "agac(episodic_coefficient=0.1)",
    "ngu",
)


def fragments(lengths: tuple[int, int], seed: int = 0, heads: int = 1) -> list[Fragment]:
    """Rollouts of two workers with one env each, in float64."""
    made = []
    for worker, length in enumerate(lengths):
        rng = np.random.default_rng([seed, worker])
        whole = Trajectory(num_envs=1, num_steps=12, seed=10 * seed + worker, mean_episode=5)
        fragment = whole.cut([length], first_env=worker)[0]
        T = fragment.num_steps
        fragment.state = tuple(rng.normal(size=(1, 1, 64)) for _ in range(2))
        fragment.final_state = tuple(rng.normal(size=(1, len(fragment.final_index), 64)) for _ in range(2))
        shape = (T, 1) if heads == 1 else (T, 1, heads)
        fragment.extra = {name: rng.normal(size=shape) for name in (VALUE, NEXT_VALUE, FOLLOWING_VALUE)}
        fragment.extra |= {name: rng.normal(size=(T, 1)) for name in ("reward", "bonus")}
        made.append(fragment)
    return made


def learner(make_config, collectives: Collectives, **training):
    config = make_config("none").training(**{"num_epochs": 2, "num_minibatches": 1, **training})
    torch.manual_seed(7)
    made = config.build_learner(spaces=SPACES)
    made.module["default_policy"].double()
    made.collectives = collectives
    return made


def parameters(made) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in made.module["default_policy"].parameters()])


def both(function, *arguments) -> list:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, *arguments))


@pytest.mark.parametrize("heads", [1, 2])
def test_two_workers_with_one_env_each_equal_one_worker_with_both(make_config, connected, heads):
    training = {"normalise_advantages": True, "num_values": heads}
    parts = fragments((12, 12), heads=heads)
    alone = learner(make_config, Collectives(), **training)
    before = parameters(alone)
    alone.learn_from(concat_envs(parts))
    workers = [learner(make_config, replica, **training) for replica in connected(2)]
    both(lambda worker, part: worker.learn_from(part), workers, parts)
    ours, theirs = map(parameters, workers)
    assert torch.equal(ours, theirs)
    assert (parameters(alone) - before).abs().max() > 1e-4
    torch.testing.assert_close(ours, parameters(alone), rtol=0, atol=1e-8)


def test_rollouts_are_weighted_by_their_steps(make_config, connected):
    """The gradient of 12 and 3 steps is that of the mean loss over all 15, not a mean of two means."""
    parts = fragments((12, 3))
    workers = [learner(make_config, replica, num_epochs=1, normalise_advantages=False) for replica in connected(2)]
    gradients: dict[int, torch.Tensor] = {}
    alone = [learner(make_config, Collectives(), num_epochs=1, normalise_advantages=False) for _ in parts]
    own = []
    for made, part in zip(alone, parts, strict=True):
        made.reduce_gradients = lambda parameters, steps: own.append(
            (steps, torch.cat([p.grad.flatten() for p in parameters]))
        )
        made.learn_from(part)
    for worker in workers:
        averaged = worker.reduce_gradients

        def keep(parameters, steps, averaged=averaged, rank=worker.collectives.rank):
            averaged(parameters, steps)
            gradients[rank] = torch.cat([p.grad.flatten() for p in parameters])

        worker.reduce_gradients = keep
    both(lambda worker, part: worker.learn_from(part), workers, parts)
    assert [steps for steps, _ in own] == [12, 3]
    expected = (12 * own[0][1] + 3 * own[1][1]) / 15
    torch.testing.assert_close(gradients[0], expected, rtol=0, atol=1e-12)
    assert torch.equal(gradients[0], gradients[1])
    assert torch.equal(parameters(workers[0]), parameters(workers[1]))


def model(expression: str, collectives: Collectives, normalise: str = "std") -> IntrinsicModel:
    setting = Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", collectives=collectives)
    made = IntrinsicModel(parse(expression), setting, normalise=normalise, updates=3)
    for source in setting.models.values():
        for part in vars(source).values():
            if isinstance(part, torch.nn.Module):
                part.double()
    return made


def rollouts(round_: int) -> list[Fragment]:
    """Consecutive rollouts of two workers with two envs each."""
    return [
        Trajectory(2, 24, seed=worker, mean_episode=7).cut([12, 12], first_env=2 * worker)[round_]
        for worker in range(2)
    ]


@pytest.mark.parametrize(("expression", "normalise"), [*((text, "std") for text in EXPRESSIONS), ("e3b", "return")])
def test_bonuses_of_two_workers_equal_those_of_one(connected, expression, normalise):
    """Counts, covariances and normalisers are shared, gradients averaged; three updates per rollout."""
    alone = model(expression, Collectives(), normalise)
    workers = [model(expression, replica, normalise) for replica in connected(2)]
    for round_ in range(2):
        parts = rollouts(round_)
        whole = alone.process(concat_envs(parts)).bonus
        halves = both(lambda worker, part: worker.process(part).bonus, workers, parts)
        np.testing.assert_allclose(np.concatenate(halves, axis=1), whole, rtol=1e-5, atol=1e-6)
    states = [flat(worker.setting.state_dict()) for worker in [*workers, alone]]
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        if "memory" in name:
            continue
        assert np.array_equal(value, states[1][name]), name
        if value.dtype.kind == "f" and "optimiser" not in name:
            np.testing.assert_allclose(value, states[2][name], rtol=0, atol=1e-8, err_msg=name)
    moments = [normaliser.state_dict() for normaliser in workers[0]._normalisers.values()]
    for ours, theirs in zip(moments, (n.state_dict() for n in workers[1]._normalisers.values()), strict=True):
        assert ours["count"] == 2 * 12 * 4
        assert {k: v for k, v in ours.items() if k != "sums"} == {k: v for k, v in theirs.items() if k != "sums"}


def flat(state, prefix: str = "") -> dict[str, np.ndarray]:
    """Tensors and arrays of a nested state, by path."""
    if isinstance(state, dict):
        return {name: v for key, value in state.items() for name, v in flat(value, f"{prefix}/{key}").items()}
    if isinstance(state, torch.Tensor | np.ndarray):
        return {prefix: np.asarray(state)}
    return {}
