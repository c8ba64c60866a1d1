"""A `small` network on the CPU as one compiled function: half of the time were small steps of PyTorch.

Each function here computes what the `PolicyNetwork`'s own method does, and is that method for other networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bonuslab.algorithms.networks.compiled import arrays, is_compiled
from bonuslab.algorithms.networks.encoder import Observations, States
from bonuslab.algorithms.networks.kernels import unroll as kernels
from bonuslab.algorithms.networks.kernels.gemm import gemm
from bonuslab.algorithms.networks.policy import PolicyNetwork, PolicyOutput, State
from bonuslab.algorithms.networks.small import SmallEncoder
from bonuslab.algorithms.networks.small_states import SmallStates
from bonuslab.algorithms.networks.small_trunk import Weights, as_gradients, as_read, as_weights


def policy_for_acting(network: PolicyNetwork) -> PolicyNetwork | CompiledPolicy:
    """Something whose `act` is the network's, as long as its weights stay the same; without gradients."""
    return CompiledPolicy(network) if _is_known(network) else network


def unroll_for_learning(
    network: PolicyNetwork, observations: Observations | States, first: Tensor, state: State
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits [T, N, A], values [T, N] and, without gradients, values of the next rows [T, N] of `network.unroll`."""
    if _is_known(network) and isinstance(observations, SmallStates):
        assert isinstance(network.encoder, SmallEncoder)
        return _Unroll.apply(observations, first, state, *network.encoder.weights(), *_after_trunk(network))
    output = network.unroll(observations, first, state)
    return output.logits[:-1], output.value[:-1], output.value[1:].detach().clone()


def _is_known(network: PolicyNetwork) -> bool:
    core = network.core
    # A subclass may compute something else.
    known = type(network.encoder) is SmallEncoder and core is not None and core.layers.num_layers == 1
    return known and is_compiled(network.policy_head.weight)


class CompiledPolicy:
    """`PolicyNetwork.act` with the weights of its creation."""

    def __init__(self, network: PolicyNetwork) -> None:
        encoder = network.encoder
        assert isinstance(encoder, SmallEncoder)
        self._encoder, self._num_actions = encoder, network.policy_head.out_features
        self._glyphs, *self._trunk = as_weights(encoder.weights())
        self._core = _as_core(_after_trunk(network))

    def act(self, observations: Observations, first: Tensor, state: State) -> PolicyOutput:
        """One step of N envs."""
        states = self._encoder.prepare({key: rows[None] for key, rows in observations.items()})
        glyphs = self._glyphs[states.glyphs.numpy()]
        step = _as_steps(states, first[None], state)
        results = kernels.forward(gemm(), glyphs, *as_read(states), *self._trunk, *step, *self._core)
        heads, c, encoded, hs = map(torch.from_numpy, results[:4])
        logits, value = heads[0, :, : self._num_actions], heads[0, :, self._num_actions :].squeeze(-1)
        return PolicyOutput(logits, value, (hs, c[None]), encoded, states.place[0])


class _Unroll(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: SmallStates, first: Tensor, state: State, *parameters: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        of_trunk, after = Weights[Tensor]._make(parameters[:10]), parameters[10:]
        ctx.read = arrays(of_trunk.glyphs[states.glyphs]) + as_read(states)
        ctx.trunk, ctx.num_actions = as_weights(of_trunk), len(after[4])
        ctx.rows, ctx.keep, *start = _as_steps(states, first, state)
        ctx.core = _as_core(after)
        read = [*ctx.read, *ctx.trunk[1:], ctx.rows, ctx.keep, *start, *ctx.core]
        outputs, _, *ctx.steps = kernels.forward(gemm(), *read)
        ctx.save_for_backward(states.glyphs, of_trunk.glyphs, after[1])
        logits = torch.from_numpy(outputs[:-1, :, : ctx.num_actions].copy())
        value = torch.from_numpy(outputs[:, :, ctx.num_actions :].copy()).squeeze(-1)
        next_value = value[1:].clone()
        ctx.mark_non_differentiable(next_value)
        return logits, value[:-1], next_value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_logits: Tensor, d_value: Tensor, _d_next_value: Tensor) -> tuple[Tensor | None, ...]:
        glyphs, embedding, w_hh = ctx.saved_tensors
        w, (w_ih, _, _, w_heads, _), A = ctx.trunk, ctx.core, ctx.num_actions
        d_heads = torch.cat([d_logits, d_value.reshape(*d_logits.shape[:2], -1)], -1)
        weights = [w.first, w.second, w.stats, w.words, w.hidden, w_ih, *arrays(w_hh), w_heads]
        read = [*arrays(d_heads), *ctx.steps, *ctx.read, ctx.rows, ctx.keep, *weights]
        found, of_trunk = kernels.backward(gemm(), *read)
        d_w_ih, d_w_hh, d_bias, d_w, d_b = map(torch.from_numpy, found)
        d_after = (d_w_ih, d_w_hh, d_bias, d_bias, d_w[:A], d_b[:A], d_w[A:], d_b[A:])
        return None, None, None, *as_gradients(of_trunk, glyphs, embedding), *d_after


def _after_trunk(network: PolicyNetwork) -> list[Tensor]:
    """W_ih, W_hh, b_ih and b_hh of the LSTM, then weight and bias of the policy's and of the value's head."""
    assert network.core is not None
    heads = (network.policy_head, network.value_head)
    return [*network.core.weights(layer=0), *(part for head in heads for part in (head.weight, head.bias))]


def _as_core(parameters: Sequence[Tensor]) -> list[np.ndarray]:
    """W_ih, the bias, W_hhᵀ, and weight and bias of both heads as one, as the compiled unroll reads them."""
    w_ih, w_hh, b_ih, b_hh, *heads = parameters
    return arrays(w_ih, b_ih + b_hh, w_hh.t(), torch.cat(heads[::2]), torch.cat(heads[1::2]))


def _as_steps(states: SmallStates, first: Tensor, state: State) -> list[np.ndarray]:
    """The state that each row shows, whether it keeps h and c, and the first h and c."""
    return arrays(states.place, (~first).float(), state[0][0], state[1][0])
