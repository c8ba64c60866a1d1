"""The tasks: levels, actions, step limits, and what counts as winning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from nle.nethack import Command, CompassDirection

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack import descriptions
from bonuslab.envs.minihack.levels import Description, DesFile, KeyRoom, LavaCrossing, LevelSource, MultiRoom

MOVES: Final = tuple(CompassDirection)
_ROGUE: Final = "rog-hum-cha-mal"
_CAVEMAN: Final = "cav-hum-neu-mal"
_STEPS_PER_ROOM: Final = 40
_ROOM_SIZE: Final = 10

_FLOATING: Final = (
    b"You float up",
    b"You start to float in the air",
    b"Up, up, and awaaaay!",
    b"a ring of levitation (on left hand)",
    b"a ring of levitation (on right hand)",
)
_FREEZING: Final = (b"The bolt of cold bounces!",)


@dataclass(frozen=True)
class Task:
    """One task. Contexts differ in the level, or in what the game places on it."""

    name: str
    """As MiniHack calls it, such as `MiniHack-MultiRoom-N6-Lava-v0`."""
    levels: LevelSource
    max_steps: int
    """Episodes are truncated after this many steps."""
    keys: tuple[Command | CompassDirection, ...] = MOVES
    """NLE's key for each action."""
    rooms: int = 1
    character: str = _ROGUE
    autopickup: bool = True
    """Whether the agent automatically picks up what it steps on."""
    answers_questions: bool = False
    """Whether all of the game's questions reach the agent; otherwise most are declined for it."""
    winning_messages: tuple[bytes, ...] = ()
    """Messages that win the task; if empty, reaching the stairs down wins."""
    applies_key: bool = False
    """Whether APPLY next to a closed door, with a key, continues until the door is open (MiniHack's KeyRoom)."""
    suites: tuple[str, ...] = ()

    @property
    def actions(self) -> tuple[int, ...]:
        """The key code of each action."""
        return tuple(int(key) for key in self.keys)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The name of each action: N, E, ..., PICKUP."""
        return tuple(key.name for key in self.keys)


def _multiroom(
    name: str, rooms: int, room_size: int, max_steps: int, lava: bool = False, doors: str = "closed", monsters: int = 0
) -> Task:
    levels = MultiRoom(rooms, room_size, lava=lava, doors=doors, monsters=monsters)  # type: ignore[arg-type]
    keys = (*MOVES, Command.OPEN, Command.KICK) if doors == "locked" else MOVES
    return Task(name, levels, max_steps, keys=keys, rooms=rooms)


def _skill(
    name: str, levels: LevelSource, *commands: Command, max_steps: int = 250, messages: tuple[bytes, ...] = ()
) -> Task:
    return Task(
        name,
        levels,
        max_steps,
        keys=(*MOVES, Command.PICKUP, *commands),
        character=_CAVEMAN,
        autopickup=False,
        answers_questions=True,
        winning_messages=messages,
    )


def _corridor(name: str, rooms: int) -> Task:
    keys = (*MOVES, Command.OPEN, Command.KICK, Command.SEARCH)
    return Task(name, DesFile(f"corridor{rooms}.des"), 1000, keys=keys, rooms=rooms)


def _key_room(name: str, size: int) -> Task:
    keys = (*MOVES, Command.PICKUP, Command.APPLY)
    levels = KeyRoom(room_size=size, subroom_size=round(size / 3))
    max_steps = 200 if size <= 10 else 400
    return Task(name, levels, max_steps, keys=keys, rooms=2, autopickup=False, applies_key=True)


def _lava_crossing(name: str, size: int, rivers: int) -> Task:
    return Task(name, LavaCrossing(size, rivers), max_steps=100)


def _room_with(size: int, object_class: str, object_name: str) -> Description:
    return Description(descriptions.open_room_with(size, object_class, object_name))


def _table() -> Iterable[Task]:
    """All named tasks, starting with the paper's in its order."""
    yield _multiroom("MultiRoom-N4-Locked", 4, 5, 120, doors="locked")
    yield _multiroom("MultiRoom-N6-Lava", 6, 10, 240, lava=True)
    yield _multiroom("MultiRoom-N6-Lava-OpenDoor", 6, 10, 240, lava=True, doors="open")
    yield _multiroom("MultiRoom-N6-LavaMonsters", 6, 10, 240, lava=True, monsters=3)
    yield _multiroom("MultiRoom-N10", 10, 10, 360)
    yield _multiroom("MultiRoom-N10-OpenDoor", 10, 10, 360, doors="open")
    yield _multiroom("MultiRoom-N10-Lava", 10, 10, 360, lava=True)
    yield _multiroom("MultiRoom-N10-Lava-OpenDoor", 10, 10, 360, lava=True, doors="open")
    yield _lava_crossing("LavaCrossingS19N13", 19, 13)
    yield _lava_crossing("LavaCrossingS19N17", 19, 17)
    yield Task("Labyrinth-Big", Description(descriptions.labyrinth()), 1000)
    yield _skill(
        "Levitate-Potion-Restricted", _room_with(5, "!", "levitation"), Command.QUAFF, Command.FIRE, messages=_FLOATING
    )
    yield _skill(
        "Levitate-Boots-Restricted",
        _room_with(5, "[", "levitation boots"),
        Command.WEAR,
        Command.FIRE,
        messages=_FLOATING,
    )
    yield _skill(
        "Freeze-Horn-Restricted", _room_with(8, "(", "frost horn"), Command.APPLY, Command.FIRE, messages=_FREEZING
    )
    yield _skill("Freeze-Wand-Restricted", _room_with(8, "/", "cold"), Command.ZAP, Command.FIRE, messages=_FREEZING)
    yield _skill(
        "Freeze-Random-Restricted",
        Description(descriptions.open_room_with_cold()),
        Command.ZAP,
        Command.APPLY,
        Command.FIRE,
        messages=_FREEZING,
    )
    yield _skill(
        "LavaCross-Restricted",
        DesFile("lava_crossing.des"),
        Command.ZAP,
        Command.WEAR,
        Command.APPLY,
        Command.QUAFF,
        Command.PUTON,
        Command.FIRE,
        Command.READ,
    )
    yield _skill(
        "WoD-Hard-Restricted",
        Description(descriptions.wand_of_death()),
        Command.ZAP,
        Command.FIRE,
        max_steps=400,
    )
    for rooms in (2, 3, 5):
        yield _corridor(f"Corridor-R{rooms}", rooms)
    for size in (5, 10, 15):
        yield _key_room(f"KeyRoom-S{size}", size)
    for rooms, room_size, max_steps in ((2, 4, 40), (4, 5, 120), (6, 10, 240)):
        yield _multiroom(f"MultiRoom-N{rooms}", rooms, room_size, max_steps)
        if rooms != 6:
            yield _multiroom(f"MultiRoom-N{rooms}-Lava", rooms, room_size, max_steps, lava=True)
        if rooms != 4:
            yield _multiroom(f"MultiRoom-N{rooms}-Locked", rooms, room_size, max_steps, doors="locked")
    yield _multiroom("MultiRoom-N6-OpenDoor", 6, 10, 240, doors="open")
    yield Task("Labyrinth-Small", Description(descriptions.small_labyrinth()), 400)


