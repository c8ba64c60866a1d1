"""Rollouts: a vector env and a policy network fill fragments, with one batched forward pass per step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks import PolicyNetwork, PolicyOutput, as_tensors
from bonuslab.algorithms.networks.compiled_policy import policy_for_acting
from bonuslab.envs.vector_env import FinishedEpisode, VectorEnv

State = tuple[torch.Tensor, ...]
ENVS_PER_RUNNER = 1 << 20
"""Env indices of runner k start at k times this."""
EPISODES_PER_INCARNATION = 1 << 32
"""Episode numbers of a runner's incarnation k start at k times this, so a restarted runner reuses none."""
Stop = Callable[[int], bool]
"""Called before each step with the number of steps taken so far; returning True ends the fragment."""
VALUE, NEXT_VALUE, FOLLOWING_VALUE = "value", "next_value", "following_value"
"""Columns of recorded values: V(s_t), V of the true s_{t+1}, and V of the next row, even across episode ends."""


class Rollout:
    """Episodes in progress in a vector env under one policy; `collect` returns the next fragment."""

    def __init__(
        self,
        envs: VectorEnv,
        network: PolicyNetwork,
        runner: int,
        seed: int,
        keep_features: bool,
        incarnation: int = 0,
        keep_values: bool = False,
        explore: bool = True,
    ) -> None:
        self.network = network
        self._explore = explore
        self._envs = envs
        self._keep_features = keep_features
        self._keep_values = keep_values
        self._env_indices = runner * ENVS_PER_RUNNER + np.arange(envs.num_envs)
        self._random = torch.Generator().manual_seed(seed)
        self._sequence = 0
        self._episode = np.full(envs.num_envs, incarnation * EPISODES_PER_INCARNATION, np.int64)
        self._first = np.ones(envs.num_envs, bool)
        self._observations = envs.reset()
        self._state = network.initial_state(envs.num_envs)

    @torch.inference_mode()
    def collect(
        self, num_steps: int, weights_version: int = 0, stop: Stop | None = None
    ) -> tuple[Fragment, list[FinishedEpisode]]:
        """Play `num_steps` steps in every env, or fewer if `stop` returns True."""
        T, N = num_steps, self._envs.num_envs
        self._policy = policy_for_acting(self.network)
        rows = {key: np.empty((T + 1, *value.shape), value.dtype) for key, value in self._observations.items()}
        for key, value in self._observations.items():
            rows[key][0] = value
        action = np.empty((T, N), np.int64)
        logits = np.empty((T, N, int(self._envs.action_space.n)), np.float32)
        reward = np.empty((T, N), np.float32)
        terminated, truncated = np.empty((T, N), bool), np.empty((T, N), bool)
        first = np.empty((T + 1, N), bool)
        episode, context = np.empty((T + 1, N), np.int64), np.empty((T + 1, N), np.int64)
        first[0], episode[0], context[0] = self._first, self._episode, self._envs.contexts
        initial_state = tuple(_array(part).copy() for part in self._state)
        features: list[np.ndarray] = []
        values: list[np.ndarray] = []
        finished: list[FinishedEpisode] = []
        final_index: list[tuple[int, int]] = []
        final_states: list[tuple[torch.Tensor, ...]] = []

        for t in range(num_steps):
            if stop is not None and stop(t):
                T = t
                break
            output = self._act({key: value[t] for key, value in rows.items()}, first[t], self._state)
            self._state = output.state
            logits[t] = _array(output.logits)
            action[t] = (
                sample(torch.from_numpy(logits[t]), self._random).numpy() if self._explore else logits[t].argmax(-1)
            )
            if self._keep_features:
                features.append(_array(output.features).copy())
            if self._keep_values:
                values.append(_array(output.value))

            step = self._envs.step(action[t], out={key: value[t + 1] for key, value in rows.items()})
            reward[t], terminated[t], truncated[t] = step.reward, step.terminated, step.truncated
            first[t + 1] = step.terminated | step.truncated
            episode[t + 1] = episode[t] + first[t + 1]
            context[t + 1] = self._envs.contexts
            finished += step.finished
            final_index += [(t, ended.env_index) for ended in step.finished]
            final_states += [tuple(part[:, ended.env_index] for part in self._state) for ended in step.finished]

        rows = {key: value[: T + 1] for key, value in rows.items()}
        self._observations = {key: value[T] for key, value in rows.items()}
        self._first, self._episode = first[T], episode[T]
        fragment = Fragment(
            observations=rows,
            action=action[:T],
            behaviour_logits=logits[:T],
            reward=reward[:T],
            first=first[: T + 1],
            terminated=terminated[:T],
            truncated=truncated[:T],
            episode=episode[: T + 1],
            context=context[: T + 1],
            env_index=self._env_indices,
            sequence=np.full(N, self._sequence, np.int64),
            finals=_stack_finals(finished, rows),
            final_index=np.array(final_index, np.int64).reshape(-1, 2),
            state=initial_state,
            final_state=self._stack_states(final_states),
            policy_features=self._last_features(features, rows) if self._keep_features else None,
            weights_version=weights_version,
        )
        if self._keep_values:
            fragment.extra |= self._value_columns(fragment, values)
        self._sequence += 1
        return fragment, finished

    def get_state(self) -> dict[str, Any]:
        """Everything needed to resume exactly."""
        return {
            "envs": self._envs.get_state(),
            "random": self._random.get_state(),
            "sequence": self._sequence,
            "episode": self._episode.copy(),
            "first": self._first.copy(),
            "observations": {key: value.copy() for key, value in self._observations.items()},
            "state": tuple(part.clone() for part in self._state),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore `get_state`; the envs replay their unfinished episodes."""
        observations = self._envs.set_state(state["envs"])
        self._random.set_state(state["random"])
        self._sequence = state["sequence"]
        self._episode, self._first = state["episode"], state["first"]
        self._observations = state["observations"]
        self._state = state["state"]
        new = getattr(self._envs, "restarted", None)  # [N] bool: envs that could not replay theirs
        if new is not None and new.any():
            self._first, self._episode = self._first | new, self._episode + (new & ~self._first)
            self._observations = {key: rows.copy() for key, rows in self._observations.items()}
            for key, rows in self._observations.items():
                rows[new] = observations[key][new]

    def _act(self, observations: dict[str, np.ndarray], first: np.ndarray, state: State) -> PolicyOutput:
        """The network's output for one step, computed on its device."""
        device = self.network.policy_head.weight.device
        return self._policy.act(
            as_tensors(observations, device), torch.as_tensor(first, device=device), tuple(x.to(device) for x in state)
        )

    def _value_columns(self, fragment: Fragment, recorded: list[np.ndarray]) -> dict[str, np.ndarray]:
        """VALUE, NEXT_VALUE and FOLLOWING_VALUE; only the last row and final states need another forward pass."""
        last = {key: rows[-1] for key, rows in fragment.observations.items()}
        values = np.stack([*recorded, _array(self._act(last, fragment.first[-1], self._state).value)])
        after = values[1:].copy()
        if len(fragment.final_index):
            first = np.zeros(len(fragment.final_index), bool)
            states = tuple(torch.from_numpy(part) for part in fragment.final_state)
            step, env_index = fragment.final_index.T
            after[step, env_index] = _array(self._act(fragment.finals, first, states).value)
        return {VALUE: values[:-1], NEXT_VALUE: after, FOLLOWING_VALUE: values[1:]}

    def _stack_states(self, states: list[tuple[torch.Tensor, ...]]) -> tuple[np.ndarray, ...]:
        """[layers, F, hidden] each."""
        if not states:
            return tuple(_array(part[:, :0]) for part in self._state)
        return tuple(_array(torch.stack(parts, 1)) for parts in zip(*states, strict=True))

    def _last_features(self, features: list[np.ndarray], rows: dict[str, np.ndarray]) -> np.ndarray:
        """[T + 1, N, d]: the recorded features, and those of the last row, which has no action yet."""
        last = self.network.encoder(
            as_tensors({key: value[-1] for key, value in rows.items()}, self.network.policy_head.weight.device)
        )
        return np.stack([*features, _array(last)])


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.cpu().numpy()


def sample(logits: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    """[N]: one action per env, drawn from softmax(logits)."""
    return torch.multinomial(torch.softmax(logits, -1), 1, generator=random).squeeze(-1)


def _stack_finals(finished: list[FinishedEpisode], rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """[F, ...]: final observations, or empty arrays of the right shape."""
    if not finished:
        return {key: np.empty((0, *value.shape[2:]), value.dtype) for key, value in rows.items()}
    return {key: np.stack([ended.final_observation[key] for ended in finished]) for key in rows}
