"""Transitions of one random step of all envs: what one update of the released Habitat program trains on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from bonuslab.algorithms.data.fragment import Fragment


class SampledTransitions(NamedTuple):
    """Rows t and t + 1 of a fragment; at an episode's end the latter is the next episode's first state."""

    observations: dict[str, np.ndarray]
    """[2 N, ...] each: s_t of all envs, then row t + 1."""
    action: np.ndarray
    """[N]."""


class StepSampler:
    """Draws one step of a fragment, uniformly."""

    def __init__(self, seed: int) -> None:
        self._random = torch.Generator().manual_seed(seed)

    def step(self, fragment: Fragment) -> int:
        """A random step of the fragment."""
        return int(torch.randint(fragment.num_steps, (), generator=self._random))

    def draw(self, fragment: Fragment) -> SampledTransitions:
        """The transitions of all envs at a random step."""
        t = self.step(fragment)
        rows = {key: value[t : t + 2].reshape(-1, *value.shape[2:]) for key, value in fragment.observations.items()}
        return SampledTransitions(rows, fragment.action[t])

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The state of the random generator."""
        return {"random": self._random.get_state()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """The inverse of `state_dict`."""
        self._random.set_state(state["random"])
