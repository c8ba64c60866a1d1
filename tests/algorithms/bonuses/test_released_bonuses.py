"""Bonuses in the variants of the authors' programs equal literal versions of what those do, on random fragments.

Sources: facebookresearch/e3b, e3b_minihack/src and the files …_trainer.py of its Habitat program.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory, next_state_at, state_at
from bonuslab.algorithms.networks import as_tensors


def built(expression: str, variant: str) -> tuple[Any, Setting]:
    setting = Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", variant=variant, grad_clip=0.2)
    return parse(expression).build(setting), setting


def cut(*lengths: int, seed: int = 0, envs: int = 3, grid: int = 4) -> list[Fragment]:
    return Trajectory(num_envs=envs, num_steps=sum(lengths), seed=seed, grid=grid, mean_episode=6).cut(list(lengths))


def batch(state: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return as_tensors({key: value[None] for key, value in state.items()})


def test_habitats_e3b_pays_the_first_step_and_looks_at_the_state_before_the_action() -> None:
    bonus, _ = built("e3b(ridge=0.1)", "habitat")
    encoder = bonus.model._encoder
    inverse = {}
    starts = 0
    for fragment in cut(7, 9):
        values = bonus.compute(fragment)
        with torch.no_grad():
            for t, n in np.ndindex(*fragment.action.shape):
                if fragment.first[t, n]:
                    inverse[n] = torch.eye(encoder.output_size).double() / 0.1
                feature = encoder(batch(state_at(fragment, t, n)))[0].double()
                expected = feature @ inverse[n] @ feature
                starts += int(fragment.first[t, n])
                assert float(values[t, n]) == pytest.approx(float(expected), rel=1e-4)
                u = inverse[n] @ feature
                inverse[n] = inverse[n] - torch.outer(u, u) / (1 + expected)
    assert starts > 4


def test_habitats_rnd_is_the_norm_at_the_state_before_the_action() -> None:
    bonus, setting = built("rnd", "habitat")
    (model,) = setting.models.values()
    (fragment,) = cut(10)
    values = bonus.compute(fragment)
    with torch.no_grad():
        for t, n in np.ndindex(*fragment.action.shape):
            rows = batch(state_at(fragment, t, n))
            error = model._predictor(rows) - model._target(rows)
            assert float(values[t, n]) == pytest.approx(float(error.norm()), rel=1e-4)


def test_habitats_noveld_has_whole_networks_and_the_difference_of_norms() -> None:
    bonus, setting = built("noveld", "habitat")
    (model,) = setting.models.values()
    (fragment,) = cut(10, seed=2)
    values = bonus.compute(fragment)
    assert type(model._target) is type(model._predictor)

    def novelty(state: dict[str, np.ndarray]) -> float:
        return float((model._predictor(batch(state)) - model._target(batch(state))).norm())

    with torch.no_grad():
        for t, n in np.ndindex(*fragment.action.shape):
            gain = novelty(next_state_at(fragment, t, n)) - 0.1 * novelty(state_at(fragment, t, n))
            assert float(values[t, n]) == pytest.approx(max(gain, 0), rel=1e-4)


@pytest.mark.parametrize(("variant", "size"), [("habitat", "mean"), ("minihack", "norm"), ("ours", "half")])
def test_icm_sizes(variant: str, size: str) -> None:
    bonus, _ = built("icm", variant)
    networks = bonus._model._networks
    (fragment,) = cut(10, seed=3)
    values = bonus.compute(fragment)
    with torch.no_grad():
        for t, n in np.ndindex(*fragment.action.shape):
            before, after = (
                networks["encoder"](batch(s))[0] for s in (state_at(fragment, t, n), next_state_at(fragment, t, n))
            )
            action = torch.zeros(NUM_ACTIONS)
            action[fragment.action[t, n]] = 1
            error = networks["forward_model"](torch.cat([before, action])) - after
            sizes = {"mean": error.square().mean(), "norm": error.norm(), "half": 0.5 * error.square().sum()}
            assert float(values[t, n]) == pytest.approx(float(sizes[size]), rel=1e-4)


def loss_of_step(model: Any, expression: str, fragment: Fragment, t: int) -> float:
    """What an update of the Habitat program minimises: rollout_storage.py's `sample_triplet` at index t."""
    rows = [as_tensors({k: v[i] for k, v in fragment.observations.items()}) for i in (t, t + 1)]
    if expression.startswith(("rnd", "noveld")):  # rnd_trainer.py, noveld_trainer.py: the state before the action
        inputs = rows[0] if model._encoder is None else model._encoder._encoder(rows[0])
        return float((model._predictor(inputs) - model._target(inputs)).square().mean())
    encoder = model._encoder if expression == "e3b" else model._networks["encoder"]
    head = model._head if expression == "e3b" else model._networks["inverse"]
    logits = head(torch.cat([encoder(r) for r in rows], dim=-1))
    chosen = logits.log_softmax(-1)[torch.arange(fragment.num_envs), torch.from_numpy(fragment.action[t])]
    return -float(chosen.mean())


