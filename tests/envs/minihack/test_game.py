"""The game: independent of other games, reproducible, and free of leaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nle import nethack

from bonuslab.envs.minihack import game as game_module
from bonuslab.envs.minihack import task
from bonuslab.envs.minihack.episode import MiniHackEpisode
from bonuslab.envs.minihack.game import OBSERVATION_KEYS, NetHackGame, observation_buffers

LAVA = task("MultiRoom-N6-Lava")


def _game(**settings: object) -> NetHackGame:
    return NetHackGame(LAVA.character, autopickup=True, answers_questions=False, **settings)  # type: ignore[arg-type]


def _resident_kilobytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _trajectory(game: NetHackGame, level: bytes, seed: int, steps: int = 60) -> list[bytes]:
    rng = np.random.default_rng(seed)
    game.start(level, seed, seed)
    seen = []
    for key in rng.choice(LAVA.actions, size=steps):
        seen.append(b"".join(game.observation[name].tobytes() for name in OBSERVATION_KEYS))
        if game.is_over:
            break
        game.play(int(key))
    return seen


def test_a_game_does_not_depend_on_previous_games() -> None:
    levels = [LAVA.levels.build(context).lev for context in range(6)]
    game = _game()
    first = [_trajectory(game, level, seed) for seed, level in enumerate(levels)]
    again = [_trajectory(game, levels[seed], seed) for seed in reversed(range(6))]
    fresh = _game()
    assert first == again[::-1]
    assert first[3] == _trajectory(fresh, levels[3], 3)
    game.close()
    fresh.close()


def test_resident_and_reloading_nethack_play_the_same_games(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [LAVA.levels.build(context).lev for context in range(4)]
    resident = _game()
    monkeypatch.setattr(game_module, "can_stay_resident", lambda: False)
    reloading = _game()
    assert type(resident._nethack) is not type(reloading._nethack)
    for seed, level in enumerate(levels):
        assert _trajectory(resident, level, seed, steps=200) == _trajectory(reloading, level, seed, steps=200)
        assert resident.is_over == reloading.is_over
        assert not resident.is_over or resident.agent_died == reloading.agent_died
    resident.close()
    reloading.close()
    reloading.close()


def test_concurrent_games_are_independent() -> None:
    levels = [LAVA.levels.build(context).lev for context in (1, 2)]
    alone, one, other = _game(), _game(), _game()
    expected = [_trajectory(alone, level, seed) for seed, level in enumerate(levels)]
    one.start(levels[0], 0, 0)
    other.start(levels[1], 1, 1)
    keys = [np.random.default_rng(seed).choice(LAVA.actions, size=60) for seed in (0, 1)]
    for step in range(60):
        for index, game in enumerate((one, other)):
            if step < len(expected[index]):
                shown = b"".join(game.observation[name].tobytes() for name in OBSERVATION_KEYS)
                assert shown == expected[index][step]
                if not game.is_over:
                    game.play(int(keys[index][step]))
    for game in (alone, one, other):
        game.close()


def test_the_display_seed_does_not_matter() -> None:
    level = LAVA.levels.build(9).lev
    game = _game()
    shown = []
    for display in (1, 2):
        game.start(level, 5, display)
        shown.append(game.glyphs.copy())
    np.testing.assert_array_equal(*shown)
    game.close()


def test_a_key_needs_a_running_game() -> None:
    game = _game()
    with pytest.raises(RuntimeError, match="no game running"):
        game.press(ord("j"))
    game.close()
    game.close()


def test_the_end_of_a_game_does_not_change_signal_handlers() -> None:
    """NetHack alone would ignore SIGHUP and SIGXCPU afterwards."""

    def dispositions() -> list[str]:
        lines = Path("/proc/self/status").read_text().splitlines()
        return [line for line in lines if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]

    before = dispositions()
    episode = MiniHackEpisode(LAVA)
    rng = np.random.default_rng(0)
    episode.begin(0)
    while episode.status == "running":
        episode.step(int(rng.integers(8)))
    assert episode.status == "died"
    episode.close()
    assert dispositions() == before


def test_arrays_of_the_wrong_dtype_are_rejected() -> None:
    buffers = observation_buffers()
    buffers["glyphs"] = buffers["glyphs"].astype(np.int32)
    with pytest.raises(ValueError, match="glyphs must be"):
        _game(buffers=buffers)


def test_games_write_into_the_callers_arrays() -> None:
    rows = observation_buffers(3)
    game = _game(buffers={key: array[1] for key, array in rows.items()})
    game.start(LAVA.levels.build(0).lev, 0, 0)
    assert rows["blstats"][1].any()
    assert not rows["blstats"][[0, 2]].any()
    game.close()


def test_restarting_leaks_nothing() -> None:
    """NLE's own reset leaks 1.8 KB each time: 3.6 MB here."""
    episode = MiniHackEpisode(LAVA)
    rng = np.random.default_rng(0)

    def play(episodes: int) -> None:
        for _ in range(episodes):
            episode.begin(11)
            for action in rng.integers(len(LAVA.actions), size=6):
                if episode.status == "running":
                    episode.step(int(action))
        episode.begin(11)  # a running game has one file open, a finished one none

    play(300)
    memory, files = _resident_kilobytes(), _open_files()
    play(2000)
    assert _resident_kilobytes() - memory < 1024
    assert _open_files() == files
    episode.close()


