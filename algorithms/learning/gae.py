"""Generalised advantage estimation (Schulman et al., 2016), for one value head or two."""

from __future__ import annotations

from torch import Tensor

from bonuslab.algorithms.learning.discounted_sum import discounted_sum


def gae(
    *,
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    discount: float,
    decay: float,
) -> Tensor:
    """[T, N]: A_t = Σ_{k≥0} (γλ)^k δ_{t+k} within the episode, δ_t = r_t + γ V(s_{t+1}) − V(s_t).

    All arguments are [T, N]. V(s_{t+1}) is 0 where the episode `terminated`; truncated episodes are bootstrapped. The
    sum stops where the episode is `done` for either reason, and at the end of the fragment.
    """
    delta = reward + discount * next_value * ~terminated - value
    return discounted_sum(delta, discount * decay * (~done).to(delta.dtype))
