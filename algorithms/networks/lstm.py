"""An LSTM that resets its state at episode starts, also within an unroll.

On the CPU, torch 2.13 runs `nn.LSTM` through oneDNN, which is several times slower than necessary, and the native path
computes the gradient of the recurrent weights once per step. So on the CPU we write the recurrence out: everything that
does not depend on the previous step (input projection, all weight gradients) is one large matrix product over the
unroll, and only h W_hhᵀ and the gates remain in the loop over time. Other devices run `nn.LSTM` between episode starts.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class ResettingLSTM(nn.Module):
    """`nn.LSTM` (same equations, weights and names) with resets."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__()
        self.layers = nn.LSTM(input_size, hidden_size, num_layers)

    def initial_state(self, num_envs: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Zeros [layers, N, hidden], twice: h and c."""
        zeros = like.new_zeros(self.layers.num_layers, num_envs, self.layers.hidden_size)
        return zeros, zeros.clone()

    def forward(self, inputs: Tensor, first: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """[T, N, hidden] and the last state; an env's state is reset before each step where `first` [T, N] is set."""
        h, c = state
        if inputs.device.type != "cpu":
            return self.forward_segments(inputs, first, (h, c))
        keep = (~first).to(inputs.dtype).unsqueeze(-1)  # [T, N, 1]
        last_h, last_c = [], []
        for layer in range(self.layers.num_layers):
            inputs, c_end = _Recurrence.apply(inputs, keep, h[layer], c[layer], *self._weights(layer))
            last_h.append(inputs[-1])
            last_c.append(c_end)
        return inputs, (torch.stack(last_h), torch.stack(last_c))

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
        ctx: Any, x: Tensor, keep: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor
    ) -> tuple[Tensor, Tensor]:
        T, N, _ = x.shape
        H = h.shape[-1]
        gates = torch.addmm(b_ih + b_hh, x.reshape(T * N, -1), w_ih.t()).view(T, N, 4 * H)  # i, f, g, o
        before_h, before_c = x.new_empty(T, N, H), x.new_empty(T, N, H)  # input of each step, after resets
        hs, cs = x.new_empty(T, N, H), x.new_empty(T, N, H)
        w_hh_t = w_hh.t()
        for t in range(T):
            torch.mul(h, keep[t], out=before_h[t])
            torch.mul(c, keep[t], out=before_c[t])
            step = gates[t].addmm_(before_h[t], w_hh_t)
            i, f, g, o = step.view(N, 4, H).unbind(1)
            step[:, : 2 * H].sigmoid_()
            g.tanh_()
            o.sigmoid_()
            c = torch.mul(f, before_c[t], out=cs[t]).addcmul_(i, g)
            h = torch.tanh(c, out=hs[t]).mul_(o)
        ctx.save_for_backward(x, keep, w_ih, w_hh, gates, before_h, before_c, cs)
        return hs, c.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hs: Tensor, d_c_end: Tensor) -> tuple[Tensor | None, ...]:
        x, keep, w_ih, w_hh, gates, before_h, before_c, cs = ctx.saved_tensors
        T, N, H = cs.shape
        i, f, g, o = gates.view(T, N, 4, H).unbind(2)
        tanh_c = torch.tanh(cs)
        # Local derivatives of all steps; the loop multiplies them by dL/dc_t or dL/dh_t.
        local = gates.new_empty(T, N, 4, H)
        torch.mul(i - i * i, g, out=local[:, :, 0])
        torch.mul(f - f * f, before_c, out=local[:, :, 1])
        torch.mul(1 - g * g, i, out=local[:, :, 2])
        torch.mul(o - o * o, tanh_c, out=local[:, :, 3])
        h_to_c = o * (1 - tanh_c * tanh_c)
        forget = f * keep
        d_gates = local.view(T, N, 4 * H)
        d_h, d_c = torch.zeros_like(cs[0]), d_c_end
        for t in range(T - 1, -1, -1):
            d_h = d_h + d_hs[t]
            d_c = torch.addcmul(d_c, d_h, h_to_c[t])
            local[t, :, :3].mul_(d_c.unsqueeze(1))
            local[t, :, 3].mul_(d_h)
            d_h = (d_gates[t] @ w_hh).mul_(keep[t])
            d_c = d_c * forget[t]
        flat = d_gates.view(T * N, 4 * H)
        d_bias = flat.sum(0)
        d_x = (flat @ w_ih).view_as(x) if ctx.needs_input_grad[0] else None
        d_w_ih = flat.t() @ x.reshape(T * N, -1)
        d_w_hh = flat.t() @ before_h.view(T * N, H)
        return d_x, None, d_h, d_c, d_w_ih, d_w_hh, d_bias, d_bias
