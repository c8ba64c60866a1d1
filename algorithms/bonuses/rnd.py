"""RND (Burda et al., 2019): the error of a predictor of a fixed random network."""

from __future__ import annotations

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.models.distillation import Convention, Networks, distillation
from bonuslab.algorithms.bonuses.models.optimiser import OptimiserKind
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


@register("rnd")
class RND(Bonus):
    """b_t = ‖f(s_{t+1}) − f̄(s_{t+1})‖ ("reference"), ‖f(s_t) − f̄(s_t)‖² ("paper") or ‖f(s_t) − f̄(s_t)‖ ("habitat").

    f̄ is a fixed random network, f a predictor trained on visited states. `networks` selects them, each as released:
    "shared" is a frozen random encoder with a small target and a deeper predictor on top (combined bonuses); "full" is
    two whole encoders (RND alone, and on Habitat); "atari" has separate networks on the last frame, whitened by its
    running moments, and b_t = ½ ‖f(s_{t+1}) − f̄(s_{t+1})‖² (Montezuma's Revenge). Terms with equal parameters share one
    predictor.
    """

    networks: Networks = varies("shared", habitat="full")
    """Small heads on a frozen random encoder (cheap), two whole encoders, or those of Montezuma's Revenge."""
    convention: Convention = varies("reference", habitat="habitat")
    """Norm of the error at s_{t+1} (released for MiniHack), its square at s_t (the paper's equation), or its norm at
    s_t (released for Habitat)."""
    learning_rate: float = varies(1e-4, habitat=2.5e-4)
    """Of the predictor (paper's table; Habitat: released code)."""
    keep: float = 1.0
    """Random fraction of the states that each update trains on; a sixteenth on Montezuma (a quarter of a minibatch)."""
    optimiser: OptimiserKind = "adam"
    """Adam in combinations, RMSProp for RND alone (released code)."""

    scope = "global"
    equation = "‖f(s_{t+1}) − f̄(s_{t+1})‖₂"
    when = "A single environment, or contexts that look alike."

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise InvalidInput(f"rnd: keep must be above 0 and at most 1, not {self.keep:g}")
        if self.networks == "atari" and self.optimiser != "adam":
            raise InvalidInput("rnd: networks=atari learns with Adam only")

    def setup(self, setting: Setting) -> None:
        self._model = distillation(
            setting, self.networks, self.convention, self.learning_rate, self.keep, self.optimiser
        )

    def compute(self, fragment: Fragment) -> torch.Tensor:
        T, N = fragment.action.shape
        novelty = self._model.novelty(fragment)
        if self.convention != "reference":
            return novelty[: T * N].view(T, N)
        return novelty[torch.from_numpy(fragment.next_state_index())]

    def learn(self, fragment: Fragment) -> Metrics:
        return self._model.learn(fragment)
