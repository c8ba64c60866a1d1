"""The actor-critic network: an encoder, an optional LSTM, a policy head and one or two values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from bonuslab.algorithms.networks.encoder import Encoder, Observations, States
from bonuslab.algorithms.networks.lstm import ResettingLSTM

State = tuple[Tensor, ...]


class PolicyOutput(NamedTuple):
    """Output for one step [N, ...] or an unroll [T + 1, N, ...]."""

    logits: Tensor
    """[..., N, A]."""
    value: Tensor
    """[..., N], or [..., N, values] if there are several."""
    state: State
    """Recurrent state after the last row: [layers, N, hidden] each; empty without an LSTM."""
    encoded: Tensor
    """[U, d]: the encoder's output before the LSTM, a function of the observation alone."""
    rows: Tensor | None
    """[..., N]: the row of `encoded` that belongs to each observation; None: each its own."""

    @property
    def features(self) -> Tensor:
        """[..., N, d]: the encoder's output for each observation."""
        return _each(self.encoded, self.rows, self.logits.shape[:-1])


class PolicyNetwork(nn.Module):
    """Encoder, LSTM and heads; acting and learning run the same code."""

    def __init__(
        self, encoder: Encoder, num_actions: int, core_size: int | None, core_layers: int = 1, num_values: int = 1
    ) -> None:
        """`num_values` is 2 if extrinsic and intrinsic returns are predicted separately."""
        super().__init__()
        self.encoder = encoder
        self.core = None if core_size is None else ResettingLSTM(encoder.output_size, core_size, core_layers)
        width = encoder.output_size if core_size is None else core_size
        self.policy_head = nn.Linear(width, num_actions)
        self.value_head = nn.Linear(width, num_values)

    def initial_state(self, num_envs: int) -> State:
        """The state at the start of an episode: zeros [layers, N, hidden], or () without an LSTM."""
        if self.core is None:
            return ()
        return self.core.initial_state(num_envs, self.policy_head.weight)

    def act(self, observations: Observations, first: Tensor, state: State) -> PolicyOutput:
        """One step of N envs; the state of envs that start an episode (`first` [N]) is reset."""
        output = self.unroll({key: rows[None] for key, rows in observations.items()}, first[None], state)
        rows = None if output.rows is None else output.rows[0]
        return PolicyOutput(output.logits[0], output.value[0], output.state, output.encoded, rows)

    def unroll(self, observations: Observations | States, first: Tensor, state: State) -> PolicyOutput:
        """T + 1 steps of N envs from `state`; an env's state is reset where `first` [T + 1, N] is set."""
        states = self.encoder.prepare(observations) if isinstance(observations, Mapping) else observations
        encoded, rows = self.encoder.encode(states)  # [U, d], [T + 1, N]
        if self.core is None:
            core = _each(encoded, rows, first.shape)
        else:
            inputs = encoded.view(*first.shape, -1) if rows is None else encoded
            core, state = self.core(inputs, first, state, rows)
        value = self.value_head(core).squeeze(-1)  # only if there is a single value
        return PolicyOutput(self.policy_head(core), value, state, encoded, rows)

    def num_parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


def _each(encoded: Tensor, rows: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """[*shape, d]: the encoder's output for each observation."""
    return encoded.view(*shape, -1) if rows is None else functional.embedding(rows, encoded)
