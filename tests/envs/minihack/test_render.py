"""Pictures and text of the map, compared with what the game draws."""

from __future__ import annotations

import itertools
import pickle
import re
from pathlib import Path

import minihack
import numpy as np
import pytest
from nle import nethack

from bonuslab.envs.minihack import render
from bonuslab.envs.minihack.glyphs import STONE, monster_glyphs, object_glyphs, symbols
from bonuslab.envs.minihack.tiles import glyph_pictures

FLOOR, LAVA, CLOSED_DOOR, STAIRS = (STONE + index for index in (19, 34, 15, 24))
COLOUR_CODE = re.compile(r"\033\[[0-9;]*m")


def small_map() -> np.ndarray:
    """A strip of floor bordered by lava in rows 5-7, columns 10-15, with an agent, a door and stairs."""
    glyphs = np.full((21, 79), STONE, np.int16)
    glyphs[5:8, 10:16] = LAVA
    glyphs[6, 11:15] = FLOOR, 327, CLOSED_DOOR, STAIRS  # 327: an archeologist, drawn as @
    return glyphs


def small_blstats() -> np.ndarray:
    blstats = np.zeros(27, np.int64)
    blstats[[nethack.NLE_BL_X, nethack.NLE_BL_Y]] = 12, 6
    blstats[[nethack.NLE_BL_HP, nethack.NLE_BL_HPMAX, nethack.NLE_BL_XP, nethack.NLE_BL_TIME]] = 9, 12, 1, 34
    return blstats


def plain(lines: list[str]) -> list[str]:
    return [COLOUR_CODE.sub("", line) for line in lines]


@pytest.fixture(scope="module")
def game_screens() -> list[tuple[np.ndarray, ...]]:
    """Glyphs, characters and colours along a seeded random walk through full NetHack."""
    keys = ("glyphs", "chars", "colors")
    game = nethack.Nethack(observation_keys=keys, ttyrec=None, playername="Agent-val-hum-fem-neu", copy=True)
    screens = []
    try:
        rng = np.random.default_rng(3)
        for seed in range(50):
            game.set_initial_seeds(seed, seed, False)
            screens.append(game.reset())
            for _ in range(20):
                screen, done = game.step(int(rng.choice([ord(key) for key in "hjklyubn"])))
                screens.append(screen)
                if done:
                    break
    finally:
        game.close()
    return screens


def test_symbols_equal_the_games_own(game_screens: list[tuple[np.ndarray, ...]]) -> None:
    characters, colours = symbols()
    kinds: set[int] = set()
    for glyphs, chars, colors in game_screens:
        assert (characters[glyphs] == chars).all()
        # NetHack draws black as dark grey (8) and gives unseen rock colour 0; neither is visible.
        same = (colours[glyphs] == colors) | np.isin(colours[glyphs], (0, 8))
        assert same.all()
        kinds |= set(np.unique(glyphs).tolist())
    assert len(kinds) > 30  # the walk saw enough


def test_every_glyph_has_a_printable_symbol() -> None:
    characters, colours = symbols()
    assert characters.shape == colours.shape == (nethack.MAX_GLYPH + 1,)
    assert ((characters >= 32) & (characters < 127)).all()
    assert (colours < 16).all()


@pytest.mark.parametrize(
    ("index", "character"),
    zip((1, 2, 12, 13, 14, 15, 19, 21, 23, 24, 32, 34, 42), "|-.-|+.#<>}}^", strict=True),
)
def test_map_symbols(index: int, character: str) -> None:
    assert chr(symbols()[0][STONE + index]) == character


def test_lava_is_red_and_water_blue() -> None:
    assert symbols()[1][[LAVA, STONE + 32]].tolist() == [1, 4]


def test_object_and_monster_masks_are_disjoint_and_exclude_boulders() -> None:
    assert not (monster_glyphs() & object_glyphs()).any()
    boulder = next(
        nethack.GLYPH_OBJ_OFF + index
        for index in range(nethack.NUM_OBJECTS)
        if nethack.OBJ_NAME(nethack.objclass(index)) == "boulder"
    )
    assert not object_glyphs()[boulder]
    assert object_glyphs()[boulder - 1]


