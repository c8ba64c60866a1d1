"""A source of state features, evaluated once a fragment whoever asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from bonuslab.algorithms.data.fragment import Fragment


@dataclass(frozen=True)
class Features:
    """Features of every state of a fragment; one forward pass serves bonuses and losses alike."""

    states: torch.Tensor
    """[(T + 1) N + F, d]: rows as in `Fragment.states()`. Carries gradients where the source learns."""
    next_index: torch.Tensor
    """[T, N]: row of s_{t+1}."""

    @property
    def current(self) -> torch.Tensor:
        """[T, N, d]: features of s_t."""
        T, N = self.next_index.shape
        return self.states[: T * N].view(T, N, -1)

    @property
    def following(self) -> torch.Tensor:
        """[T, N, d]: features of the true s_{t+1}, across episode ends too."""
        return self.states[self.next_index]


class Source:
    """A network that is evaluated and trained once a fragment, however many terms use it."""

    def __init__(self) -> None:
        self._seen: Fragment | None = None
        self._features: Features | None = None
        self._metrics: dict[str, float] | None = None

    def features(self, fragment: Fragment) -> Features:
        """Features of the fragment's states; repeated calls for the same fragment cost nothing."""
        self._turn_to(fragment)
        if self._features is None:
            index = torch.from_numpy(fragment.next_state_index())
            self._features = Features(self.encode(fragment), index)
        return self._features

    def learn(self, fragment: Fragment) -> dict[str, float]:
        """Train on the fragment, once; later callers get the same metrics."""
        self._turn_to(fragment)
        if self._metrics is None:
            self._metrics = self.train(fragment)
            self._features = None  # the weights have changed and the graph is spent
        return self._metrics

    def encode(self, fragment: Fragment) -> torch.Tensor:
        """[(T + 1) N + F, d]: the forward pass over `fragment.states()`."""
        raise TypeError(f"{type(self).__name__} must define encode(fragment)")

    def train(self, fragment: Fragment) -> dict[str, float]:
        """One update; nothing to learn by default."""
        return {}

    def warm_up(self, fragment: Fragment) -> None:
        """Take in what a random policy saw before training; nothing by default."""

    def state_dict(self) -> dict[str, Any]:
        """Weights and optimiser state; nothing by default."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""

    def again(self) -> None:
        """Be ready to learn from the same fragment once more."""
        self._metrics = None

    def forget(self) -> None:
        """Drop what is kept of the last fragment; the weights are about to be replaced."""
        self._seen, self._features, self._metrics = None, None, None

    def _turn_to(self, fragment: Fragment) -> None:
        if fragment is not self._seen:
            self._seen, self._features, self._metrics = fragment, None, None
