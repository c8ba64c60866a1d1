"""Bonuses from counts of states or of a feature ψ of them (the paper's equation of section 3.1)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.features.state_features import check_feature, feature_of, fragment_keys
from bonuslab.algorithms.bonuses.memory.count_table import CountTable
from bonuslab.algorithms.bonuses.memory.episodic_counter import EpisodicCounter
from bonuslab.algorithms.bonuses.memory.hashing import chain
from bonuslab.algorithms.bonuses.memory.joint_experience import join_in_time
from bonuslab.algorithms.data.fragment import Fragment


@register("count.global")
class GlobalCount(Bonus):
    """b_t = 1 / √N(ψ(s_{t+1})), N over all experience, s_{t+1} itself included.

    States are counted in the order of time, at equal times in the order of environments; the first state of an episode
    counts as a visit and pays nothing. Workers of DD-PPO count as one: each counts what all have seen.
    `count_scope="runner"` keeps a table for each env, as the released program did by accident: its table was copied
    into each of 256 actor processes, which had one environment each.
    """

    feature: str = "position"
    """ψ: position, message, glyphs or observation, or a feature registered by `state_feature`."""
    count_scope: Literal["shared", "runner"] = "shared"
    """One table for all environments (ours), or one for each (what was run)."""

    scope = "global"
    equation = "1 / √N(ψ(s_{t+1}))"
    when = "One environment, or contexts that share what ψ shows: messages, rooms."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    def setup(self, setting: Setting) -> None:
        self._feature = feature_of(self.feature, setting.observation_space)
        self._table = CountTable()

    def compute(self, fragment: Fragment) -> torch.Tensor:
        T, N = fragment.action.shape
        keys = fragment_keys(self._feature, fragment)
        visited = np.stack([keys[: T * N].reshape(T, N), keys[fragment.next_state_index()]], axis=2)  # [T, N, 2]
        if self.count_scope == "runner":
            visited = chain(visited, fragment.env_index.astype(np.uint64)[:, None])
        counted = np.stack([fragment.first[:T], np.ones((T, N), bool)], axis=2)
        counts = np.ones((T, N, 2), np.uint64)
        joint = join_in_time(self.setting.replicas, np.nonzero(counted)[0], visited[counted])
        counts[counted] = self._table.count(joint.rows)[joint.own]
        return torch.from_numpy(1 / np.sqrt(counts[:, :, 1])).to(self.setting.device)

    def state_dict(self) -> dict[str, Any]:
        return {"parameters": self.parameters(), "table": self._table.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["parameters"] != self.parameters():
            raise ValueError(f"saved counts are of {state['parameters']}, this bonus has {self.parameters()}")
        self._table.load_state_dict(state["table"])


@register("count.episodic")
class EpisodicCount(Bonus):
    """b_t = 1[N_e(ψ(s_{t+1})) = 1] or 1 / √N_e(ψ(s_{t+1})), N_e over this episode, s_{t+1} itself included.

    The first state of the episode is a visit and pays nothing: coming back to it is no discovery. The paper found
    the indicator better than the root.
    """

    feature: str = "position"
    """ψ: position, message, glyphs or observation, or a feature registered by `state_feature`."""
    form: Literal["indicator", "root"] = "indicator"
    """1[N_e = 1] or 1 / √N_e."""

    scope = "episodic"
    equation = "1[N_e(ψ(s_{t+1})) = 1], or 1 / √N_e(ψ(s_{t+1})) with form=root"
    when = "Contexts that share little: each episode is to be covered anew."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    def setup(self, setting: Setting) -> None:
        self._counter = EpisodicCounter(self.feature, setting)

    def compute(self, fragment: Fragment) -> torch.Tensor:
        visits = self._counter.count(fragment).following  # [T, N]
        bonus = (visits == 1).astype(np.float64) if self.form == "indicator" else 1 / np.sqrt(visits)
        return torch.from_numpy(bonus).to(self.setting.device)

    def state_dict(self) -> dict[str, Any]:
        return self._counter.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._counter.load_state_dict(state)
