"""Radial basis functions: how near a state is to each of n centres."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.memory.joint_experience import join_in_time
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput

Array = np.ndarray


def kernel_features(setting: Setting, points: str, centres: int, bandwidth: float) -> KernelFeatures:
    """The kernel features with these parameters, shared by all terms that use them."""
    key = f"kernel_features({points}, {centres}, {bandwidth!r})"
    return setting.share(key, lambda: KernelFeatures(setting, points, centres, bandwidth))


class KernelFeatures(SharedModel):
    """ψ_i(s) = exp(−‖x(s) − c_i‖² / 2h²) for centres c_1 … c_n, the first n distinct points seen.

    ψ_i = 0 while centre i is unknown. Points x are the agent's coordinates (`position`, h in map cells), or the status
    line (`blstats`) with each value v as sign(v) log(1 + |v|), so that large counters do not dominate.
    """

    def __init__(self, setting: Setting, points: str, centres: int, bandwidth: float) -> None:
        super().__init__()
        if "blstats" not in setting.observation_space.spaces:
            given = ", ".join(sorted(setting.observation_space.spaces))
            raise InvalidInput(f"rbf features of {points} need the observation 'blstats'; this environment has {given}")
        self._setting = setting
        self._points = points
        self._bandwidth = bandwidth
        self.size = centres
        self._centres: Array | None = None  # [known so far, 2 or 27] float64

    def encode(self, fragment: Fragment) -> Tensor:
        points = self._points_of(fragment)  # [(T + 1) N + F, p]
        centres = self._learn_centres(points, fragment.num_envs)
        squares = sum((points[:, k, None] - centres[:, k]) ** 2 for k in range(points.shape[1]))  # [B, centres]
        features = np.zeros((len(points), self.size))
        features[:, : len(centres)] = np.exp(-squares / (2 * self._bandwidth**2))
        return torch.from_numpy(features).to(self._setting.device)

    def state_dict(self) -> dict[str, Any]:
        return {"centres": None if self._centres is None else self._centres.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.forget()
        self._centres = None if state["centres"] is None else state["centres"].copy()

    def _points_of(self, fragment: Fragment) -> Array:
        rows = fragment.observations["blstats"]
        stats = rows.reshape(-1, rows.shape[-1])
        if len(fragment.final_index):
            stats = np.concatenate([stats, fragment.finals["blstats"]])
        stats = stats.astype(np.float64)
        return stats[:, :2] if self._points == "position" else np.sign(stats) * np.log1p(np.abs(stats))

    def _learn_centres(self, points: Array, num_envs: int) -> Array:
        known = self._centres if self._centres is not None else points[:0]
        if len(known) < self.size:
            times = np.arange(len(points)) // num_envs  # final states come last
            seen = np.concatenate([known, join_in_time(self._setting.collectives, times, points).rows])
            _, earliest = np.unique(seen, axis=0, return_index=True)
            known = self._centres = seen[np.sort(earliest)[: self.size]]
        return known
