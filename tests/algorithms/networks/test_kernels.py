"""Compiled inner loops compute what the plain PyTorch code beside them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bonuslab.algorithms.data.synthetic import OBSERVATION_SPACE
from bonuslab.algorithms.learning.discounted_sum import discounted_sum
from bonuslab.algorithms.networks import build_policy
from bonuslab.algorithms.networks.compiled_policy import CompiledPolicy, policy_for_acting, unroll_for_learning
from bonuslab.algorithms.networks.crop import crop_around_agent
from bonuslab.algorithms.networks.kernels.gemm import gemm
from bonuslab.algorithms.networks.lstm import ResettingLSTM
from bonuslab.algorithms.networks.policy import PolicyNetwork
from bonuslab.algorithms.networks.small import FEWEST_TO_COMPARE, SmallEncoder

T, N = 33, 16


def assert_close(ours: Tensor, exact: Tensor, tolerance: float = 1e-5) -> None:
    """Largest error relative to the largest entry."""
    error = (ours.detach().double() - exact.detach()).abs().max() / exact.detach().abs().max().clamp(min=1e-12)
    assert error < tolerance, float(error)


def test_this_pytorch_exports_its_matrix_product() -> None:
    """Otherwise the compiled recurrence would silently be off on the machines we test on."""
    if not torch.backends.mkl.is_available():
        pytest.skip("PyTorch without MKL: the recurrence runs uncompiled")
    assert gemm()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("distinct", [None, 40])
def test_recurrence(layers: int, distinct: int | None) -> None:
    torch.manual_seed(0)
    lstm = ResettingLSTM(24, 12, layers)
    rows = None if distinct is None else torch.randint(distinct, (T, N))
    inputs = torch.randn(*((T, N) if distinct is None else (distinct,)), 24)
    first = torch.rand(T, N) < 0.1
    state = torch.randn(2, layers, N, 12)
    direction, slanted = torch.randn(T, N, 12), torch.randn(12, N).t()  # not contiguous

    def results(convert: Callable[[Tensor], Tensor]) -> list[Tensor]:
        x, h, c = (convert(part).requires_grad_() for part in (inputs, state[0], state[1]))
        output, (last_h, last_c) = lstm(x, first, (h, c), rows)
        loss = (output * convert(direction)).sum() + (2 * last_h).sum() + (last_c * convert(slanted)).sum()
        return [output, last_h, last_c, *torch.autograd.grad(loss, [x, h, c, *lstm.parameters()])]

    compiled = results(Tensor.clone)
    lstm.double()  # runs the plain recurrence
    for ours, exact in zip(compiled, results(Tensor.double), strict=True):
        assert_close(ours, exact)


def test_distinct_inputs_equal_repeated_ones() -> None:
    torch.manual_seed(1)
    lstm = ResettingLSTM(6, 7).double()
    inputs, rows = torch.randn(9, 6, dtype=torch.float64), torch.randint(9, (T, N))
    first, state = torch.rand(T, N) < 0.2, lstm.initial_state(N, inputs)
    torch.testing.assert_close(lstm(inputs, first, state, rows), lstm(inputs[rows], first, state), rtol=1e-11, atol=0)


def test_recurrence_passes_nan_on() -> None:
    lstm = ResettingLSTM(4, 3)
    inputs = torch.zeros(T, N, 4)
    inputs[5, 2, 1] = float("nan")
    output, _ = lstm(inputs, torch.zeros(T, N, dtype=torch.bool), lstm.initial_state(N, inputs))
    assert output[5:, 2].isnan().all()
    assert output[:, torch.arange(N) != 2].isfinite().all()


def observations(rows: int, repeated: int) -> dict[str, Tensor]:
    """Random observations, each `repeated` times."""
    random = np.random.default_rng(3)
    space = OBSERVATION_SPACE
    glyphs = random.integers(0, space["glyphs"].high.max() + 1, (rows, 21, 79)).astype(space["glyphs"].dtype)
    blstats = random.integers(-2000, 2000, (rows, *space["blstats"].shape)).astype(space["blstats"].dtype)
    blstats[:, 0], blstats[:, 1] = random.integers(0, 79, rows), random.integers(0, 21, rows)
    message = random.integers(32, 127, (rows, *space["message"].shape)).astype(np.uint8)
    message[np.arange(message.shape[1]) >= random.integers(0, 60, (rows, 1))] = 0
    order = random.permutation(np.repeat(np.arange(rows), repeated))
    return {
        key: torch.from_numpy(part[order])
        for key, part in (("glyphs", glyphs), ("blstats", blstats), ("message", message))
    }


def plain_features(encoder: SmallEncoder, given: dict[str, Tensor]) -> Tensor:
    """The definition of `small` and `tiny`, row by row in float64."""
    crops = crop_around_agent(given["glyphs"].clone(), given["blstats"], encoder.crop, outside=encoder._no_glyph)
    cells = encoder.glyph_embedding(encoder._kind[crops.long()]).permute(0, 3, 1, 2)
    numbers = given["blstats"][:, encoder._column].clamp(-1000, 1000) * encoder._scale
    bits = (given["blstats"][:, 25, None] >> encoder._bit) & 1
    letters = given["message"].long()
    triples = (letters[:, :-2] * 131 + letters[:, 1:-1]) * 131 + letters[:, 2:]
    buckets = (1 + (triples * 2654435761 >> 12) % 511).masked_fill(letters[:, 2:] == 0, 0)
    parts = [
        encoder.map(cells),
        encoder.blstats(torch.cat([numbers, bits.to(numbers.dtype)], 1)),
        encoder.message(buckets),
    ]
    return encoder.hidden(torch.cat(parts, 1))


@pytest.mark.parametrize(("rows", "repeated"), [(10, 1), (60, 1), (30, 4), (FEWEST_TO_COMPARE, 3)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)])
@pytest.mark.parametrize("family", ["small", "tiny"])
def test_small_encoder(family: str, rows: int, repeated: int, dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(4)
    encoder = build_policy(family, OBSERVATION_SPACE, 5).encoder.to(dtype)
    given = observations(rows, repeated)
    direction = torch.randn(rows * repeated, encoder.output_size, dtype=dtype)
    ours = encoder(given)
    gradients = torch.autograd.grad((ours * direction).sum(), list(encoder.parameters()))
    encoder.double()
    exact = plain_features(encoder, given)
    expected = torch.autograd.grad((exact * direction.double()).sum(), list(encoder.parameters()))
    assert_close(ours, exact, tolerance)
    for mine, plain in zip(gradients, expected, strict=True):
        assert_close(mine, plain, tolerance)


def test_states_prepared_once_serve_every_minibatch() -> None:
    """Distinct states found for the whole fragment give the outputs and gradients of each minibatch's own rows."""
    torch.manual_seed(5)
    network = build_policy("small", OBSERVATION_SPACE, 5)
    given = {key: rows.view(T, N, *rows.shape[1:]) for key, rows in observations(T * N // 4, 4).items()}
    first, state = torch.rand(T, N) < 0.1, network.initial_state(N)
    states = network.encoder.prepare(given)
    assert len(states.stats) == T * N // 4
    for columns in torch.randperm(N).split(4):
        chosen = {key: rows[:, columns] for key, rows in given.items()}
        part = tuple(half[:, columns] for half in state)
        results = []
        for source in (states.of_envs(columns), chosen):
            output = network.unroll(source, first[:, columns], part)
            results.append(with_gradients(network, output.logits, output.value))
        for ours, exact in zip(*results, strict=True):
            assert_close(ours, exact.double())


def with_gradients(network: PolicyNetwork, logits: Tensor, value: Tensor) -> list[Tensor]:
    """Logits, values and the gradients of a sum of both."""
    loss = (logits.square() * torch.arange(1, logits.shape[-1] + 1)).sum() + value.cos().sum()
    return [logits, value, *torch.autograd.grad(loss, list(network.parameters()))]


@pytest.mark.parametrize("family", ["small", "tiny"])
@pytest.mark.parametrize("num_values", [1, 2])
def test_learning_compiled(family: str, num_values: int) -> None:
    torch.manual_seed(8)
    network = build_policy(family, OBSERVATION_SPACE, 5, num_values=num_values)
    given = {key: rows.view(T, N, *rows.shape[1:]) for key, rows in observations(T * N // 4, 4).items()}
    first, state = torch.rand(T, N) < 0.1, tuple(torch.randn_like(part) for part in network.initial_state(N))
    logits, value, next_value = unroll_for_learning(network, network.encoder.prepare(given), first, state)
    assert "_Unroll" in type(logits.grad_fn).__name__
    assert not next_value.requires_grad
    compiled = [*with_gradients(network, logits, value), next_value]
    plain = network.double().unroll(given, first, tuple(map(Tensor.double, state)))
    exact = [*with_gradients(network, plain.logits[:-1], plain.value[:-1]), plain.value[1:]]
    for ours, expected in zip(compiled, exact, strict=True):
        assert_close(ours, expected)


@pytest.mark.parametrize("family", ["small", "tiny"])
def test_acting_compiled(family: str) -> None:
    torch.manual_seed(7)
    network = build_policy(family, OBSERVATION_SPACE, 5)
    given, first = observations(N, 1), torch.rand(N) < 0.3
    state = tuple(torch.randn(2, 1, N, network.core.layers.hidden_size))  # type: ignore[union-attr]
    with torch.inference_mode():
        policy = policy_for_acting(network)
        assert isinstance(policy, CompiledPolicy)
        ours, plain = (
            policy.act(given, first, state),
            network.double().act(given, first, tuple(map(Tensor.double, state))),
        )
    for name in ("logits", "value", "features"):
        assert_close(getattr(ours, name), getattr(plain, name))
    for mine, exact in zip(ours.state, plain.state, strict=True):
        assert_close(mine, exact)


def test_a_subclass_of_the_encoder_is_not_compiled() -> None:
    class Doubled(SmallEncoder):
        def encode(self, states: Any) -> tuple[Tensor, Tensor]:
            features, place = super().encode(states)
            return 2 * features, place

    network = PolicyNetwork(Doubled(OBSERVATION_SPACE), num_actions=3, core_size=8)
    assert policy_for_acting(network) is network


def test_small_encoder_passes_nan_on() -> None:
    encoder = build_policy("tiny", OBSERVATION_SPACE, 5).encoder
    given = observations(12, 1)
    with torch.no_grad():
        encoder.message.weight[1:] = float("nan")
        assert encoder(given).isnan().any(1).all()


def test_discounted_sum() -> None:
    torch.manual_seed(6)
    delta, weight = torch.randn(2, 9, 3, dtype=torch.float64)
    weight[4, 1] = 0
    total = discounted_sum(delta, weight)
    for n in range(3):
        for t in range(9):
            literal = sum(float(delta[k, n] * weight[t:k, n].prod()) for k in range(t, 9))
            assert float(total[t, n]) == pytest.approx(literal, rel=1e-12)
