"""ICM and its forward and inverse dynamics against their equations."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.icm import ICM
from bonuslab.algorithms.bonuses.models.forward_dynamics import ForwardDynamics
from bonuslab.algorithms.bonuses.ride import RIDE
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory, next_state_at, state_at
from bonuslab.algorithms.networks import as_tensors


def _setting() -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")


def _transition(model: ForwardDynamics, fragment: Fragment, t: int, n: int) -> tuple[Tensor, Tensor]:
    """The forward model's error and the inverse model's logits of a single transition."""
    states = [state_at(fragment, t, n), next_state_at(fragment, t, n)]
    now, after = (
        model._networks["encoder"](as_tensors({key: value[None] for key, value in state.items()}))[0]
        for state in states
    )
    taken = torch.zeros(NUM_ACTIONS)
    taken[int(fragment.action[t, n])] = 1
    error = model._networks["forward_model"](torch.cat([now, taken])) - after
    return error, model._networks["inverse"](torch.cat([now, after]))


def _run(bonus: ICM, fragments: Sequence[Fragment]) -> np.ndarray:
    return torch.cat([bonus.compute(fragment) for fragment in fragments]).numpy()


@torch.no_grad()
def test_equals_the_equation() -> None:
    bonus = ICM().build(_setting())
    for fragment in Trajectory(2, 30, seed=1, mean_episode=8).cut([12, 18]):
        actual = bonus.compute(fragment)
        for t in range(fragment.num_steps):
            for n in range(fragment.num_envs):
                error, _ = _transition(bonus._model, fragment, t, n)
                assert float(actual[t, n]) == pytest.approx(0.5 * float(error.square().sum()), rel=1e-3)
        bonus.learn(fragment)


@pytest.mark.parametrize("kind", [ICM, RIDE])
def test_losses_and_gradients_equal_the_equation(kind: type[ICM] | type[RIDE]) -> None:
    fragment = Trajectory(2, 15, seed=2, mean_episode=6).cut([15])[0]
    bonus = kind(forward_coefficient=3.0, inverse_coefficient=0.5).build(_setting())
    model = copy.deepcopy(bonus._model)
    forward = inverse = torch.zeros(())
    for t in range(15):
        for n in range(2):
            error, logits = _transition(model, fragment, t, n)
            forward = forward + (0.5 * error.square().sum() if kind is ICM else error.square().sum().sqrt())
            inverse = inverse - functional.log_softmax(logits, dim=0)[int(fragment.action[t, n])]
    (3.0 * forward / 2 + 0.5 * inverse / 2).backward()  # type: ignore[no-untyped-call]
    metrics = bonus.learn(fragment)
    assert metrics["forward_loss"] == pytest.approx(float(forward.detach()) / 2, rel=1e-3)
    assert metrics["inverse_loss"] == pytest.approx(float(inverse.detach()) / 2, rel=1e-3)
    expected = dict(model._networks.named_parameters())
    for name, parameter in bonus._model._networks.named_parameters():
        gradient = expected[name].grad
        assert parameter.grad is not None
        assert gradient is not None
        # Gradients are clipped to norm 40 per network, so directions are compared.
        cosine = functional.cosine_similarity(parameter.grad.flatten(), gradient.flatten(), dim=0)
        assert float(cosine) > 0.999 or float(gradient.abs().max()) < 1e-6, name


def test_error_decreases_on_repeated_transitions_and_all_networks_learn() -> None:
    fragment = Trajectory(4, 30, seed=3).cut([30])[0]
    bonus = ICM(learning_rate=1e-3).build(_setting())
    networks = bonus._model._networks
    before = {name: parameter.detach().clone() for name, parameter in networks.named_parameters()}
    first = bonus.learn(fragment)
    for _ in range(100):
        last = bonus.learn(copy.copy(fragment))
    assert last["inverse_loss"] < 0.7 * first["inverse_loss"]
    assert last["forward_loss"] < first["forward_loss"]
    for part in ("encoder", "inverse", "forward_model"):
        names = [name for name in before if name.startswith(part)]
        assert any(not torch.equal(before[name], networks.get_parameter(name)) for name in names)


def test_fragment_lengths_and_batching_do_not_matter() -> None:
    trajectory = Trajectory(3, 40, seed=4)
    bonus = ICM().build(_setting())
    whole = _run(bonus, trajectory.cut([40]))
    np.testing.assert_allclose(_run(bonus, trajectory.cut([7, 1, 22, 10])), whole, rtol=1e-4)
    np.testing.assert_allclose(_run(bonus, [trajectory.cut([40])[0].select_envs([2])]), whole[:, [2]], rtol=1e-4)


def test_terms_with_equal_parameters_share_one_model() -> None:
    setting = _setting()
    assert ICM().build(setting)._model is ICM().build(setting)._model
    assert RIDE().build(setting)._model is not ICM().build(setting)._model
