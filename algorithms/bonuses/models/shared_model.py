"""A model that several terms of an expression share: evaluated and trained once per fragment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from bonuslab.algorithms.bonuses.algebra.stateful import Stateful
from bonuslab.algorithms.data.fragment import Fragment


@dataclass(frozen=True)
class Features:
    """Features of every state of a fragment; one forward pass serves both bonus and loss."""

    states: torch.Tensor
    """[(T + 1) N + F, d]: rows as in `Fragment.states()`. Carries gradients if the model learns."""
    next_index: torch.Tensor
    """[T, N]: row of s_{t+1}."""

    @property
    def current(self) -> torch.Tensor:
        """[T, N, d]: features of s_t."""
        T, N = self.next_index.shape
        return self.states[: T * N].view(T, N, -1)

    @property
    def following(self) -> torch.Tensor:
        """[T, N, d]: features of the true s_{t+1}, at episode ends too."""
        return self.states[self.next_index]


class SharedModel(Stateful):
    """A feature model, evaluated and trained once per fragment however many terms use it."""

    saved_by_setting: ClassVar[bool] = True

    def __init__(self) -> None:
        self._seen: Fragment | None = None
        self._features: Features | None = None
        self._metrics: dict[str, float] | None = None

    def features(self, fragment: Fragment) -> Features:
        """Features of the fragment's states, cached until the fragment changes or the model learns."""
        self._turn_to(fragment)
        if self._features is None:
            index = torch.from_numpy(fragment.next_state_index())
            self._features = Features(self.encode(fragment), index)
        return self._features

    def learn(self, fragment: Fragment) -> dict[str, float]:
        """Train on the fragment once; later callers get the same metrics."""
        self._turn_to(fragment)
        if self._metrics is None:
            self._metrics = self.train(fragment)
            self._features = None  # the weights have changed and the graph is freed
        return self._metrics

    def encode(self, fragment: Fragment) -> torch.Tensor:
        """[(T + 1) N + F, d]: the forward pass over `fragment.states()`."""
        raise TypeError(f"{type(self).__name__} must define encode(fragment)")

    def train(self, fragment: Fragment) -> dict[str, float]:
        """One update; nothing to learn by default."""
        return {}

    def warm_up(self, fragment: Fragment) -> None:
        """Update input statistics on a random policy's fragment before training; nothing by default."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self.forget()
        super().load_state_dict(state)

    def again(self) -> None:
        """Allow another update on the same fragment."""
        self._metrics = None

    def forget(self) -> None:
        """Clear what is cached for the last fragment."""
        self._seen, self._features, self._metrics = None, None, None

    def _turn_to(self, fragment: Fragment) -> None:
        if fragment is not self._seen:
            self.forget()
            self._seen = fragment
