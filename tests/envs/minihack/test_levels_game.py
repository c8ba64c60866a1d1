"""NetHack plays our levels: it draws their maps, read from mylevel.lev in its directory."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from nle import nethack

from bonuslab.envs.minihack.levels import DesFile, KeyRoom, LavaCrossing, Level, MultiRoom
from bonuslab.envs.minihack.levels.compiler import package_folder

KEYS = ("chars", "blstats", "message")


class OneLevelNetHack:
    """NLE's NetHack with MiniHack's one-level dungeon, whose level is a separate file."""

    def __init__(self, folder: Path) -> None:
        library = package_folder("minihack") / "lib"
        archiver = package_folder("nle") / "nethackdir" / "dlb"
        subprocess.run([str(archiver), "cf", str(folder / "nhdat"), "dungeon", "quest.dat"], cwd=library, check=True)
        self._game = nethack.Nethack(
            observation_keys=KEYS, ttyrec=None, hackdir=str(folder), spawn_monsters=False, copy=True,
            options=[*nethack.NETHACKOPTIONS, "pettype:none", "!autopickup"],
        )  # fmt: skip

    def first_screen(self, level: Level, core_seed: int = 1) -> tuple[list[str], tuple[int, int]]:
        """Rows of the map on screen and the agent's (column, row), at the start of the level."""
        Path(self._game._vardir, "mylevel.lev").write_bytes(level.lev)
        self._game.set_initial_seeds(core_seed, 1, False)
        chars, blstats, _ = self._game.reset()
        for _ in range(5):  # dismiss the greeting
            if chr(chars[blstats[1], blstats[0]]) == "@":
                break
            (chars, blstats, _), _ = self._game.step(nethack.MiscAction.MORE)
        return [row.tobytes().decode("latin-1") for row in chars], (int(blstats[0]), int(blstats[1]))

    def close(self) -> None:
        self._game.close()


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneLevelNetHack]:
    running = OneLevelNetHack(tmp_path_factory.mktemp("hackdir"))
    yield running
    running.close()


@pytest.mark.parametrize("context", [0, 1, 2**47])
@pytest.mark.parametrize("rivers", [13, 17])
def test_lava_crossing_is_drawn_as_its_map(game: OneLevelNetHack, rivers: int, context: int) -> None:
    """Lava does not block sight, so everything but walls is visible from the start."""
    level = LavaCrossing(19, rivers).build(context)
    screen, (agent_x, agent_y) = game.first_screen(level)
    assert level.map is not None
    assert level.start is not None
    left, top = agent_x - level.start[0], agent_y - level.start[1]
    drawn = [row[left + 1 : left + 18] for row in screen[top + 1 : top + 18]]
    expected = [row[1:18].replace("L", "}") for row in level.map[1:]]
    expected[0] = "@" + expected[0][1:]
    expected[-1] = expected[-1][:-1] + ">"
    assert drawn == expected


@pytest.mark.parametrize("source", [MultiRoom(6, 10, lava=True), MultiRoom(10, 10, lava=True, doors="open")], ids=str)
def test_multiroom_is_drawn_as_its_map(game: OneLevelNetHack, source: MultiRoom) -> None:
    seen = 0
    for context in range(10):
        level = source.build(context)
        screen, (agent_x, agent_y) = game.first_screen(level)
        assert level.map is not None
        assert level.start is not None
        left, top = agent_x - level.start[0], agent_y - level.start[1]
        # WALLIFY turns blanks next to floor between rooms into walls.
        symbols = {"L": "}", ".": ".>@", "+": "+|-", " ": "|-"}
        for row, cells in enumerate(level.map):
            for column, cell in enumerate(cells):
                shown = screen[top + row][left + column]
                assert shown in symbols[cell] + " ", (context, column, row)
                seen += shown != " "
    assert seen > 10 * 16


@pytest.mark.parametrize("source", [KeyRoom(10, 3), DesFile("corridor5.des")], ids=str)
def test_described_levels_depend_only_on_the_games_seed(game: OneLevelNetHack, source: KeyRoom | DesFile) -> None:
    screens = [game.first_screen(source.build(0), core_seed=seed) for seed in (1, 2, 3, 1)]
    assert screens[0] == screens[3]
    assert len({tuple(screen) for screen, _ in screens}) == 3


@pytest.mark.parametrize(("room", "subroom"), [(4, 1), (5, 3), (10, 3), (18, 1), (18, 16)])
def test_key_rooms_of_every_allowed_size_have_a_locked_room(game: OneLevelNetHack, room: int, subroom: int) -> None:
    """Its door and the key are visible from some starts."""
    screens = ["".join(game.first_screen(KeyRoom(room, subroom).build(0), core_seed=seed)[0]) for seed in range(25)]
    assert any("+" in screen for screen in screens)
    assert any("(" in screen for screen in screens)
