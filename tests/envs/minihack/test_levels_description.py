"""Levels from text: compiled once, the same as upstream's, with clear errors for text that does not compile."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.levels import Description, DesFile, KeyRoom, LavaCrossing, LevelSource, MultiRoom
from bonuslab.envs.minihack.levels.compiler import compile_description

TALL_MAP = "MAZE:\"mylevel\",' '\nGEOMETRY:center,center\nMAP\n" + "...\n" * 22 + "ENDMAP\n"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The calls of lev_comp, starting with an empty cache."""
    from bonuslab.envs.minihack.levels import compiler

    calls: list[object] = []
    run = compiler.subprocess.run

    def counting(*args: object, **kwargs: object) -> object:
        calls.append(args)
        return run(*args, **kwargs)  # type: ignore[call-overload]

    compile_description.cache_clear()
    monkeypatch.setattr(compiler.subprocess, "run", counting)
    yield calls
    compile_description.cache_clear()


def test_text_is_compiled_once(compilations: list[object]) -> None:
    first = DesFile("corridor5.des").build(0)
    assert first.map is None
    assert all(DesFile("corridor5.des").build(context) == first for context in range(20))
    assert len(compilations) == 1
    assert DesFile("corridor3.des").build(0) != first
    assert len(compilations) == 2


@pytest.mark.parametrize(("room", "subroom", "lit"), [(5, 2, True), (10, 3, True), (15, 5, False)])
def test_key_room_is_upstreams(room: int, subroom: int, lit: bool) -> None:
    from minihack.envs.keyroom import KeyRoomGenerator

    text = KeyRoomGenerator(room, subroom, lit).get_des()
    assert KeyRoom(room, subroom, lit).build(3).lev == Description(text).build(3).lev


def test_an_error_includes_the_compilers_reason() -> None:
    with pytest.raises(InvalidInput, match=r"does not compile.*line 2"):
        Description("MAZE:\"mylevel\",' '\nNONSENSE:1\n").build(0)


def test_a_map_that_is_too_tall_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="Map too large"):
        Description(TALL_MAP).build(0)
    assert Description(TALL_MAP.replace("...\n", "", 1)).build(0).lev


def test_a_level_with_another_name_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"mylevel\.lev"):
        Description("MAZE:\"castle\",' '\n").build(0)


def test_an_unknown_file_gets_a_suggestion() -> None:
    with pytest.raises(InvalidInput, match=r"'corridor4\.des'; did you mean corridor"):
        DesFile("corridor4.des").build(0)
    with pytest.raises(InvalidInput, match="unknown level description"):
        DesFile("../lib/dungeon").build(0)


@pytest.mark.parametrize(("room", "subroom"), [(3, 1), (5, 4), (5, 0), (19, 3)])
def test_invalid_key_room_sizes_are_rejected(room: int, subroom: int) -> None:
    with pytest.raises(InvalidInput, match=f"key room of size {room} with a subroom of size {subroom}"):
        KeyRoom(room, subroom)


@pytest.mark.parametrize(
    "source", [MultiRoom(6, 10, True), LavaCrossing(), KeyRoom(10, 3), DesFile("corridor2.des")], ids=str
)
def test_sources_are_picklable_and_hashable(source: LevelSource) -> None:
    copy = pickle.loads(pickle.dumps(source))
    assert copy == source
    assert hash(copy) == hash(source)
    assert copy.build(11) == source.build(11)