def test_closing_releases_everything() -> None:
    def open_and_close() -> None:
        game = _game()
        game.start(LAVA.levels.build(0).lev, 0, 0)
        game.close()

    def mappings() -> int:
        return Path("/proc/self/maps").read_text().count("bonuslab-nethack")

    for _ in range(3):
        open_and_close()
    memory, files, mapped = _resident_kilobytes(), _open_files(), mappings()
    for _ in range(30):
        open_and_close()
    assert mappings() == mapped
    assert _open_files() <= files
    assert _resident_kilobytes() - memory < 2048


def test_closed_doors_and_keys_are_recognised() -> None:
    """We read glyphs where upstream reads descriptions: both must mean the same."""
    from nle.nethack.nethack import OBSERVATION_DESC

    from bonuslab.envs.minihack.episode import _CLOSED_DOORS
    from bonuslab.envs.minihack.glyphs import object_glyph

    plain = nethack.Nethack(observation_keys=("glyphs", "screen_descriptions"), ttyrec=None)
    closed, others = set(), set()
    for seed in range(40):
        plain.set_initial_seeds(seed, seed, False, None)
        glyphs, descriptions = plain.reset()
        for row, column in np.argwhere(descriptions[:, :, 0] > 0):
            text = descriptions[row, column].tobytes().split(b"\0")[0]
            (closed if b"closed door" in text else others).add(int(glyphs[row, column]))
    plain.close()
    assert closed == set(_CLOSED_DOORS)
    assert not others & set(_CLOSED_DOORS)
    assert OBSERVATION_DESC["inv_glyphs"]["shape"] == (55,)
    assert nethack.OBJ_NAME(nethack.objclass(object_glyph("skeleton key") - nethack.GLYPH_OBJ_OFF)) == "skeleton key"


def test_no_memory_errors() -> None:
    """Under glibc's checking allocator, which also represents any other preloaded allocator."""
    script = """
import numpy as np
from bonuslab.envs.minihack import MiniHackVectorEnv
rng = np.random.default_rng(0)
for name in ("MultiRoom-N6-LavaMonsters", "LavaCross-Restricted"):
    envs = MiniHackVectorEnv(name, 2, max_steps=20)
    envs.reset()
    finished = sum(len(envs.step(rng.integers(8, size=2)).finished) for _ in range(60))
    assert finished >= 4
    envs.close()
print("played")
"""
    checking = {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=os.environ | checking,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "played"), done.stderr
