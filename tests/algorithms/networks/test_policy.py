"""Invariants of every family: acting equals unrolling, independent envs, seeds, sizes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.networks import Encoder, as_tensors, build_encoder, build_policy, families, register_family
from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.distinct import distinct_rows, per_distinct
from bonuslab.envs.errors import InvalidInput

FAMILIES = ["paper", "small", "tiny"]
T, N = 6, 3


def unroll_inputs() -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    fragment = Trajectory(N, T, seed=3, mean_episode=4).cut([T])[0]
    assert fragment.first[1:].any()
    return as_tensors(fragment.observations), torch.as_tensor(fragment.first)


def random_state(policy: Any, envs: int) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn_like(part) for part in policy.initial_state(envs))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("recurrent", [True, False])
def test_unrolling_equals_acting_step_by_step(family: str, recurrent: bool) -> None:
    torch.manual_seed(0)
    policy = build_policy(family, OBSERVATION_SPACE, NUM_ACTIONS, recurrent).double()
    observations, first = unroll_inputs()
    first[0, 0] = False
    start = random_state(policy, N)
    assert len(start) == (2 if recurrent else 0)
    whole = policy.unroll(observations, first, start)
    assert whole.logits.shape == (T + 1, N, NUM_ACTIONS)
    assert whole.value.shape == (T + 1, N)
    assert whole.features.shape == (T + 1, N, policy.encoder.output_size)
    state = start
    for t in range(T + 1):
        step = policy.act({key: rows[t] for key, rows in observations.items()}, first[t], state)
        for name in ("logits", "value", "features"):
            torch.testing.assert_close(getattr(step, name), getattr(whole, name)[t], rtol=1e-10, atol=1e-10)
        state = step.state
    for ours, last in zip(state, whole.state, strict=True):
        torch.testing.assert_close(ours, last, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_batched_envs_equal_single_envs(family: str) -> None:
    torch.manual_seed(0)
    policy = build_policy(family, OBSERVATION_SPACE, NUM_ACTIONS).double()
    observations, first = unroll_inputs()
    state = random_state(policy, N)
    together = policy.unroll(observations, first, state)
    for n in range(N):
        env_index = slice(n, n + 1)
        alone = policy.unroll(
            {key: rows[:, env_index] for key, rows in observations.items()},
            first[:, env_index],
            tuple(p[:, env_index] for p in state),
        )
        torch.testing.assert_close(alone.logits, together.logits[:, env_index], rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(alone.value, together.value[:, env_index], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_seed_determines_weights_outputs_and_gradients(family: str) -> None:
    def results() -> list[torch.Tensor]:
        torch.manual_seed(5)
        policy = build_policy(family, OBSERVATION_SPACE, NUM_ACTIONS)
        observations, first = unroll_inputs()
        output = policy.unroll(observations, first, policy.initial_state(N))
        (output.logits.square().sum() + output.value.sum()).backward()
        return [output.logits, *(weight.grad for weight in policy.parameters() if weight.grad is not None)]

    for one, other in zip(results(), results(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_extreme_observations_stay_finite(family: str) -> None:
    encoder = build_encoder(family, OBSERVATION_SPACE)
    space: Any = OBSERVATION_SPACE
    extremes = {key: torch.as_tensor(np.stack([box.low, box.high])) for key, box in space.items()}
    extremes["blstats"][:, :2] = torch.tensor([[0, 0], [78, 20]])
    features = encoder(extremes)
    features.sum().backward()
    assert torch.isfinite(features).all()
    assert all(torch.isfinite(weight.grad).all() for weight in encoder.parameters() if weight.grad is not None)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("error")
def test_observations_may_be_read_only_and_are_not_modified(family: str) -> None:
    states = Trajectory(2, 2).cut([2])[0].states()
    before = {key: rows.copy() for key, rows in states.items()}
    for rows in states.values():
        rows.setflags(write=False)
    build_encoder(family, OBSERVATION_SPACE)(as_tensors(states)).sum().backward()
    assert all(np.array_equal(states[key], before[key]) for key in before)


def test_the_small_network_is_small() -> None:
    for actions in (4, 75):
        small, tiny = (build_policy(name, OBSERVATION_SPACE, actions).num_parameters() for name in ("small", "tiny"))
        assert 2 * tiny < small < 300_000


def test_the_small_network_distinguishes_messages_and_positions() -> None:
    torch.manual_seed(0)
    encoder = build_encoder("small", OBSERVATION_SPACE)
    row = {key: rows[:1].repeat(4, 0) for key, rows in Trajectory(1, 1).cut([1])[0].states().items()}
    row["message"][:] = 0
    row["message"][1, :7] = np.frombuffer(b"a door.", np.uint8)
    row["message"][2, :7] = np.frombuffer(b"a wand.", np.uint8)
    row["blstats"][3, 0] += 1
    features = encoder(as_tensors(row))
    distances = torch.cdist(features, features) + torch.eye(4)
    assert distances.min() > 1e-3


def test_an_unknown_family_suggests_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="unknown network family 'papr'; did you mean paper"):
        build_encoder("papr", OBSERVATION_SPACE)
    assert set(FAMILIES) <= set(families())


def test_a_family_is_added_by_decorator() -> None:
    class PositionEncoder(Encoder):
        output_size = 2

        def __init__(self, observation_space: Any) -> None:
            super().__init__()

        def forward(self, observations: Any) -> torch.Tensor:
            return observations["blstats"][:, :2].float()

    name = "position-of-this-test"
    if name not in families():
        register_family(name, core_size=3, core_layers=2)(PositionEncoder)
    policy = build_policy(name, OBSERVATION_SPACE, NUM_ACTIONS)
    observations, first = unroll_inputs()
    output = policy.unroll(observations, first, policy.initial_state(N))
    assert output.state[0].shape == (2, N, 3)
    with pytest.raises(ValueError, match="is taken by"):
        register_family("small", core_size=3)(PositionEncoder)


def test_distinct_rows_equal_numpy() -> None:
    rng = np.random.default_rng(0)
    for rows in (
        rng.integers(0, 2, (50, 256)).astype(np.uint8) * (rng.random((50, 1)) < 0.3).astype(np.uint8),
        rng.integers(0, 3, (60, 3)).astype(np.int16),
        np.zeros((4, 9), np.int16),
        rng.integers(0, 2, (50, 3)).astype(np.float32),
    ):
        tensor = torch.as_tensor(rows)
        example, place = distinct_rows(tensor)
        assert len(example) == len(np.unique(rows, axis=0))
        assert torch.equal(tensor[example][place], tensor)


@pytest.mark.parametrize(("distinct", "seen"), [(1, 1), (31, 31), (32, 32), (33, 64), (64, 64), (100, 128)])
def test_padded_batch_sizes_do_not_change_the_result(distinct: int, seen: int) -> None:
    rows = torch.arange(distinct).repeat(3)[:, None] + torch.arange(4)  # [3 distinct, 4]
    layer = torch.nn.Linear(4, 2, dtype=torch.float64)
    share = torch.rand(len(rows), 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sizes = []

    def trunk(some: torch.Tensor) -> torch.Tensor:
        sizes.append(len(some))
        return layer(some.double())

    values = [per_distinct(trunk, rows), trunk(rows)]
    assert sizes == [seen, len(rows)]
    torch.testing.assert_close(*values, rtol=1e-13, atol=1e-13)
    gradients = [torch.autograd.grad((value * share).sum(), layer.weight)[0] for value in values]
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_the_crop_is_centred_on_the_agent() -> None:
    rng = np.random.default_rng(0)
    glyphs = rng.integers(1, 5976, (40, 21, 79)).astype(np.int16)
    blstats = np.zeros((40, 27), np.int64)
    blstats[:, 0], blstats[:, 1] = rng.integers(79, size=40), rng.integers(21, size=40)
    padded = np.pad(glyphs, ((0, 0), (4, 4), (4, 4)))
    expected = np.stack([padded[b, y : y + 9, x : x + 9] for b, (x, y) in enumerate(blstats[:, :2])])
    crop = crop_around_agent(torch.as_tensor(glyphs), torch.as_tensor(blstats), 9, outside=0)
    assert np.array_equal(crop.numpy(), expected)
