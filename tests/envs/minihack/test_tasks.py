"""The task table matches what the authors ran; names are parsed or clearly rejected."""

from __future__ import annotations

import pickle

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import TASKS, suites, task

MOVES = ("N", "E", "S", "W", "NE", "SE", "SW", "NW")

# name: max_steps, actions after the eight moves
PAPER_TASKS = {
    "MultiRoom-N4-Locked": (120, ("OPEN", "KICK")),
    "MultiRoom-N6-Lava": (240, ()),
    "MultiRoom-N6-Lava-OpenDoor": (240, ()),
    "MultiRoom-N6-LavaMonsters": (240, ()),
    "MultiRoom-N10": (360, ()),
    "MultiRoom-N10-OpenDoor": (360, ()),
    "MultiRoom-N10-Lava": (360, ()),
    "MultiRoom-N10-Lava-OpenDoor": (360, ()),
    "LavaCrossingS19N13": (100, ()),
    "LavaCrossingS19N17": (100, ()),
    "Labyrinth-Big": (1000, ()),
    "Levitate-Potion-Restricted": (250, ("PICKUP", "QUAFF", "FIRE")),
    "Levitate-Boots-Restricted": (250, ("PICKUP", "WEAR", "FIRE")),
    "Freeze-Horn-Restricted": (250, ("PICKUP", "APPLY", "FIRE")),
    "Freeze-Wand-Restricted": (250, ("PICKUP", "ZAP", "FIRE")),
    "Freeze-Random-Restricted": (250, ("PICKUP", "ZAP", "APPLY", "FIRE")),
}


def _full(name: str) -> str:
    return f"MiniHack-{name}-v0"


def test_paper16_is_what_the_authors_ran() -> None:
    assert [member.name for member in suites["paper16"]] == [_full(name) for name in PAPER_TASKS]
    for name, (steps, more_actions) in PAPER_TASKS.items():
        assert task(name).max_steps == steps
        assert task(name).action_names == MOVES + more_actions


def test_released16_differs_in_four_tasks() -> None:
    paper, released = ({member.name for member in suites[suite]} for suite in ("paper16", "released16"))
    assert paper - released == {_full("MultiRoom-N10"), _full("MultiRoom-N10-Lava")}
    assert released - paper == {_full("LavaCross-Restricted"), _full("WoD-Hard-Restricted")}
    assert task("WoD-Hard-Restricted").max_steps == 400


def test_study_tasks() -> None:
    assert [member.name for member in suites["study"]] == [
        _full("Corridor-R5"),
        _full("KeyRoom-S10"),
        _full("MultiRoom-N6-Lava"),
    ]
    key_room = task("KeyRoom-S10")
    assert (key_room.levels.room_size, key_room.levels.subroom_size) == (10, 3)  # type: ignore[attr-defined]
    assert (key_room.max_steps, key_room.autopickup) == (200, False)
    assert key_room.action_names == (*MOVES, "PICKUP", "APPLY")
    assert task("Corridor-R5").max_steps == 1000
    assert task("Corridor-R5").action_names == (*MOVES, "OPEN", "KICK", "SEARCH")


def test_tasks_list_their_suites() -> None:
    for suite, members in suites.items():
        assert all(suite in member.suites for member in members)
    assert task("MultiRoom-N6-Lava").suites == ("paper16", "released16", "study")


@pytest.mark.parametrize("name", ["MultiRoom-N6-Lava", "minihack-multiroom-n6-lava-V0", " MULTIROOM-N6-LAVA "])
def test_names_may_be_short_and_are_case_insensitive(name: str) -> None:
    assert task(name) is TASKS["MiniHack-MultiRoom-N6-Lava-v0"]


def test_tasks_are_accepted_as_names_and_picklable() -> None:
    for each in TASKS.values():
        assert task(each) is each
        assert pickle.loads(pickle.dumps(each)) == each


def test_parametric_multiroom() -> None:
    made = task("multiroom-n3-s5-lava-locked-monsters2")
    assert made.name == "MiniHack-MultiRoom-N3-S5-Lava-Locked-Monsters2-v0"
    levels = made.levels
    assert (levels.rooms, levels.room_size, levels.lava) == (3, 5, True)  # type: ignore[attr-defined]
    assert (levels.doors, levels.monsters) == ("locked", 2)  # type: ignore[attr-defined]
    assert made.max_steps == 120
    assert made.action_names == (*MOVES, "OPEN", "KICK")
    assert task(made.name) == made


def test_the_table_takes_precedence_over_the_grammar() -> None:
    assert task("MultiRoom-N4-Locked").levels.room_size == 5  # type: ignore[attr-defined]
    assert task("MultiRoom-N10").max_steps == 360


def test_parametric_key_room() -> None:
    made = task("KeyRoom-S7")
    assert made.levels.room_size == 7  # type: ignore[attr-defined]
    assert made.applies_key


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("MultiRoom-N6-Lva", "MultiRoom-N6-Lava"),
        ("LavaCrosingS19N13", "LavaCrossingS19N13"),
        ("Corridor-R4", "Corridor-R"),
        ("MultiRoom-N6-Open-Lava", "MultiRoom-N6-Lava"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=hint) as caught:
        task(name)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["MultiRoom-N0", "MultiRoom-N99", "MultiRoom-N3-S99", "KeyRoom-S2"])
def test_impossible_sizes_are_rejected(name: str) -> None:
    with pytest.raises(InvalidInput, match="allowed"):
        task(name)


def test_none_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="None"):
        task(None)  # type: ignore[arg-type]
