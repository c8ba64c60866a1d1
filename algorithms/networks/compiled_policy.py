"""Acting with a `small` network on the CPU as one compiled function: half of the time were small steps of PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.algorithms.networks.compiled import arrays, is_compiled
from bonuslab.algorithms.networks.encoder import Observations
from bonuslab.algorithms.networks.kernels import acting
from bonuslab.algorithms.networks.kernels.gemm import gemm
from bonuslab.algorithms.networks.policy import PolicyNetwork, PolicyOutput, State
from bonuslab.algorithms.networks.small import SmallEncoder
from bonuslab.algorithms.networks.small_trunk import as_read, as_weights


def policy_for_acting(network: PolicyNetwork) -> PolicyNetwork | CompiledPolicy:
    """Something whose `act` is the network's, as long as its weights stay the same; without gradients."""
    encoder, core = network.encoder, network.core
    known = isinstance(encoder, SmallEncoder) and core is not None and core.layers.num_layers == 1
    return CompiledPolicy(network) if known and is_compiled(network.policy_head.weight) else network


class CompiledPolicy:
    """`PolicyNetwork.act` with the weights of its creation."""

    def __init__(self, network: PolicyNetwork) -> None:
        encoder = network.encoder
        assert isinstance(encoder, SmallEncoder)
        assert network.core is not None
        w_ih, w_hh, b_ih, b_hh = network.core.weights(layer=0)
        heads = (network.policy_head, network.value_head)
        self._encoder, self._num_actions = encoder, network.policy_head.out_features
        self._glyphs, *self._trunk = as_weights(encoder.weights())
        self._core = arrays(
            w_ih, b_ih + b_hh, w_hh.t(),
            torch.cat([head.weight for head in heads]), torch.cat([head.bias for head in heads]),
        )  # fmt: skip

    def act(self, observations: Observations, first: Tensor, state: State) -> PolicyOutput:
        """One step of N envs."""
        states = self._encoder.prepare({key: rows[None] for key, rows in observations.items()})
        glyphs = self._glyphs[states.glyphs.numpy()]
        step = arrays(states.place, (~first)[None].float(), state[0][0], state[1][0])
        results = acting.act(gemm(), glyphs, *as_read(states), *self._trunk, *step, *self._core)
        heads, encoded, h, c = map(torch.from_numpy, results)
        logits, value = heads[:, : self._num_actions], heads[:, self._num_actions :].squeeze(-1)
        return PolicyOutput(logits, value, (h[None], c[None]), encoded, states.place[0])