_SMALL_VERSIONS: Final = (
    "MultiRoom-N4-S4-Locked",
    "MultiRoom-N4-S4-Lava",
    "MultiRoom-N4-S4-Lava-OpenDoor",
    "MultiRoom-N4-S4-Lava-Monsters1",
    "MultiRoom-N6-S5",
    "MultiRoom-N6-S5-OpenDoor",
    "MultiRoom-N5-S4-Lava",
    "MultiRoom-N6-S4-Lava-OpenDoor",
    "LavaCrossingS9N3",
    "LavaCrossingS11N5",
)
"""Smaller versions of the paper's first ten tasks, in its order; in the suite `mini16`."""


def _suite_names() -> dict[str, tuple[str, ...]]:
    paper = tuple(task.name for task in _table())[:16]
    released = tuple(name for name in paper if name not in ("MultiRoom-N10", "MultiRoom-N10-Lava"))
    return {
        "paper16": paper,
        "mini16": (*_SMALL_VERSIONS, "Labyrinth-Small", *paper[11:]),
        "released16": (*released, "LavaCross-Restricted", "WoD-Hard-Restricted"),
        "study": ("Corridor-R5", "KeyRoom-S10", "MultiRoom-N6-Lava"),
    }


def _full_name(short: str) -> str:
    return f"MiniHack-{short}-v0"


