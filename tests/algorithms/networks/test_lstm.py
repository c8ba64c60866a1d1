"""The LSTM with resets equals `nn.LSTM` step by step, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bonuslab.algorithms.networks.lstm import ResettingLSTM

T, N, INPUTS, HIDDEN = 17, 5, 6, 7


def step_by_step(lstm: ResettingLSTM, x: Tensor, first: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The definition: reset the state of envs that start an episode before each step."""
    outputs = []
    for t in range(len(x)):
        h, c = h.clone(), c.clone()
        h[:, first[t]] = 0
        c[:, first[t]] = 0
        output, (h, c) = lstm.layers(x[t : t + 1], (h, c))
        outputs.append(output[0])
    return torch.stack(outputs), h, c


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("path", ["recurrence", "segments"])
@pytest.mark.parametrize("share_of_starts", [0.0, 0.15, 1.0])
def test_equals_stepping(layers: int, path: str, share_of_starts: float) -> None:
    torch.manual_seed(0)
    lstm = ResettingLSTM(INPUTS, HIDDEN, layers).double()
    first = torch.rand(T, N) < share_of_starts
    x = torch.randn(T, N, INPUTS, dtype=torch.float64)
    state = torch.randn(2, layers, N, HIDDEN, dtype=torch.float64)
    direction = torch.randn(T, N, HIDDEN, dtype=torch.float64)

    def results(kind: str) -> list[Tensor]:
        inputs, h, c = (part.clone().requires_grad_() for part in (x, state[0], state[1]))
        if kind == "literal":
            output, last_h, last_c = step_by_step(lstm, inputs, first, h, c)
        elif kind == "recurrence":
            output, (last_h, last_c) = lstm(inputs, first, (h, c))
        else:
            output, (last_h, last_c) = lstm.forward_segments(inputs, first, (h, c))
        loss = (output * direction).sum() + (last_h * 2).sum() + (last_c * 3).sum()
        gradients = torch.autograd.grad(loss, [inputs, h, c, *lstm.parameters()])
        return [output, last_h, last_c, *gradients]

    for ours, literal in zip(results(path), results("literal"), strict=True):
        torch.testing.assert_close(ours, literal, rtol=1e-11, atol=1e-11)
