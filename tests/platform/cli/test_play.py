"""`bonuslab play`."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bonuslab.envs.minihack import make, task
from bonuslab.envs.minihack.family import FAMILY as MINIHACK
from bonuslab.platform.cli import play_episode as play
from bonuslab.platform.cli.main import main
from bonuslab.platform.pictures.live_lines import LiveLines
from bonuslab.platform.pictures.video import picture_path


class Terminal(io.StringIO):
    """Text output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_scripted_agent_wins_and_prints_the_map_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "MultiRoom-N2", "--context", "7", "--agent", "scripted"]) == 0
    printed = capsys.readouterr().out
    assert "MiniHack-MultiRoom-N2-v0 context 7: won after" in printed
    assert printed.count("@") == 1
    assert "\033" not in printed


def test_the_same_context_and_seed_play_the_same_game(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("4", "4", "5"):
        assert main(["play", "multiroom-n4", "--context", "3", "--seed", seed, "--steps", "25"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    assert "unfinished after 25 steps" in outputs[0]


def test_terminal_is_redrawn_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    assert main(["play", "MultiRoom-N2", "--context", "1", "--steps", "3", "--delay", "0"]) == 0
    drawn = terminal.getvalue()
    (height,) = set(re.findall(r"\033\[(\d+)A", drawn))  # four pictures of one size
    assert drawn.count(f"\033[{height}A") == 3  # three of them over the one before
    assert drawn.count("\033[0;1;7;33m@") == 4
    assert drawn.index("\033[?25l") < drawn.index("\033[?25h")


def test_small_terminal_gets_the_last_picture_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "5")
    assert main(["play", "MultiRoom-N2", "--context", "1", "--steps", "3", "--delay", "0"]) == 0
    assert "\033" not in terminal.getvalue()


def test_gif_has_a_frame_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.gif"
    assert main(["play", "MultiRoom-N4", "--context", "2", "--agent", "scripted", "--save", str(path)]) == 0
    steps = int(re.findall(r"after (\d+) steps", capsys.readouterr().out)[0])
    with Image.open(path) as image:
        # Pillow joins frames that look the same, and the clock in the status line makes most differ.
        assert steps - 3 <= image.n_frames <= steps + 1
        image.seek(0)
        first = np.asarray(image.convert("RGB"))
        image.seek(image.n_frames - 1)
        assert (first != np.asarray(image.convert("RGB"))).any()


def test_png_shows_the_last_moment(tmp_path: Path) -> None:
    path = tmp_path / "out.PNG"
    assert main(["play", "MultiRoom-N2", "--context", "2", "--steps", "0", "--save", str(path)]) == 0
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(100_000)) > 10


def test_a_death_is_shown_as_it_was_before() -> None:
    env, actions = make("MultiRoom-N6-Lava"), [str(number) for number in range(8)]
    deaths = 0
    try:
        agent = play.RandomAgent(8, seed=0)
        for context in range(20):
            album = MINIHACK.album()
            last = list(play.episode(env, agent, album, actions, 50, context))[-1]
            if last.outcome == "died":
                deaths += 1
                assert "HP" in last.description
                assert album.text(last.step, 80, False) == album.text(last.step - 1, 80, False)
        assert deaths
    finally:
        env.close()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Apartments-64", "Apartments-64 context 511821624378: unfinished after 3 steps"),
        ("Apartments-64 --agent scripted", "coverage "),
        ("Pong", "Pong context 0: unfinished"),
        ("CartPole-v1", "CartPole-v1 context "),
        ("MiniGrid-Empty-5x5-v0", "at 1, 1"),
    ],
)
def test_every_family_can_be_played(name: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *name.split(), "--steps", "3"]) == 0
    printed = capsys.readouterr().out
    assert shown in printed
    assert "--save episode.mp4" in printed
    assert main(["play", *name.split(), "--steps", "3", "--save", str(tmp_path / "out.png")]) == 0
    with Image.open(tmp_path / "out.png") as image:
        assert len(image.convert("RGB").getcolors(1_000_000)) > 2
    assert main(["play", *name.split(), "--steps", "3", "--save", str(tmp_path / "out.gif")]) == 0
    with Image.open(tmp_path / "out.gif") as image:
        assert image.n_frames >= 2, "the last step is shown, whatever the frame rate"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["MultiRom-N6"], "MultiRoom-N6"),
        (["MultiRoom-N6", "--context", "-1"], "-1"),
        (["MultiRoom-N4S5"], "did you mean MultiRoom-N4-S5?"),
        (["HM3D"], "needs habitat-sim"),
        (["Pong", "--agent", "scripted"], "no scripted agent for Pong"),
        (["Pong", "--contexts", "3"], "'3'"),
        (["MultiRoom-N6", "--contexts", "0"], "'0'"),
        (["MultiRoom-N6", "--contexts", "many"], "'many'"),
        (["MultiRoom-N6", "--agent", "clever"], "scripted"),
        (["MultiRoom-N6", "--steps", "-2"], "-2"),
        (["MultiRoom-N6", "--seed", "-2"], "-2"),
        (["MultiRoom-N6", "--delay", "nan"], "nan"),
        (["MultiRoom-N6", "--save", "out.jpg"], ".gif or .png"),
        (["MultiRoom-N6", "--save", "missing/out.gif"], "no folder 'missing'"),
        (["MultiRoom-N6", "--save", "/proc/out.gif"], "/proc/out.gif"),
    ],
)
def test_bad_input_stops_before_a_game_starts(
    words: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(MINIHACK), "make_env", lambda *_, **__: pytest.fail("a game was started"))
    assert main(["play", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("bonuslab: ")
    assert named in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_picture_path_leaves_nothing_and_keeps_what_is_there(tmp_path: Path) -> None:
    there = tmp_path / "there.png"
    there.write_bytes(b"old")
    assert picture_path(str(there)) == there
    assert picture_path(str(tmp_path / "new.gif")).name == "new.gif"
    assert [path.name for path in tmp_path.iterdir()] == ["there.png"]
    assert there.read_bytes() == b"old"


def test_live_lines_show_the_cursor_again_after_an_error() -> None:
    out = io.StringIO()

    def interrupted() -> None:
        with LiveLines(out) as screen:
            screen.show(["a"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert out.getvalue().endswith("\033[?25h")


@pytest.mark.parametrize(
    ("name", "least_wins"),
    [
        ("MultiRoom-N6", 8),
        ("MultiRoom-N6-Lava", 8),
        ("MultiRoom-N4-Locked", 7),
        ("LavaCrossingS19N13", 8),
        ("KeyRoom-S10", 7),
        ("Levitate-Boots-Restricted", 7),
        ("Freeze-Random-Restricted", 6),
    ],
)
def test_the_explorer_wins(name: str, least_wins: int) -> None:
    env = make(task(name))
    wins = 0
    try:
        for context in range(8):
            explorer = MINIHACK.scripted_agent(name, 0)
            actions = list(env.task.action_names)
            moments = list(play.episode(env, explorer, MINIHACK.album(), actions, env.max_steps, context))
            wins += moments[-1].outcome == "won"
    finally:
        env.close()
    assert wins >= least_wins