def _in_suites(named: Task) -> Task:
    """The task under its full name, with the suites it is in."""
    short = named.name.removeprefix("MiniHack-").removesuffix("-v0")
    member_of = tuple(suite for suite, members in _suite_names().items() if short in members)
    return replace(named, name=_full_name(short), suites=member_of)


TASKS: Final = MappingProxyType({found.name: found for found in map(_in_suites, _table())})
"""All named tasks, by full name."""

_GRAMMAR: Final = re.compile(
    r"MultiRoom-N(?P<rooms>\d{1,3})(-S(?P<size>\d{1,3}))?(?P<lava>-Lava)?(-(?P<doors>OpenDoor|Locked))?"
    r"(-Monsters(?P<monsters>\d{1,3}))?|KeyRoom-S(?P<key_room>\d{1,3})"
    r"|LavaCrossingS(?P<grid>\d{1,2})N(?P<rivers>\d{1,2})",
    re.IGNORECASE,
)
GRAMMAR: Final = (
    "MultiRoom-N{rooms}[-S{size}][-Lava][-OpenDoor|-Locked][-Monsters{k}], KeyRoom-S{size}, "
    "LavaCrossingS{size}N{rivers}"
)
"""Names of tasks that are not in the table."""

_by_lower_name: Final = {name.lower(): task_ for name, task_ in TASKS.items()}


def task(name: str | Task) -> Task:
    """The task called `name`; case-insensitive, `MiniHack-` and `-v0` are optional."""
    if isinstance(name, Task):
        return name
    if not isinstance(name, str):
        raise InvalidInput(f"task {name!r} is not a name; allowed: {', '.join(_short_names())}")
    short = re.sub(r"^MiniHack-|-v0$", "", name.strip(), flags=re.IGNORECASE)
    found = _by_lower_name.get(_full_name(short).lower())
    if found is not None:
        return found
    match = _GRAMMAR.fullmatch(short)
    if match is None:
        raise unknown("task", name, _short_names())
    return _in_suites(_parametric(match))


def _parametric(match: re.Match[str]) -> Task:
    if match["key_room"]:
        return _key_room(f"KeyRoom-S{int(match['key_room'])}", int(match["key_room"]))
    if match["grid"]:
        grid, rivers = int(match["grid"]), int(match["rivers"])
        return _lava_crossing(f"LavaCrossingS{grid}N{rivers}", grid, rivers)
    rooms, size, monsters = int(match["rooms"]), int(match["size"] or _ROOM_SIZE), int(match["monsters"] or 0)
    doors = {"": "closed", "opendoor": "open", "locked": "locked"}[(match["doors"] or "").lower()]
    parts = [f"MultiRoom-N{rooms}"]
    parts += [f"S{size}"] if match["size"] else []
    parts += ["Lava"] if match["lava"] else []
    parts += [{"open": "OpenDoor", "locked": "Locked"}[doors]] if doors != "closed" else []
    parts += [f"Monsters{monsters}"] if match["monsters"] else []
    name = _full_name("-".join(parts))
    return _multiroom(name, rooms, size, _STEPS_PER_ROOM * rooms, bool(match["lava"]), doors, monsters)


def _short_names() -> list[str]:
    return [name.removeprefix("MiniHack-").removesuffix("-v0") for name in TASKS]


suites: Final = MappingProxyType(
    {suite: tuple(task(name) for name in members) for suite, members in _suite_names().items()}
)
"""Named lists of tasks: the paper's, small versions of them, those of the authors' sweep, and those of our studies."""
