"""An LSTM that resets its state at episode starts, also within an unroll.

On the CPU, torch 2.13 runs `nn.LSTM` through oneDNN, which is several times slower than necessary, and the native path
computes the gradient of the recurrent weights once per step. So on the CPU we write the recurrence out: everything that
does not depend on the previous step (input projection, all weight gradients) is one large matrix product over the
unroll, and only h W_hhᵀ and the gates remain in the loop over time. In float32 that loop is compiled. Rows that see
the same input share one projection. Other devices run `nn.LSTM` between episode starts.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

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
        layer_of = _CompiledRecurrence if inputs.dtype == torch.float32 and gemm() else _Recurrence
        keep = (~first).to(inputs.dtype)  # [T, N]
        last_h, last_c = [], []
        for layer in range(self.layers.num_layers):
            output, c_end = layer_of.apply(inputs, rows, keep, h[layer], c[layer], *self._weights(layer))
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

    def _weights(self, layer: int) -> list[Tensor]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self.layers, f"{name}_l{layer}") for name in names]


class _Recurrence(torch.autograd.Function):
    """One LSTM layer over T steps, with backpropagation through time written out."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, rows: Tensor, keep: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor,
        b_ih: Tensor, b_hh: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        (T, N), H = rows.shape, h.shape[-1]
        gates = torch.addmm(b_ih + b_hh, x, w_ih.t())[rows]  # [T, N, 4H]: i, f, g, o
        before_h, before_c = x.new_empty(T, N, H), x.new_empty(T, N, H)  # input of each step, after resets
        hs, cs, tanh_c = (x.new_empty(T, N, H) for _ in range(3))
        for t in range(T):
            torch.mul(h, keep[t, :, None], out=before_h[t])
            torch.mul(c, keep[t, :, None], out=before_c[t])
            step = gates[t].addmm_(before_h[t], w_hh.t())
            i, f, g, o = step.view(N, 4, H).unbind(1)
            step[:, : 2 * H].sigmoid_()
            g.tanh_()
            o.sigmoid_()
            c = torch.mul(f, before_c[t], out=cs[t]).addcmul_(i, g)
            h = torch.mul(torch.tanh(c, out=tanh_c[t]), o, out=hs[t])
        ctx.save_for_backward(x, rows, keep, w_ih, w_hh, gates, before_h, before_c, tanh_c)
        return hs, c.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hs: Tensor, d_c: Tensor) -> tuple[Tensor | None, ...]:
        x, rows, keep, w_ih, w_hh, gates, before_h, before_c, tanh_c = ctx.saved_tensors
        T, N, H = tanh_c.shape
        i, f, g, o = gates.view(T, N, 4, H).unbind(2)
        # Local derivatives of all steps; the loop multiplies them by dL/dc_t or dL/dh_t.
        d_gates = torch.stack([(i - i * i) * g, (f - f * f) * before_c, (1 - g * g) * i, (o - o * o) * tanh_c], 2)
        h_to_c = o * (1 - tanh_c * tanh_c)
        forget = f * keep[:, :, None]
        d_h = torch.zeros_like(d_c)
        for t in range(T - 1, -1, -1):
            d_h = d_h + d_hs[t]
            d_c = torch.addcmul(d_c, d_h, h_to_c[t])
            d_gates[t, :, :3].mul_(d_c.unsqueeze(1))
            d_gates[t, :, 3].mul_(d_h)
            d_h = (d_gates[t].flatten(1) @ w_hh).mul_(keep[t, :, None])
            d_c = d_c * forget[t]
        d_projected = x.new_zeros(len(x), 4 * H).index_add_(0, rows.flatten(), d_gates.view(T * N, 4 * H))
        return _weight_gradients(ctx, x, w_ih, before_h, d_gates.view(T * N, 4 * H), d_projected, d_h, d_c)


class _CompiledRecurrence(torch.autograd.Function):
    """The same function and gradients with the loop over time compiled, for float32."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, rows: Tensor, keep: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor,
        b_ih: Tensor, b_hh: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        (T, N), H = rows.shape, h.shape[-1]
        projected = torch.addmm(b_ih + b_hh, x, w_ih.t())  # [U, 4H]
        gates = np.empty((T, N, 4 * H), np.float32)  # `torch.empty` fills with NaN in deterministic mode
        before_h, before_c, cs, tanh_c, hs = (np.empty((T, N, H), np.float32) for _ in range(5))
        arrays = [*_arrays(projected, rows, keep, h, c, w_hh.t()), gates, before_h, before_c, cs, tanh_c, hs]
        recurrence.forward(gemm(), *arrays)
        ctx.save_for_backward(x, rows, keep, w_ih, w_hh)
        ctx.steps = gates, before_h, before_c, tanh_c
        return torch.from_numpy(hs), torch.from_numpy(cs[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hs: Tensor, d_c: Tensor) -> tuple[Tensor | None, ...]:
        x, rows, keep, w_ih, w_hh = ctx.saved_tensors
        gates, before_h, before_c, tanh_c = ctx.steps
        d_gates, d_h, d_c = np.empty_like(gates), torch.zeros_like(d_c), d_c.clone()
        arrays = [*_arrays(d_hs, keep, w_hh), gates, before_c, tanh_c, d_gates, *_arrays(d_h, d_c)]
        recurrence.backward(gemm(), *arrays)
        flat = d_gates.reshape(-1, gates.shape[-1])
        d_projected = x.new_zeros(len(x), gates.shape[-1])
        recurrence.add_rows(rows.flatten().numpy(), flat, d_projected.numpy())
        flat_gradient, recurrent = torch.from_numpy(flat), torch.from_numpy(before_h)
        return _weight_gradients(ctx, x, w_ih, recurrent, flat_gradient, d_projected, d_h, d_c)


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _weight_gradients(
    ctx: Any, x: Tensor, w_ih: Tensor, before_h: Tensor, d_gates: Tensor, d_projected: Tensor, d_h: Tensor, d_c: Tensor
) -> tuple[Tensor | None, ...]:
    """Gradients of all inputs, given those of the gates [T N, 4H] and of the projected inputs [U, 4H]."""
    d_x = d_projected @ w_ih if ctx.needs_input_grad[0] else None
    d_w_hh = d_gates.t() @ before_h.flatten(0, 1)
    d_bias = d_projected.sum(0)
    return d_x, None, None, d_h, d_c, d_projected.t() @ x, d_w_hh, d_bias, d_bias
