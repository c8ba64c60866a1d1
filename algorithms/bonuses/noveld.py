"""NovelD (Zhang et al., 2021): rewards an increase in novelty, at the boundary of explored territory."""

from __future__ import annotations

from typing import Literal

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.features.state_features import check_feature
from bonuslab.algorithms.bonuses.memory.episodic_counter import EpisodicCounter
from bonuslab.algorithms.bonuses.models.distillation import Networks, distillation
from bonuslab.algorithms.data.fragment import Fragment


@register("noveld")
class NovelD(Bonus):
    """b_t = [n(s_{t+1}) − c n(s_t)]₊, times 1[N_e(ψ(s_{t+1})) = 1] if `episodic`.

    n is RND's novelty, ‖f − f̄‖, or ‖f − f̄‖² with "paper". Without `episodic` (the default) this is the
    global term that the paper's appendix multiplies by E3B; `noveld(episodic=true)` is NovelD as published. c = 0 gives
    RND's bonus.
    """

    c: float = 0.1
    """Factor of the current state's novelty that is subtracted (paper's table)."""
    episodic: bool = False
    """Reward only the first visit in the episode, as NovelD alone does."""
    feature: str = "observation"
    """ψ of the episodic count."""
    networks: Networks = varies("shared", habitat="full")
    """As for `rnd`."""
    convention: Literal["reference", "paper", "habitat", "released"] = varies(
        "reference", minihack="released", habitat="habitat"
    )
    """Norm, or its square (the paper's equation); "habitat" trains the predictor as released there, "released" counts
    visits as `count.episodic(convention=released)`."""
    learning_rate: float = varies(1e-4, habitat=2.5e-4)
    """Of the predictor, with Adam (paper's table; Habitat: released code)."""

    _non_negative = ("c", "learning_rate")
    equation = "[‖f(s_{t+1}) − f̄(s_{t+1})‖ − c ‖f(s_t) − f̄(s_t)‖]₊, with episodic=true · 1[N_e(s_{t+1}) = 1]"
    when = "Like RND, when only entering new territory should be rewarded."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        """Combined with the episodic indicator, global without."""
        return "combined" if self.episodic else "global"

    def setup(self, setting: Setting) -> None:
        released = self.convention == "released"
        convention = "reference" if self.convention == "released" else self.convention
        self._model = distillation(setting, self.networks, convention, self.learning_rate)
        self._counter = EpisodicCounter(self.feature, setting, released) if self.episodic else None

    def compute(self, fragment: Fragment) -> torch.Tensor:
        T, N = fragment.action.shape
        novelty = self._model.novelty(fragment)
        before = novelty[: T * N].view(T, N)
        after = novelty[torch.from_numpy(fragment.next_state_index())]
        bonus = (after - self.c * before).clamp(min=0)
        if self._counter is not None:
            new = self._counter.count(fragment).following == 1  # [T, N]
            bonus = bonus * torch.from_numpy(new).to(bonus.device)
        return bonus

    def learn(self, fragment: Fragment) -> Metrics:
        return self._model.learn(fragment)
