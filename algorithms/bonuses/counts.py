"""Count-based bonuses for states or a feature ψ of them (paper, section 3.1)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.features.state_features import check_feature, feature_of, fragment_keys
from bonuslab.algorithms.bonuses.memory.count_table import CountTable
from bonuslab.algorithms.bonuses.memory.episodic_counter import EpisodicCounter
from bonuslab.algorithms.bonuses.memory.hashing import chain
from bonuslab.algorithms.bonuses.memory.joint_experience import join_in_time
from bonuslab.algorithms.data.fragment import Fragment


@register("count.global")
class GlobalCount(Bonus):
    """b_t = 1 / √N(ψ(s_{t+1})), N over all experience including s_{t+1}.

    States are counted in order of time, then of envs; the first state of an episode counts as a visit without a bonus.
    DD-PPO workers share their counts. `count_scope="runner"` keeps one table per env, as the released code did by
    accident: its table was copied into each of 256 actor processes with one environment each.

    `convention="released"` counts rows instead of states: row t + 1 of a fragment, which after an episode's end is the
    next episode's first state, and row 0 of every fragment once more.
    """

    feature: str = "position"
    """ψ: position, message, glyphs, observation, or another registered state feature."""
    count_scope: Literal["shared", "runner"] = varies("shared", minihack="runner")
    """One table for all envs (ours), or one per env (as released)."""
    convention: Literal["exact", "released"] = varies("exact", minihack="released")
    """Count each state once (ours), or rows (as released)."""

    scope = "global"
    equation = "1 / √N(ψ(s_{t+1}))"
    when = "A single environment, or contexts that share the values of ψ, such as messages or rooms."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    def setup(self, setting: Setting) -> None:
        self._feature = feature_of(self.feature, setting.observation_space)
        self._table = CountTable()

    def compute(self, fragment: Fragment) -> torch.Tensor:
        T, N = fragment.action.shape
        keys = fragment_keys(self._feature, fragment)
        released = self.convention == "released"
        following = keys[N : (T + 1) * N].reshape(T, N) if released else keys[fragment.next_state_index()]
        visited = np.stack([keys[: T * N].reshape(T, N), following], axis=2)  # [T, N, 2]
        if self.count_scope == "runner":
            visited = chain(visited, fragment.env_index.astype(np.uint64)[:, None])
        unpaid = np.arange(T)[:, None].repeat(N, 1) == 0 if released else fragment.first[:T]
        counted = np.stack([unpaid, np.ones((T, N), bool)], axis=2)
        counts = np.ones((T, N, 2), np.uint64)
        joint = join_in_time(self.setting.collectives, np.nonzero(counted)[0], visited[counted])
        counts[counted] = self._table.count(joint.rows)[joint.own]
        return torch.from_numpy(1 / np.sqrt(counts[:, :, 1])).to(self.setting.device)


@register("count.episodic")
class EpisodicCount(Bonus):
    """b_t = 1[N_e(ψ(s_{t+1})) = 1] or 1 / √N_e(ψ(s_{t+1})), N_e over this episode including s_{t+1}.

    The first state of an episode counts as a visit, so returning to it gives no bonus. The paper found the indicator
    better than the root. With `convention="released"` the first state is no visit, the last step of an episode looks at
    the next episode's first state, and row 0 of every fragment is counted once more.
    """

    feature: str = "position"
    """ψ: position, message, glyphs, observation, or another registered state feature."""
    form: Literal["indicator", "root"] = "indicator"
    """1[N_e = 1] or 1 / √N_e."""
    convention: Literal["exact", "released"] = varies("exact", minihack="released")
    """Visits by their definition (ours), or as released."""

    scope = "episodic"
    equation = "1[N_e(ψ(s_{t+1})) = 1], or 1 / √N_e(ψ(s_{t+1})) with form=root"
    when = "Contexts that share little: every episode must be explored afresh."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    def setup(self, setting: Setting) -> None:
        self._counter = EpisodicCounter(self.feature, setting, released=self.convention == "released")

    def compute(self, fragment: Fragment) -> torch.Tensor:
        visits = self._counter.count(fragment).following  # [T, N]
        bonus = (visits == 1).astype(np.float64) if self.form == "indicator" else 1 / np.sqrt(visits)
        return torch.from_numpy(bonus).to(self.setting.device)
