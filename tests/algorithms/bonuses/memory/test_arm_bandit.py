"""The bandit over bonuses: its equation, and what it learns on constructed returns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bonuslab.algorithms.bonuses.memory.arm_bandit import HORIZON, ArmBandit, choose


def test_every_arm_is_tried_before_one_is_preferred() -> None:
    assert choose([], 3) == 0
    assert choose([(0, 9.0), (2, 9.0)], 3) == 1


def test_equals_the_equation() -> None:
    rng = np.random.default_rng(0)
    chosen = set()
    for _ in range(50):
        pulls = [(k % 3, float(rng.normal())) for k in range(12)]
        gains = np.array([gain for _, gain in pulls])
        scores = [gains[k::3].mean() + gains.std() * math.sqrt(2 * math.log(12) / 4) for k in range(3)]
        assert choose(pulls, 3) == int(np.argmax(scores))
        chosen.add(choose(pulls, 3))
    assert chosen == {0, 1, 2}


def test_prefers_the_arm_under_which_returns_rise_and_forgets() -> None:
    bandit, level = ArmBandit(3, block=4), 0.0
    rng = np.random.default_rng(1)

    def share(helpful: int, blocks: int) -> float:
        nonlocal level
        pulled = []
        for _ in range(blocks):
            pulled.append(bandit.arm == helpful)
            level += 0.1 * (bandit.arm == helpful)
            bandit.update(level + 0.02 * rng.normal(size=4))
        return float(np.mean(pulled[HORIZON:]))

    assert share(2, 80) > 0.5
    assert share(1, 80) > 0.5


@pytest.mark.parametrize("pieces", [[10], [3, 3, 4], [1] * 10])
def test_blocks_do_not_depend_on_how_returns_arrive(pieces: list[int]) -> None:
    bandit, returns = ArmBandit(2, block=3), [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    copy = ArmBandit(2, block=3)
    for piece in pieces:
        copy.load_state_dict(bandit.state_dict())
        bandit, copy = copy, bandit
        bandit.update(returns[:piece])
        returns = returns[piece:]
    assert bandit.state_dict() == {"arm": 0, "pulls": [(0, 3.0), (1, 3.0)], "returns": [9.0], "last_mean": 7.0}
