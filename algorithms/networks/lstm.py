"""An LSTM that resets its state at episode starts, also within an unroll.

On the CPU, torch 2.13 runs `nn.LSTM` through oneDNN, which is several times slower than necessary, and the native path
computes the gradient of the recurrent weights once per step. So on the CPU we write the recurrence out: everything that
does not depend on the previous step (input projection, all weight gradients) is one large matrix product over the
unroll, and only h W_hhᵀ and the gates remain in the loop over time. In float32 that loop is compiled. Rows that see
the same input share one projection. Other devices run `nn.LSTM` between episode starts.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bonuslab.algorithms.networks.compiled import arrays, is_compiled
from bonuslab.algorithms.networks.kernels import recurrence
from bonuslab.algorithms.networks.kernels.gemm import gemm


class ResettingLSTM(nn.Module):
    """`nn.LSTM` (same equations, weights and names) with resets."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__()
        self.layers = nn.LSTM(input_size, hidden_size, num_layers)

    def initial_state(self, num_envs: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Zeros [layers, N, hidden], twice: h and c."""
        zeros = like.new_zeros(self.layers.num_layers, num_envs, self.layers.hidden_size)
        return zeros, zeros.clone()

    def forward(
        self, inputs: Tensor, first: Tensor, state: tuple[Tensor, ...], rows: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """[T, N, hidden] and the last state; an env's state is reset before each step where `first` [T, N] is set.

        Inputs are [T, N, d], or distinct ones [U, d] of which step (t, n) sees `rows[t, n]`.
        """
        h, c = state
        if inputs.device.type != "cpu":
            return self.forward_segments(inputs if rows is None else inputs[rows], first, (h, c))
        if rows is None:
            rows = torch.arange(first.numel()).view_as(first)
        inputs = inputs.reshape(-1, inputs.shape[-1])
        keep = (~first).to(inputs.dtype)  # [T, N]
        last_h, last_c = [], []
        for layer in range(self.layers.num_layers):
            output, c_end = _Recurrence.apply(inputs, rows, keep, h[layer], c[layer], *self.weights(layer))
            last_h.append(output[-1])
            last_c.append(c_end)
            if layer + 1 < self.layers.num_layers:
                inputs, rows = output.flatten(0, 1), torch.arange(first.numel()).view_as(first)
        return output, (torch.stack(last_h), torch.stack(last_c))

    def forward_segments(
        self, inputs: Tensor, first: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The same with `nn.LSTM`, called once per segment of time in which no env starts an episode."""
        starts = first.any(dim=1).nonzero().flatten().tolist()
        borders = sorted({0, *starts, len(inputs)})
        outputs = []
        for begin, end in itertools.pairwise(borders):
            keep = (~first[begin]).to(inputs.dtype).view(1, -1, 1)
            output, state = self.layers(inputs[begin:end], (state[0] * keep, state[1] * keep))
            outputs.append(output)
        return torch.cat(outputs), state

    def weights(self, layer: int) -> list[Tensor]:
        """W_ih, W_hh, b_ih and b_hh of a layer."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self.layers, f"{name}_l{layer}") for name in names]


class _Recurrence(torch.autograd.Function):
    """One LSTM layer over T steps, with backpropagation through time written out."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, rows: Tensor, keep: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor,
        b_ih: Tensor, b_hh: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        projected = torch.addmm(b_ih + b_hh, x, w_ih.t())  # [U, 4H]
        # A single step, as in acting, is not worth the copy of W_hhᵀ that the loop reads.
        run = _compiled_forward if is_compiled(x) and len(rows) > 1 else _plain_forward
        hs, last_c, steps = run(projected, rows, keep, h, c, w_hh)
        ctx.save_for_backward(x, rows, keep, w_ih, w_hh, *steps)
        return hs, last_c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hs: Tensor, d_c: Tensor) -> tuple[Tensor | None, ...]:
        x, rows, keep, w_ih, w_hh, *saved = ctx.saved_tensors
        steps = _Steps(*saved)
        run = _compiled_backward if is_compiled(x) else _plain_backward
        d_gates, d_projected, d_h, d_c = run(steps, d_hs, d_c, keep, w_hh, rows, len(x))
        d_x = d_projected @ w_ih if ctx.needs_input_grad[0] else None
        d_w_hh = d_gates.flatten(0, 1).t() @ steps.before_h.flatten(0, 1)
        d_bias = d_projected.sum(0)
        return d_x, None, None, d_h, d_c, d_projected.t() @ x, d_w_hh, d_bias, d_bias


