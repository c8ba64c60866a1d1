"""Videos of any environment: its own pictures, or its observations as text."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.family import Album

from .sample_envs import EverythingEnv, VectorEnv, make_maze


def play(name: Any, steps: int = 3, **settings: Any) -> tuple[Album, list[str]]:
    family = catalogue.find(name)
    env, album = family.make_env(name, **settings), family.album()
    words = [album.add(env.reset()[0], env)]
    words += [album.add(env.step(0)[0], env) for _ in range(steps)]
    env.close()
    return album, words


@pytest.mark.parametrize(("name", "settings"), [("MiniGrid-Empty-5x5-v0", {}), (make_maze, {"size": 6})])
def test_pictures_are_the_environments_own(name: Any, settings: dict[str, Any]) -> None:
    album, words = play(name, **settings)
    first, second = album.pictures([(0, "start"), (1, "after")])
    assert first.shape == second.shape
    assert first.dtype == np.uint8
    assert (first != second).any(-1).mean() > 0.01, "the agent has turned"
    assert max(first.shape[:2]) < 600
    assert words[0] == "at 1, 1"
    assert album.text(0, 80, colour=False) == []
    assert album.summary("end").shape == first.shape


@pytest.mark.parametrize("name", [EverythingEnv, VectorEnv])
def test_an_environment_without_pictures_is_shown_as_text(name: Any) -> None:
    album, _ = play(name)
    lines = album.text(1, 30, colour=False)
    key = sorted(catalogue.make_vector_env(name, 1).observation_space.spaces)[-1]
    assert any(line.startswith(f"{key}: ") for line in lines)
    assert max(map(len, lines)) <= 30
    picture = album.summary("end")
    assert picture.ndim == 3
    assert picture.any()


def test_a_picture_that_cannot_be_drawn_does_not_stop_the_episode() -> None:
    class UndrawableEnv(VectorEnv):
        metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

        def __init__(self, render_mode: str | None = None) -> None:
            self.render_mode = render_mode

        def render(self) -> Any:
            raise RuntimeError("no screen")

    album, _ = play(UndrawableEnv)
    assert album.text(0, 80, colour=False) == ["obs: 0 0 0"]


def test_drawing_without_a_screen_is_silent() -> None:
    """SDL complains of the missing XDG_RUNTIME_DIR on the process's own stderr, once per process."""
    draw = (
        "from bonuslab.envs import catalogue as c; e = c.find('CartPole').make_env('CartPole'); e.reset(); e.render()"
    )
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("SDL", "XDG", "PYGAME"))}
    found = subprocess.run([sys.executable, "-c", draw], capture_output=True, text=True, env=quiet, check=True)
    assert (found.stdout, found.stderr) == ("", "")


def test_a_watched_environment_starts_on_a_given_context() -> None:
    env = catalogue.find("CartPole-v1").make_env("CartPole-v1", contexts=3, seed=1, stream=(7, 1))
    one, info = env.reset(options={"context": 5})
    assert info == {"context": 5, "end_status": "running"}
    other, _ = env.reset(options={"context": 5})
    np.testing.assert_array_equal(one["obs"], other["obs"])
    drawn = [env.reset(seed=4)[1]["context"] for _ in range(2)]
    assert drawn[0] == drawn[1]
    for options in ({"context": -1}, {"level": 1}):
        with pytest.raises(ValueError, match=r"context id -1|unknown reset option 'level'"):
            env.reset(options=options)
