"""Level descriptions (.des text) of the tasks whose level is the same for every context.

The game places whatever the text leaves random, so a context still determines where objects are.
"""

from __future__ import annotations

_HEADER = """MAZE: "mylevel", ' '
FLAGS:hardfloor
{message}INIT_MAP: solidfill,' '
GEOMETRY:center,center
MAP
{rows}
ENDMAP
REGION:{region},lit,"ordinary"
{commands}
"""

_LABYRINTH_ROWS = """\
-------------------------------------
|.................|.|...............|
|.|-------------|.|.|.------------|.|
|.|.............|.|.|.............|.|
|.|.|----------.|.|.|------------.|.|
|.|.|...........|.|.............|.|.|
|.|.|.|----------.|-----------|.|.|.|
|.|.|.|...........|.......|...|.|.|.|
|.|.|.|.|----------------.|.|.|.|.|.|
|.|.|.|.|.................|.|.|.|.|.|
|.|.|.|.|.-----------------.|.|.|.|.|
|.|.|.|.|...................|.|.|.|.|
|.|.|.|.|--------------------.|.|.|.|
|.|.|.|.......................|.|.|.|
|.|.|.|-----------------------|.|.|.|
|.|.|...........................|.|.|
|.|.|---------------------------|.|.|
|.|...............................|.|
|.|-------------------------------|.|
|...................................|
-------------------------------------"""

_SMALL_LABYRINTH_ROWS = """\
--------------------
|.......|.|........|
|.-----.|.|.-----|.|
|.|...|.|.|......|.|
|.|.|.|.|.|-----.|.|
|.|.|...|....|.|.|.|
|.|.--------.|.|.|.|
|.|..........|...|.|
|.|--------------|.|
|..................|
--------------------"""

_WAND_OF_DEATH_ROWS = """\
|---------------------------|
|...........................|
|.....|---------------------|
|.....|                      
|.....|                      
|-----|                      """  # noqa: W291 (all rows have the same width)


def open_room_with(size: int, object_class: str, object_name: str) -> str:
    """A lit room without walls, with one blessed object."""
    return _HEADER.format(
        message="",
        rows="\n".join(["." * size] * size),
        region=f"(0,0,{size},{size})",
        commands=_object(object_class, object_name),
    )


def open_room_with_cold() -> str:
    """A lit 8 x 8 room without walls, with a wand of cold or a frost horn, equally likely."""
    return _HEADER.format(
        message='MESSAGE: "Welcome to MiniHack!"\n',
        rows="\n".join(["." * 8] * 8),
        region="(0,0,7,7)",
        commands=f"IF [50%] {{\n{_object('/', 'cold')}\n}} ELSE {{\n{_object('(', 'frost horn')}\n}}",
    )


def labyrinth() -> str:
    """MiniHack's large labyrinth."""
    return _HEADER.format(
        message="",
        rows=_LABYRINTH_ROWS,
        region="(0,0,37,21)",
        commands="BRANCH:(19,1,19,1),(18,0,18,0)\nSTAIR:(19, 7),down",
    )


def small_labyrinth() -> str:
    """MiniHack's small labyrinth."""
    return _HEADER.format(
        message="",
        rows=_SMALL_LABYRINTH_ROWS,
        region="(0,0,20,11)",
        commands="BRANCH:(9,1,9,1),(8,0,8,0)\nSTAIR:(14, 5),down",
    )


def wand_of_death() -> str:
    """A room with a wand of death, and a corridor where a minotaur guards the stairs."""
    commands = (
        "BRANCH:(1,1,5,5),(0,0,0,0)",
        "STAIR:(27, 1),down",
        "$safe_room = selection:fillrect (1,1,4,4)",
        _object("/", "death", place="rndcoord($safe_room)"),
        'MONSTER:"minotaur",(26, 1)',
    )
    return _HEADER.format(message="", rows=_WAND_OF_DEATH_ROWS, region="(0,0,29,6)", commands="\n".join(commands))


def _object(object_class: str, name: str, place: str = "random") -> str:
    return f"OBJECT:('{object_class}',\"{name}\"),{place},blessed"