def test_tiles_equal_minihacks() -> None:
    folder = Path(minihack.__file__).parent / "tiles"
    theirs = pickle.loads((folder / "tiles.pkl").read_bytes())
    ours = glyph_pictures()
    assert ours.shape == (nethack.MAX_GLYPH + 1, 16, 16, 3)
    for glyph, tile in enumerate(nethack.glyph2tile):
        assert np.array_equal(ours[glyph], theirs[tile])


def test_used_part_contains_everything_seen() -> None:
    glyphs = small_map()
    assert render.used_part(glyphs, margin=0) == render.MapBox(5, 10, 3, 6)
    assert render.used_part(glyphs) == render.MapBox(4, 9, 5, 8)
    later = np.full_like(glyphs, STONE)
    later[20, 78] = FLOOR
    assert render.used_part(np.stack([glyphs, later])) == render.MapBox(4, 9, 17, 70)
    assert render.used_part(np.full_like(glyphs, STONE)) == render.MapBox(0, 0, 21, 79)


def test_text_without_colour() -> None:
    glyphs = small_map()
    lines = render.text_lines(glyphs, box=render.used_part(glyphs, margin=0), colour=False)
    assert lines == ["}}}}}}", "}.@+>}", "}}}}}}"]
    assert len(render.text_lines(glyphs, colour=False)) == 21


def test_text_with_colour_shows_the_same_and_inverts_the_agent() -> None:
    glyphs = small_map()
    coloured = render.text_lines(glyphs, agent=(6, 12), box=render.used_part(glyphs))
    assert plain(coloured) == render.text_lines(glyphs, box=render.used_part(glyphs), colour=False)
    assert "\033[0;1;7;33m@" in coloured[2]
    assert "\033[0;31m}" in coloured[2]
    assert all(line.endswith("\033[0m") for line in coloured if line)


def test_a_frame_has_a_fixed_size_and_draws_the_right_tiles() -> None:
    glyphs, blstats = small_map(), small_blstats()
    box = render.used_part(glyphs)
    first = render.frame(glyphs, blstats, "", "", box, scale=2)
    long = render.frame(glyphs, blstats, "You see here a very long message. " * 12, "HP 9/12 " * 40, box, scale=2)
    assert first.shape == long.shape
    assert first.dtype == np.uint8
    assert (first != long).any()
    tile = render.map_picture(glyphs, None, box, scale=2)[32:64, 32:64]
    assert np.array_equal(tile[::2, ::2], glyph_pictures()[LAVA])
    left = (first.shape[1] - box.width * 32) // 2
    top = render.MARGIN_PIXELS + render.MESSAGE_LINES * render.LINE_PIXELS
    assert np.array_equal(first[top + 32 : top + 64, left + 32 : left + 64], tile)


def test_the_agent_is_framed() -> None:
    glyphs = small_map()
    bare, framed = render.map_picture(glyphs), render.map_picture(glyphs, agent=(6, 12))
    changed = np.argwhere((bare != framed).any(axis=-1))
    assert changed.min(axis=0).tolist() == [6 * 16, 12 * 16]
    assert changed.max(axis=0).tolist() == [7 * 16 - 1, 13 * 16 - 1]
    assert (framed[6 * 16, 12 * 16] == render.AGENT_COLOUR).all()


def test_message_status_and_agent_cell() -> None:
    message = np.zeros(256, np.uint8)
    message[:5] = list(b"Hi!\0x")
    assert render.message_text(message) == "Hi!"
    assert render.status_text(small_blstats()) == "HP 9/12   level 1   turn 34"
    assert render.agent_cell(small_blstats()) == (6, 12)


def test_long_words_and_empty_text_fit() -> None:
    glyphs, blstats = small_map(), small_blstats()
    for text, scale in itertools.product(("", "x" * 500, "a b"), (1, 3)):
        assert render.frame(glyphs, blstats, text, text, scale=scale).ndim == 3
