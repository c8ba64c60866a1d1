"""Pictures of games: the screen, in Montezuma's Revenge next to the rooms."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.atari import AtariEnv
from bonuslab.envs.atari.album import AtariAlbum
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.errors import InvalidInput


def test_pictures_show_screen_and_rooms() -> None:
    family = catalogue.find("montezuma")
    env = family.make_env("montezuma", contexts="1", seed=0, stream=(2**31, 4), max_steps=6, processes=2)
    assert isinstance(env, AtariEnv)
    album = family.album()
    screens = []
    for episode in range(2):
        observation, info = env.reset(options={"context": None if episode else 0})
        words = album.add(observation, env)
        assert info["context"] == 0
        for _ in range(6):
            observation, *_ = env.step(family.action_names("montezuma").index("right"))
            album.add(observation, env)
            screens.append(env.screen())
    assert words == "room 1   1 room visited   6 lives"
    pictures = list(album.pictures([(2, "two"), (6, "six"), (13, "last")]))
    assert len({picture.shape for picture in pictures}) == 1
    for picture, screen in zip(pictures, (screens[1], screens[5], screens[-1]), strict=True):
        np.testing.assert_array_equal(picture[10:430:2, 10:330:2], screen)
    assert album.summary("the end").shape[1] > 1000
    assert album.text(0, 80, colour=False) == []
    with pytest.raises(InvalidInput, match="context id 1 cannot be used; allowed: 0"):
        env.reset(options={"context": 1})


def test_the_summary_shows_the_brightest_screen_of_each_room_of_the_last_episode() -> None:
    class Playing:
        game, rooms, length, lives = find_game("montezuma"), frozenset({1}), 0, 5

        def screen(self) -> np.ndarray:
            return np.full((210, 160, 3), self.brightness, np.uint8)

    env, album = Playing(), AtariAlbum()
    # Room 1 in an earlier episode; then room 1, and room 2, whose screen is dark at first.
    for length, room, brightness in ((0, 1, 250), (0, 1, 90), (1, 2, 0), (2, 2, 140)):
        env.length, env.brightness = length, brightness  # type: ignore[attr-defined]
        env.rooms = frozenset({1, room})
        album.add({"room": np.array([room])}, env)  # type: ignore[arg-type]
    picture = album.summary("").reshape(-1, 3)
    counts = {value: int((picture == value).all(-1).sum()) for value in (90, 140, 250)}
    assert counts[90] > 5000
    assert counts[140] > 5000
    assert counts[250] == 0


@pytest.mark.parametrize(
    ("name", "rows", "words"), [("Breakout", 210, "5 lives"), ("Pong", 210, ""), ("Klax", 250, "1 life")]
)
def test_pictures_of_other_games_show_the_screen(name: str, rows: int, words: str) -> None:
    env, album = AtariEnv(name), AtariAlbum()
    observation, _ = env.reset()
    assert album.add(observation, env) == words
    env.step(1)
    album.add(observation, env)
    (picture,) = album.pictures([(1, "")])
    np.testing.assert_array_equal(picture[10 : 10 + 2 * rows : 2, 10:330:2], env.screen())
    np.testing.assert_array_equal(album.summary(""), picture)
