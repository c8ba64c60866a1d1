"""What a bonus written as a function sees: the steps of a fragment as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.envs.errors import unknown


class UnknownObservationError(KeyError):
    """An observation that the environment does not have."""

    says_it_all = True
    """Whether a report needs no name of the class before the message."""

    def __str__(self) -> str:
        return str(self.args[0])


class ObservationTensors(Mapping[str, Tensor]):
    """Observations by name, float32 [T, N, ...] each, converted when first read."""

    def __init__(self, names: Mapping[str, np.ndarray], read: Callable[[str], Tensor]) -> None:
        self._names = tuple(names)
        self._read = read
        self._converted: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise UnknownObservationError(str(unknown("observation", name, self._names)))
        if name not in self._converted:
            self._converted[name] = self._read(name)
        return self._converted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Step:
    """All steps of a fragment of T steps and N environments: step t goes from `obs[t]` to `next_obs[t]`.

    Tensors are copies, so writing to them changes nothing else. Observations are float32 whatever the environment's
    type is; integers above 2²⁴ lose their last digits.
    """

    def __init__(self, fragment: Fragment, device: str = "cpu") -> None:
        self._fragment = fragment
        self._device = device
        self.obs = ObservationTensors(fragment.observations, self._current)
        """What the agent saw: [T, N, ...] each."""
        self.next_obs = ObservationTensors(fragment.observations, self._following)
        """The true next state: [T, N, ...] each; at the end of an episode its last observation, not the next reset."""

    @cached_property
    def action(self) -> Tensor:
        """[T, N] int64."""
        return self._copy(self._fragment.action)

    @cached_property
    def first(self) -> Tensor:
        """[T, N] bool: `obs` is the first of an episode."""
        return self._copy(self._fragment.first[:-1])

    @cached_property
    def reward(self) -> Tensor:
        """[T, N] float32: the extrinsic reward."""
        return self._copy(self._fragment.reward)

    @cached_property
    def terminated(self) -> Tensor:
        """[T, N] bool: the episode ended in a terminal state."""
        return self._copy(self._fragment.terminated)

    @cached_property
    def truncated(self) -> Tensor:
        """[T, N] bool: the episode ended at its step limit."""
        return self._copy(self._fragment.truncated)

    def _current(self, name: str) -> Tensor:
        return self._copy(self._fragment.observations[name][:-1], torch.float32)

    def _following(self, name: str) -> Tensor:
        rows = self._copy(self._fragment.observations[name][1:], torch.float32)
        step, env_index = as_tensor(self._fragment.final_index, self._device).unbind(1)  # [F] each
        rows[step, env_index] = self._copy(self._fragment.finals[name], torch.float32)
        return rows

    def _copy(self, array: np.ndarray, dtype: torch.dtype | None = None) -> Tensor:
        return as_tensor(array).to(self._device, dtype, copy=True)
