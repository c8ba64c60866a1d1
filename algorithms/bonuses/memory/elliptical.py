"""The elliptical bonus b_t = φ_tᵀ [Σ_{i<t} φ_i φ_iᵀ + λI]⁻¹ φ_t of every step of an episode, exact and in blocks.

With Φ the episode's features as rows, divided by √λ, and LLᵀ = I + ΦΦᵀ, Woodbury's identity gives b_t = L_tt² − 1: one
Cholesky factorisation yields the bonuses of a whole episode; rank-one updates would write a d × d matrix per step.

- Episodes of up to about d steps keep Φ and L. A further block F extends L by W = L⁻¹ΦFᵀ and the Cholesky factor M of
  I + FFᵀ − WᵀW: t d + t² operations per step.
- Longer episodes keep the d × d root of their covariance instead (`CovarianceRoot`): d² operations per step and
  constant memory, whatever their length.
- Forming ΦΦᵀ squares the condition number: the error of b grows as 1e-16 ‖φ‖²/λ. Large features (‖φ‖²/λ > 5e5) use the
  root from the start, whose error grows as the square root of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.stateful import Stateful
from bonuslab.algorithms.bonuses.memory.covariance_root import CovarianceRoot, bonus_of_factor, solve_lower
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.segments import segments

Array = np.ndarray
LARGEST_GRAM_ENERGY = 5e5
"""‖φ‖²/λ up to which the Gram matrix is accurate enough: the error of b is below 1e-8 (measured: 1e-10 at 1e4)."""
_SHORTEST_SWITCH = 128
"""Steps up to which the Gram factor is kept even if d is smaller."""


@dataclass(frozen=True)
class EllipticalMemory:
    """Memory of one episode: its Gram factor, or the root of its covariance. Immutable, so saved states stay valid."""

    steps: int = 0
    rows: Array | None = None
    """[t, d] float64: Φ / √λ, while the episode is short."""
    factor: Array | None = None
    """[t, t] float64: L."""
    root: CovarianceRoot | None = None
    """[d, d], for long episodes or large features."""

    def extend(self, block: Array, keep: bool = True) -> tuple[Array, EllipticalMemory]:
        """Bonuses [m] of the episode's next steps, from their features / √λ [m, d], and the updated memory.

        `keep=False` if the episode ends with the block: the memory returned is then empty.
        """
        short = self.root is None and self.steps + len(block) <= max(block.shape[1], _SHORTEST_SWITCH)
        with np.errstate(over="ignore"):  # reported below
            gram = block @ block.T if short else None  # [m, m]
            energy = np.einsum("md,md->m", block, block) if gram is None else gram.diagonal().copy()
        largest = float(energy.max())  # NaN if any is
        if not math.isfinite(largest):
            require_finite("squared norm of the elliptical bonus's features", torch.from_numpy(energy))
        if gram is not None and largest <= LARGEST_GRAM_ENERGY:
            return self._extend_factor(block, gram, energy, keep)
        root = self.root
        if root is None:
            root = CovarianceRoot.identity(block.shape[1])
            if self.rows is not None:
                root = root.add(self.rows)
        bonus, root = root.extend(block)
        return bonus, EllipticalMemory(self.steps + len(block), root=root) if keep else EllipticalMemory()

    def _extend_factor(self, block: Array, gram: Array, energy: Array, keep: bool) -> tuple[Array, EllipticalMemory]:
        schur = gram
        schur.flat[:: len(schur) + 1] += 1
        explained = np.zeros(len(block))
        across = None
        if self.rows is not None and self.factor is not None:
            across = solve_lower(self.factor, self.rows @ block.T)  # [t, m]
            schur -= across.T @ across
            explained = np.einsum("tm,tm->m", across, across)
        factor = np.linalg.cholesky(schur)  # [m, m]
        below = factor.copy()
        np.fill_diagonal(below, 0)
        explained += np.einsum("ts,ts->t", below, below)
        bonus = bonus_of_factor(energy, explained, np.diagonal(factor))
        if not keep:
            return bonus, EllipticalMemory()
        if self.rows is None or self.factor is None or across is None:
            return bonus, EllipticalMemory(len(block), rows=block, factor=factor)
        t, m = across.shape
        whole = np.zeros((t + m, t + m))
        whole[:t, :t], whole[t:, :t], whole[t:, t:] = self.factor, across.T, factor
        return bonus, EllipticalMemory(t + m, rows=np.concatenate([self.rows, block]), factor=whole)


class EpisodicElliptical(Stateful):
    """The elliptical bonus of all envs of a fragment, with a memory of each env's running episode."""

    def __init__(self, ridge: float) -> None:
        self._scale = 1 / np.sqrt(ridge)
        self._memory: EpisodeMemory[EllipticalMemory] = EpisodeMemory(EllipticalMemory)

    def compute(self, fragment: Fragment, features: torch.Tensor, pay_first: bool) -> torch.Tensor:
        """[T, N] float64 from features of s_t [T, N, d]; call it once per fragment, in order.

        Without `pay_first` the first step of a memory, whose covariance is the ridge alone, gets no bonus. Envs are
        processed one by one: on a CPU that is faster than padding their episodes to a common length.
        """
        rows = features.detach().cpu().numpy()
        bonus = np.empty(rows.shape[:2])
        for segment in segments(fragment):
            n, start, stop = segment.column, segment.start, segment.stop
            memory = self._memory.recall(fragment, n) if start == 0 else self._memory.fresh()
            block = rows[start:stop, n].astype(np.float64)  # [m, d]
            block *= self._scale
            bonus[start:stop, n], after = memory.extend(block, keep=segment.last)
            if memory.steps == 0 and not pay_first:
                bonus[start, n] = 0
            if stop == len(rows):
                self._memory.store(fragment, n, after)
        return torch.from_numpy(bonus).to(features.device)
