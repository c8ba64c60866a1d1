"""Bonuses in the variants of the authors' programs equal literal versions of what those do, on random fragments.

Sources: facebookresearch/e3b, minihack/torchbeast/src and the files …_trainer.py of its Habitat program.
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


@pytest.mark.parametrize(("variant", "pays_first"), [("habitat", True), ("minihack", False)])
def test_e3b_looks_at_the_state_before_the_action(variant: str, pays_first: bool) -> None:
    # e3b_trainer.py pays the first step of an episode, utils.py does not
    bonus, _ = built("e3b(ridge=0.1)", variant)
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
                paid = pays_first or not fragment.first[t, n]
                assert float(values[t, n]) == pytest.approx(float(expected) * paid, rel=1e-4)
                u = inverse[n] @ feature
                inverse[n] = inverse[n] - torch.outer(u, u) / (1 + expected)
    assert starts > 4


def distance(model: Any, state: dict[str, np.ndarray]) -> torch.Tensor:
    """‖f − f̄‖ of one state, by whole networks or by heads on the frozen encoder."""
    inputs = batch(state) if model._encoder is None else model._encoder._encoder(batch(state))
    return (model._predictor(inputs) - model._target(inputs)).norm()


@pytest.mark.parametrize(
    ("expression", "variant", "at"),
    [("rnd", "habitat", state_at), ("rnd", "minihack", next_state_at), ("rnd_alone", "minihack", next_state_at)],
)
def test_rnd_is_the_norm_of_the_error(expression: str, variant: str, at: Any) -> None:
    # rnd_trainer.py: before the action; algos/rnd.py, algos/e3b_noveld.py: after it
    bonus, setting = built(expression, variant)
    model = list(setting.models.values())[-1]
    (fragment,) = cut(10)
    values = bonus.compute(fragment)
    with torch.no_grad():
        for t, n in np.ndindex(*fragment.action.shape):
            assert float(values[t, n]) == pytest.approx(float(distance(model, at(fragment, t, n))), rel=1e-4)


@pytest.mark.parametrize("variant", ["habitat", "minihack"])
def test_noveld_is_the_difference_of_norms(variant: str) -> None:
    # noveld_trainer.py, algos/bebold.py; whole networks on Habitat only
    bonus, setting = built("noveld", variant)
    model = list(setting.models.values())[-1]
    (fragment,) = cut(10, seed=2)
    values = bonus.compute(fragment)
    assert (type(model._target) is type(model._predictor) is not torch.nn.Sequential) == (variant == "habitat")
    with torch.no_grad():
        for t, n in np.ndindex(*fragment.action.shape):
            after, before = (distance(model, state(fragment, t, n)) for state in (next_state_at, state_at))
            assert float(values[t, n]) == pytest.approx(max(float(after - 0.1 * before), 0), rel=1e-4)


def test_minihack_losses() -> None:
    # losses.py: cross-entropy, summed over time, mean over the batch; RND's: mean over both in combinations, summed
    # over time alone. Unlike the program we also train on first states, of which this fragment has none.
    (fragment,) = cut(9, seed=8, envs=4)
    fragment.first[:], fragment.terminated[:], fragment.truncated[:] = False, False, False
    fragment.final_index = np.zeros((0, 2), np.int64)
    fragment.finals = {key: rows[:0] for key, rows in fragment.finals.items()}
    e3b, _ = built("e3b", "minihack")
    sums = {"e3b": 0.0, "rnd": 0.0, "rnd_alone": 0.0}
    models = {name: list(built(name, "minihack")[1].models.values())[-1] for name in ("rnd", "rnd_alone")}
    steps = list(np.ndindex(*fragment.action.shape))
    with torch.no_grad():
        for t, n in steps:
            features = [e3b.model._encoder(batch(state_at(fragment, row, n)))[0] for row in (t, t + 1)]
            logits = e3b.model._head(torch.cat(features))
            sums["e3b"] -= float(logits.log_softmax(-1)[fragment.action[t, n]])
            for name, model in models.items():
                sums[name] += float(distance(model, state_at(fragment, t + 1, n)))
    assert e3b.learn(fragment)["inverse_dynamics_loss"] == pytest.approx(sums["e3b"] / 4, rel=1e-4)
    assert models["rnd"].learn(fragment)["predictor_loss"] == pytest.approx(sums["rnd"] / len(steps), rel=1e-4)
    assert models["rnd_alone"].learn(fragment)["predictor_loss"] == pytest.approx(sums["rnd_alone"] / 4, rel=1e-4)


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


def forward_loss(model: Any, fragment: Fragment, t: int) -> float:
    """icm_trainer.py: the mean over envs and features of the squared error."""
    before, after = (
        model._networks["encoder"](as_tensors({k: v[i] for k, v in fragment.observations.items()})) for i in (t, t + 1)
    )
    taken = torch.nn.functional.one_hot(torch.from_numpy(fragment.action[t]), NUM_ACTIONS)
    return float((model._networks["forward_model"](torch.cat([before, taken], dim=-1)) - after).square().mean())


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
            errors = [forward_loss(model, fragment, t) if expression == "icm" else 0.0 for t in range(12)]
        setting.again()
        metrics = bonus.learn(fragment)
        loss = metrics[key]
        step = min(range(12), key=lambda t: abs(losses[t] - loss))
        assert losses[step] == pytest.approx(loss, rel=1e-5)
        assert metrics.get("forward_loss", 0.0) == pytest.approx(errors[step], rel=1e-5)
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
