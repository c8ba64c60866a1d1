"""ICM (Pathak et al., 2017): rewards transitions that a dynamics model fails to predict."""

from __future__ import annotations

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.models.forward_dynamics import ErrorSize, forward_dynamics
from bonuslab.algorithms.bonuses.models.optimiser import OptimiserKind
from bonuslab.algorithms.data.fragment import Fragment


@register("icm")
class ICM(Bonus):
    """b_t = ½ ‖e_t‖², e_t = h(φ(s_t), a_t) − φ(s_{t+1}); as released ‖e_t‖ (MiniHack) or the mean of e_t² (Habitat).

    φ is learnt by inverse dynamics and by the loss of the forward model h, which equals the bonus. Pathak et al. write
    η/2 and weight the losses 0.8 inverse to 0.2 forward; here η is the coefficient of the term in the expression, and
    the forward loss has the coefficient 1.0 of the paper's Habitat table.
    """

    error: ErrorSize = varies("half_square", minihack="norm", habitat="mean_square")
    """Size of the error in bonus and loss."""
    forward_coefficient: float = 1.0
    """Weight of the forward model's loss (paper's Habitat table, released code)."""
    inverse_coefficient: float = varies(1.0, minihack=0.1)
    """Weight of the inverse model's loss (ours, and 1 on Habitat as released; MiniHack: released code)."""
    learning_rate: float = varies(1e-4, habitat=2.5e-4)
    """Of encoder and both models (Habitat: released code)."""
    optimiser: OptimiserKind = varies("adam", minihack="rmsprop")
    """RMSProp on MiniHack: released code."""

    _non_negative = ("forward_coefficient", "inverse_coefficient", "learning_rate")
    scope = "global"
    equation = "½ ‖h(φ(s_t), a_t) − φ(s_{t+1})‖²"
    when = "Deterministic environments with learnable dynamics; unpredictable noise misleads it."

    def setup(self, setting: Setting) -> None:
        self._model = forward_dynamics(
            setting,
            self.error,
            self.forward_coefficient,
            self.inverse_coefficient,
            self.learning_rate,
            self.optimiser,
        )

    def compute(self, fragment: Fragment) -> torch.Tensor:
        return self._model.forward_error(fragment)

    def learn(self, fragment: Fragment) -> Metrics:
        return self._model.learn(fragment)