@pytest.mark.parametrize("expression", ["e3b", "icm", "rnd", "noveld", "rnd(networks=shared)"])
def test_one_habitat_update_takes_one_random_step_of_all_envs_across_episode_ends(expression: str) -> None:
    bonus, setting = built(expression, "habitat")
    model = list(setting.models.values())[-1]
    (fragment,) = cut(12, seed=4, envs=5)
    key = {"e3b": "inverse_dynamics_loss", "icm": "inverse_loss"}.get(expression, "predictor_loss")
    seen = set()
    for _ in range(12):
        with torch.no_grad():
            losses = [loss_of_step(model, expression, fragment, t) for t in range(12)]
        setting.again()
        loss = bonus.learn(fragment)[key]
        step = min(range(12), key=lambda t: abs(losses[t] - loss))
        assert losses[step] == pytest.approx(loss, rel=1e-5)
        seen.add(step)
    assert len(seen) > 4
    assert fragment.first[1:-1].any()


@pytest.mark.parametrize("expression", ["e3b", "rnd"])
def test_the_random_steps_are_saved(expression: str) -> None:
    (fragment,) = cut(20)
    one, first = built(expression, "habitat")
    other, second = built(expression, "habitat")
    one.learn(fragment)
    second.load_state_dict(first.state_dict())
    first.again()
    assert one.learn(fragment) == other.learn(fragment)


def released_counts(fragments: list[Fragment], episodic: bool) -> list[np.ndarray]:
    """The actor loop of the MiniHack program: count a row, then empty the episodic table if it starts an episode."""
    tables: dict[int, Counter] = {n: Counter() for n in range(fragments[0].num_envs)}
    found = []
    for fragment in fragments:
        counts = np.zeros(fragment.action.shape)
        for n, table in tables.items():
            for row in range(fragment.num_steps + 1):
                key = tuple(fragment.observations["blstats"][row, n, :2])
                table[key] += 1
                if row:
                    counts[row - 1, n] = table[key]
                if episodic and fragment.first[row, n]:
                    table.clear()
        found.append(counts)
    return found


@pytest.mark.parametrize("lengths", [(15,), (1, 6, 3, 10), (4, 4, 4, 4, 4)])
def test_counts_as_released(lengths: tuple[int, ...]) -> None:
    fragments = cut(*lengths, seed=5, grid=2)
    everything = built("count.global", "minihack")[0]
    indicator, root = built("count.episodic", "minihack")[0], built("count.episodic(form=root)", "minihack")[0]
    for fragment, total, visits in zip(
        fragments, released_counts(fragments, episodic=False), released_counts(fragments, episodic=True), strict=True
    ):
        np.testing.assert_allclose(everything.compute(fragment), 1 / np.sqrt(total))
        np.testing.assert_allclose(indicator.compute(fragment), visits == 1)
        np.testing.assert_allclose(root.compute(fragment), 1 / np.sqrt(visits))


def test_returning_to_the_start_pays_as_released() -> None:
    for variant, expected in (("minihack", 1.0), ("ours", 0.0)):
        (fragment,) = cut(2, envs=1)
        fragment.first[:], fragment.terminated[:], fragment.truncated[:] = [[True], [False], [False]], False, False
        fragment.final_index = np.zeros((0, 2), np.int64)
        fragment.finals = {key: rows[:0] for key, rows in fragment.finals.items()}
        fragment.observations["blstats"][:, 0, :2] = [(3, 3), (4, 3), (3, 3)]
        assert float(built("count.episodic", variant)[0].compute(fragment)[1, 0]) == expected


@pytest.mark.parametrize("expression", ["ride(position)", "agac(episodic_coefficient=1, feature=position)"])
def test_other_episodic_counts_as_released(expression: str) -> None:
    fragments = cut(6, 7, seed=6, grid=2)
    bonus = built(expression, "minihack")[0]
    for fragment, visits in zip(fragments, released_counts(fragments, episodic=True), strict=True):
        values = bonus.compute(fragment).detach().numpy()
        if bonus.name == "ride":
            features = bonus._model.features(fragment)
            rest = (features.following - features.current).norm(dim=-1).detach().numpy()
            np.testing.assert_allclose(values, rest / np.sqrt(visits), rtol=1e-5)
        else:
            rest = bonus._adversary.divergence(fragment).detach().clamp(min=0).numpy()
            np.testing.assert_allclose(values, rest + 1 / np.sqrt(visits), rtol=1e-5)


def test_gradients_are_clipped_at_the_settings_norm() -> None:
    bonus, setting = built("e3b", "habitat")
    (model,) = setting.models.values()
    bonus.learn(cut(10)[0])
    for network in (model._encoder, model._head):
        norm = torch.stack([p.grad.norm() for p in network.parameters() if p.grad is not None]).norm()
        assert float(norm) <= setting.grad_clip * (1 + 1e-5)