class _Steps(NamedTuple):
    """What backpropagation needs of each step; `gates` is [T, N, 4H] (i, f, g, o), all else [T, N, H]."""

    gates: Tensor
    before_h: Tensor
    """h and c before the step, after resets."""
    before_c: Tensor
    tanh_c: Tensor


def _plain_forward(
    projected: Tensor, rows: Tensor, keep: Tensor, h: Tensor, c: Tensor, w_hh: Tensor
) -> tuple[Tensor, Tensor, _Steps]:
    """All h [T, N, H] and the last c."""
    (T, N), H = rows.shape, h.shape[-1]
    hs, *parts = (h.new_empty(T, N, H) for _ in range(4))
    steps = _Steps(projected[rows], *parts)
    for t in range(T):
        before_h = torch.mul(h, keep[t, :, None], out=steps.before_h[t])
        before_c = torch.mul(c, keep[t, :, None], out=steps.before_c[t])
        step = steps.gates[t].addmm_(before_h, w_hh.t())
        i, f, g, o = step.view(N, 4, H).unbind(1)
        step[:, : 2 * H].sigmoid_()
        g.tanh_()
        o.sigmoid_()
        c = (f * before_c).addcmul_(i, g)
        h = torch.mul(torch.tanh(c, out=steps.tanh_c[t]), o, out=hs[t])
    return hs, c, steps


def _plain_backward(
    steps: _Steps, d_hs: Tensor, d_c: Tensor, keep: Tensor, w_hh: Tensor, rows: Tensor, num_inputs: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the gates before their nonlinearity [T, N, 4H], of the projected inputs and of the first state."""
    T, N, H = d_hs.shape
    i, f, g, o = steps.gates.view(T, N, 4, H).unbind(2)
    # Local derivatives of all steps; the loop multiplies them by dL/dc_t or dL/dh_t.
    local = [(i - i * i) * g, (f - f * f) * steps.before_c, (1 - g * g) * i, (o - o * o) * steps.tanh_c]
    d_gates = torch.stack(local, 2)
    h_to_c = o * (1 - steps.tanh_c * steps.tanh_c)
    forget = f * keep[:, :, None]
    d_h = torch.zeros_like(d_c)
    for t in range(T - 1, -1, -1):
        d_h = d_h + d_hs[t]
        d_c = torch.addcmul(d_c, d_h, h_to_c[t])
        d_gates[t, :, :3].mul_(d_c.unsqueeze(1))
        d_gates[t, :, 3].mul_(d_h)
        d_h = (d_gates[t].flatten(1) @ w_hh).mul_(keep[t, :, None])
        d_c = d_c * forget[t]
    d_projected = w_hh.new_zeros(num_inputs, 4 * H).index_add_(0, rows.flatten(), d_gates.flatten(0, 1).flatten(1))
    return d_gates.flatten(2), d_projected, d_h, d_c


def _compiled_forward(
    projected: Tensor, rows: Tensor, keep: Tensor, h: Tensor, c: Tensor, w_hh: Tensor
) -> tuple[Tensor, Tensor, _Steps]:
    read = arrays(projected, rows, keep, h, c, w_hh.t())
    hs, last_c, *steps = map(torch.from_numpy, recurrence.forward(gemm(), *read))
    return hs, last_c, _Steps(*steps)


def _compiled_backward(
    steps: _Steps, d_hs: Tensor, d_c: Tensor, keep: Tensor, w_hh: Tensor, rows: Tensor, num_inputs: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    read = arrays(d_hs, d_c, keep, w_hh, rows, steps.gates, steps.before_c, steps.tanh_c)
    d_gates, d_projected, d_h, d_c = map(torch.from_numpy, recurrence.backward(gemm(), num_inputs, *read))
    return d_gates, d_projected, d_h, d_c
