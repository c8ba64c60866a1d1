"""MultiRoom maps equal minigrid's, draw by draw, and are the same bytes everywhere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from minigrid.envs import MultiRoomEnv

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.levels import LavaCrossing, MultiRoom, chain
from bonuslab.envs.minihack.levels.multiroom import MAX_CHAINS, SIDE, TALLEST_MAP
from bonuslab.envs.minihack.randomness import Stream

SOURCES = [MultiRoom(6, 10, lava=True), MultiRoom(4, 5, doors="locked"), MultiRoom(10, 10)]

DIGEST_PROGRAM = """
import hashlib
from bonuslab.envs.minihack.levels import LavaCrossing, MultiRoom
digest = hashlib.sha256()
for source in (MultiRoom(6, 10, lava=True), MultiRoom(4, 5, doors="locked"), MultiRoom(10, 10), LavaCrossing()):
    for context in (0, 1, 7, 2**47, 2**48 - 1):
        # The first 40 bytes identify the installed NetHack, not the level.
        digest.update(source.build(context).lev[40:])
print(digest.hexdigest())
"""
DIGEST = "6317741bd69ac56448140ef2917ab6658efc3c6bd16ee0e62655c8f410a7ee85"


class ReplayedMultiRoom(MultiRoomEnv):
    """minigrid's generator with random numbers from our stream."""

    def draw(self, seed: int) -> None:
        self._stream = Stream(seed)
        self._first_call = True
        self._gen_grid(SIDE, SIDE)

    def _rand_int(self, low: int, high: int) -> int:
        if self._first_call:  # the number of rooms, which is fixed
            self._first_call = False
            return low
        return low + self._stream.below(high - low)

    def _rand_elem(self, iterable: Iterable[Any]) -> Any:
        elements = list(iterable)
        # NetHack has no door colours: no number is drawn for them.
        return elements[0] if isinstance(elements[0], str) else elements[self._rand_int(0, len(elements))]

    def place_agent(self, top: Any = None, size: Any = None, **_: Any) -> Any:  # type: ignore[override]
        return super().place_agent(top, size, rand_dir=False)


@pytest.mark.parametrize(
    ("rooms", "size", "maps"), [(1, 10, 100), (2, 4, 200), (4, 5, 300), (6, 10, 500), (10, 10, 40)]
)
@pytest.mark.parametrize("wall", ["|", "L"])
def test_maps_equal_minigrids_with_the_same_random_numbers(rooms: int, size: int, maps: int, wall: str) -> None:
    """Without the row limit both draw the same numbers in the same order, so all maps must be equal."""
    from minihack.envs.minigrid import MiniGridHack

    env = ReplayedMultiRoom(minNumRooms=rooms, maxNumRooms=rooms, maxRoomSize=size)
    found = np.empty((rooms, 6), np.int64)
    cells = np.empty((SIDE, SIDE), np.uint8)
    places = np.empty((rooms + 1, 2), np.int64)
    for seed in range(maps):
        env.draw(seed)
        text, start, goal, doors = MiniGridHack.get_env_map(SimpleNamespace(wall=wall), env)
        top, bottom = chain.random_map(np.uint64(seed), size, ord(wall), SIDE, MAX_CHAINS, found, cells, places)
        assert [row.tobytes().decode() for row in cells[top:bottom]] == text.split("\n")
        assert list(map(tuple, places.tolist())) == [start, goal, *doors]
        assert [(*room.top, *room.size) for room in env.rooms] == list(map(tuple, found[:, :4].tolist()))


def test_abandoning_tall_chains_early_changes_no_probability() -> None:
    """The limit keeps exactly the complete chains that fit, unchanged."""
    limited, unlimited = np.empty((6, 6), np.int64), np.empty((6, 6), np.int64)
    complete = kept = 0
    for seed in range(20_000):
        fits = chain.place_rooms(np.array([seed], np.uint64), limited, 10, SIDE, TALLEST_MAP, 1)
        if chain.place_rooms(np.array([seed], np.uint64), unlimited, 10, SIDE, SIDE, 1):
            complete += 1
            height = (unlimited[:, 1] + unlimited[:, 3]).max() - unlimited[:, 1].min()
            assert fits == (height <= TALLEST_MAP)
            assert not fits or (limited[:, :4] == unlimited[:, :4]).all()
            kept += fits
        else:
            assert not fits
    assert complete > 3000
    assert 0.2 < 1 - kept / complete < 0.28  # a quarter of minigrid's maps do not fit


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_levels_are_well_formed(source: MultiRoom) -> None:
    for context in range(200):
        level = source.build(context)
        assert level.map is not None
        assert level.start is not None
        assert level.goal is not None
        assert 4 <= len(level.map) <= TALLEST_MAP
        assert {len(row) for row in level.map} == {SIDE}
        assert all(row.strip() for row in level.map)
        assert level.map[level.start[1]][level.start[0]] == "."
        assert level.map[level.goal[1]][level.goal[0]] == "."
        assert level.start != level.goal
        assert len(level.doors) == source.rooms - 1
        assert list(level.doors) == sorted(level.doors, key=lambda door: (door[1], door[0]))
        assert all(level.map[row][column] == "+" for column, row in level.doors)
        assert sum(row.count("+") for row in level.map) == len(level.doors)


def test_variants_of_a_context_share_their_rooms() -> None:
    stone, lava = MultiRoom(6, 10).build(5), MultiRoom(6, 10, lava=True, doors="open", monsters=2).build(5)
    assert stone.map is not None
    assert lava.map == tuple(row.replace("|", "L") for row in stone.map)
    assert (stone.start, stone.goal, stone.doors) == (lava.start, lava.goal, lava.doors)
    assert MultiRoom(6, 10).build(6).map != stone.map


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_bytes_in_other_processes_equal_the_stored_digest(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", DIGEST_PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == DIGEST


def test_bytes_in_this_process_equal_the_stored_digest() -> None:
    digest = hashlib.sha256()
    for source in (*SOURCES, LavaCrossing()):
        for context in (0, 1, 7, 2**47, 2**48 - 1):
            digest.update(source.build(context).lev[40:])
    assert digest.hexdigest() == DIGEST


def test_rooms_that_do_not_fit_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bonuslab.envs.minihack.levels.multiroom.MAX_CHAINS", 1000)
    with pytest.raises(InvalidInput, match="no chain of 20 rooms of size up to 10 was found for context 3"):
        MultiRoom(20, 10).build(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiRoom(0, 10), "0 rooms; allowed: 1 to 20"),
        (lambda: MultiRoom(6, 3), "room size 3; allowed: 4 to 21"),
        (lambda: MultiRoom(6, 10, doors="lockd"), "'lockd'; did you mean locked"),  # type: ignore[arg-type]
        (lambda: MultiRoom(6, 10, monsters=-1), "-1 monsters"),
        (lambda: MultiRoom(6, 10).build(-1), "context id -1"),
    ],
)
def test_invalid_parameters_are_rejected(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_compiles_without_a_writable_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba raises if it finds no folder for its cache; the function is then compiled for this process only."""
    tried: list[bool] = []

    def without_folder(signature: str, cache: bool = False, **_: bool) -> Callable[[Any], Any]:
        tried.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(chain, "njit", without_folder)
    assert chain._compiled("i8(i8)")(abs) is abs
    assert tried == [True, False]
