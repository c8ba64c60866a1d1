"""Which of several bonuses to pay next: a sliding-window bandit over blocks of episodes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

HORIZON = 20
"""Number of past blocks that count: what helped a beginner need not help later."""


class ArmBandit:
    """Pays one arm for a block of episodes and judges it by how much the mean return rose since the block before.

    The next arm has the highest UCB1 score over the last `HORIZON` blocks; see `choose`. NGU and Agent57 judge an arm
    by the returns of the policy that is conditioned on it. Here all arms share one policy, so only the change tells.
    """

    def __init__(self, num_arms: int, block: int) -> None:
        self.arm = 0
        self._num_arms = num_arms
        self._block = block
        self._pulls: deque[tuple[int, float]] = deque(maxlen=HORIZON)
        self._returns: list[float] = []
        self._last_mean: float | None = None

    def update(self, returns: Iterable[float]) -> None:
        """Add the returns of finished episodes, in order."""
        for value in returns:
            self._returns.append(value)
            if len(self._returns) == self._block:
                mean = math.fsum(self._returns) / self._block
                if self._last_mean is not None:
                    self._pulls.append((self.arm, mean - self._last_mean))
                    self.arm = choose(self._pulls, self._num_arms)
                self._returns, self._last_mean = [], mean

    def state_dict(self) -> dict[str, Any]:
        """The arm, and all it was chosen by."""
        return {"arm": self.arm, "pulls": list(self._pulls), "returns": self._returns, "last_mean": self._last_mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self.arm, self._returns, self._last_mean = state["arm"], list(state["returns"]), state["last_mean"]
        self._pulls = deque(((int(arm), gain) for arm, gain in state["pulls"]), maxlen=HORIZON)


def choose(pulls: Sequence[tuple[int, float]] | deque[tuple[int, float]], num_arms: int) -> int:
    """The first arm that was not pulled, or the one with the largest ḡ_k + σ √(2 ln n / n_k).

    ḡ_k is the mean gain of its n_k pulls, σ the standard deviation of all n gains.
    """
    gains: list[list[float]] = [[gain for arm, gain in pulls if arm == k] for k in range(num_arms)]
    if not all(gains):
        return next(k for k in range(num_arms) if not gains[k])
    every = [gain for _, gain in pulls]
    mean = math.fsum(every) / len(every)
    sigma = math.sqrt(math.fsum((gain - mean) ** 2 for gain in every) / len(every))
    scores = [math.fsum(g) / len(g) + sigma * math.sqrt(2 * math.log(len(every)) / len(g)) for g in gains]
    return scores.index(max(scores))
