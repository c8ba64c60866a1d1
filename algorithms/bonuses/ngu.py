"""The episodic bonus of Never Give Up (Badia et al., 2020): distances to nearest neighbours within the episode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.bonuses.models.inverse_dynamics import inverse_dynamics
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.segments import segments

Array = np.ndarray
_BLOCK_ROWS = 128


@dataclass(frozen=True)
class NeighbourMemory:
    """Features of one episode and the running mean of its squared nearest-neighbour distances."""

    rows: Array | None = None
    """[t, d]: features of the latest steps, in their own precision."""
    distance_sum: float = 0.0
    distance_count: int = 0


@register("ngu")
class NGU(Bonus):
    """b_t = 1 / (√Σ_{f_i ∈ N_k} K(φ(s_t), f_i) + c), K(x, y) = ε / (d̄² + ε), d̄² = max(‖x − y‖²/d_m² − ξ, 0).

    N_k are the k nearest features among the episode's earlier states (or all, if fewer), and d_m² is the mean of all
    these squared distances in the episode so far, including step t. b_t is 0 if the square root plus c exceeds
    `maximum_similarity`. Notes:

    - ε is 1e-3 in the text of NGU's paper and 1e-4 in its table of hyperparameters, as in RLE-Foundation/rllte
      (xplore/reward/ngu.py); the default is the table's.
    - With k = 10 the similarity cannot exceed √10 + c, so a maximum of 8 has no effect; the paper gives both values.
    - The paper does not say whether d_m² persists across episodes. Ours does not, so the bonus is episodic and envs are
      independent.
    - The first step of an episode has no neighbours and gets no bonus, as in E3B; the equation would give 1 / c = 1000.
    """

    neighbours: int = 10
    """k."""
    epsilon: float = 1e-4
    """ε, the kernel's constant."""
    cluster_distance: float = 0.008
    """ξ: normalised squared distances up to this count as 0."""
    pseudo_count: float = 1e-3
    """c, prevents division by zero."""
    maximum_similarity: float = 8.0
    """No bonus above this similarity."""
    capacity: int = 30000
    """Number of latest states of the episode kept in memory."""
    learning_rate: float = 1e-4
    """Of φ and its inverse-dynamics head, which E3B shares if equal."""

    _positive = ("neighbours", "epsilon", "pseudo_count", "maximum_similarity", "capacity")
    _non_negative = ("cluster_distance", "learning_rate")
    scope = "episodic"
    equation = "1 / (√Σ_{k nearest in episode} ε / (d²/d_m² + ε) + c)"
    when = "As a comparison with E3B: same features, Euclidean distances. The paper found it worse."

    def setup(self, setting: Setting) -> None:
        self.model: SharedModel = inverse_dynamics(setting, self.learning_rate)
        self._memory: EpisodeMemory[NeighbourMemory] = EpisodeMemory(NeighbourMemory)

    def compute(self, fragment: Fragment) -> torch.Tensor:
        features = self.model.features(fragment).current.detach()  # [T, N, d]
        require_finite("NGU's features", features)
        rows = features.cpu().numpy()
        bonus = np.empty(rows.shape[:2])
        for segment in segments(fragment):
            n, start, stop = segment.column, segment.start, segment.stop
            memory = self._memory.recall(fragment, n) if start == 0 else self._memory.fresh()
            for begin in range(start, stop, _BLOCK_ROWS):
                end = min(begin + _BLOCK_ROWS, stop)
                bonus[begin:end, n], memory = self.extend(memory, rows[begin:end, n])
            if stop == len(rows):
                self._memory.store(fragment, n, memory if segment.last else self._memory.fresh())
        return torch.from_numpy(bonus).to(features.device)

    def learn(self, fragment: Fragment) -> Metrics:
        return self.model.learn(fragment)

    def extend(self, memory: NeighbourMemory, block: Array) -> tuple[Array, NeighbourMemory]:
        """Bonuses [m] of the episode's next steps, and the updated memory."""
        rows = block.copy() if memory.rows is None else np.concatenate([memory.rows, block])  # [t + m, d]
        distances = nearest_squared_distances(rows, len(block), self.neighbours, self.capacity)  # [m, k]
        known = np.isfinite(distances)
        count = memory.distance_count + np.cumsum(known.sum(axis=1))  # [m]
        total = memory.distance_sum + np.cumsum(np.where(known, distances, 0).sum(axis=1))
        mean = (total / np.maximum(count, 1))[:, None]
        normalised = np.divide(distances, mean, out=np.zeros_like(distances), where=mean > 0)  # all equal: d̄ = 0
        kernel = self.epsilon / (np.maximum(normalised - self.cluster_distance, 0) + self.epsilon)
        similarity = np.sqrt(np.where(known, kernel, 0).sum(axis=1)) + self.pseudo_count
        rewarded = known.any(axis=1) & (similarity <= self.maximum_similarity)
        after = NeighbourMemory(rows[-self.capacity :], float(total[-1]), int(count[-1]))
        return np.where(rewarded, 1 / similarity, 0.0), after


def nearest_squared_distances(rows: Array, new: int, k: int, capacity: int) -> Array:
    """[new, k] float64: squared distances of each of the last `new` rows to its k nearest predecessors.

    Only the previous `capacity` rows count; missing neighbours are at infinite distance. One matrix product finds the
    neighbours; their distances are then computed from differences, because ‖x‖² + ‖y‖² − 2xᵀy cancels for neighbours
    much closer than their norms.
    """
    t = len(rows)
    k_found = min(k, t)
    precise = rows.astype(np.float64) - rows[0]  # relative to the oldest state, for precision
    latest = precise[t - new :]
    squares = np.einsum("td,td->t", precise, precise)
    estimate = squares[None, :] - 2 * (latest @ precise.T)  # [new, t], up to ‖x‖², which does not affect the order
    position, age = np.arange(t - new, t)[:, None], np.arange(t)[None, :]
    estimate[(age >= position) | (age < position - capacity)] = np.inf
    found = np.argpartition(estimate, k_found - 1, axis=1)[:, :k_found]  # [new, k_found]
    differences = precise[found] - latest[:, None, :]  # [new, k_found, d]
    distances = np.einsum("mkd,mkd->mk", differences, differences)
    distances[np.isinf(np.take_along_axis(estimate, found, axis=1))] = np.inf
    return np.pad(distances, ((0, 0), (0, k - k_found)), constant_values=np.inf)
