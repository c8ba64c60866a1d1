"""A scripted agent wins in our environment and upstream's on the same step, with the same reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bonuslab.envs.minihack import task
from bonuslab.envs.minihack.explorer import Explorer

CONTEXTS = range(70, 76)


@pytest.mark.parametrize(
    "name",
    [
        "MultiRoom-N4-Locked",
        "MultiRoom-N6-Lava",
        "MultiRoom-N6-LavaMonsters",
        "MultiRoom-N10",
        "MultiRoom-N10-OpenDoor",
        "LavaCrossingS19N13",
        "LavaCrossingS19N17",
        "Labyrinth-Big",
        "Labyrinth-Small",
        "Corridor-R5",
        "KeyRoom-S5",
        "KeyRoom-S10",
        "Levitate-Potion-Restricted",
        "Levitate-Boots-Restricted",
        "Freeze-Horn-Restricted",
        "Freeze-Wand-Restricted",
        "Freeze-Random-Restricted",
    ],
)
def test_wins_are_identical(name: str, make_pair: Callable[..., Any]) -> None:
    pair = make_pair(task(name))
    for context in CONTEXTS:
        pair.play(context, Explorer(task(name).actions, seed=0).act)
        if pair.endings.count("won") == 2:
            return
    pytest.fail(f"the scripted agent did not win twice: {pair.endings}")


def test_the_key_room_is_won_with_the_key(make_pair: Callable[..., Any]) -> None:
    """APPLY next to the locked door presses many keys in one action, the same as upstream."""
    pair = make_pair(task("KeyRoom-S10"))
    assert pair.play(72, Explorer(task("KeyRoom-S10").actions, seed=0).act) == "won"
    assert {"PICKUP", "APPLY"} <= pair.actions_taken
