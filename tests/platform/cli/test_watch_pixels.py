"""`bonuslab watch` and the grid's video where agents see pictures; `--env`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bonuslab.platform.cli.main import main
from bonuslab.platform.cli.watch import checkpoints_of
from bonuslab.platform.pictures import bonus_plot
from bonuslab.platform.pictures.show import play, video_of
from bonuslab.platform.run.agent import TrainedAgent
from bonuslab.platform.run.find import find

SMALL = ("num_envs_per_env_runner=2", "rollout_fragment_length=8", "num_minibatches=1")
TINY = ["--algorithm", "ddppo", "--serial", *(word for value in SMALL for word in ("--set", value))]
RUNS = {
    "habitat": ["Apartments-64", "--preset", "laptop-pixels", "--bonus", "e3b", "--env", "max_steps=20"],
    "montezuma": [
        *("MontezumaRevenge", "--preset", "montezuma", "--bonus", "e3b_montezuma", "--contexts", "1"),
        *("--set", "warm_up_steps=0", "--env", "max_steps=20", "--env", "sticky=step"),
    ],
    "atari": [
        *("ALE/Breakout-v5", "--preset", "montezuma", "--bonus", "count.episodic(pixels)", "--contexts", "1"),
        *("--set", "warm_up_steps=0", "--env", "max_steps=20"),
    ],
}


@pytest.fixture(scope="module", params=["habitat", "atari", pytest.param("montezuma", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One batch of a run."""
    path = tmp_path_factory.mktemp("pixels") / request.param
    words = [
        "train",
        *RUNS[request.param],
        *TINY,
        "--set",
        "num_minibatches=1",
        "--set",
        "rollout_fragment_length=8",
        "--steps",
        "16",
    ]
    assert main([*words, "--evaluate-every", "0", "--out", str(path)]) == 0
    return path


def test_videos_and_pictures(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(run), "--episodes", "2", "--save", str(tmp_path / "video.gif")]) == 0
    assert re.findall(r"(\w+ \w+) after (\d+) steps", capsys.readouterr().out) == [("step limit", "20")] * 2
    with Image.open(tmp_path / "video.gif") as video:
        assert video.n_frames == 6  # every fourth step, both episodes side by side: 0, 4, ... 20
        drawn = []
        for frame in (0, 5):
            video.seek(frame)
            pixels = np.asarray(video.convert("RGB")).reshape(-1, 3)
            drawn.append(sum(int((pixels == colour).all(-1).sum()) for colour in bonus_plot.SERIES_COLOURS))
            assert len(np.unique(pixels, axis=0)) > 20
    assert drawn[1] > drawn[0]
    assert main(["watch", str(run), "--save", str(tmp_path / "whole.png")]) == 0
    with Image.open(tmp_path / "whole.png") as picture, Image.open(tmp_path / "video.gif") as video:
        assert picture.width > 0.9 * video.width / 2, "the video has two episodes"
        assert len(picture.convert("RGB").getcolors(1_000_000)) > 50  # type: ignore[arg-type]


def test_in_a_terminal_words_and_bonus_are_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(run), "--greedy"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^step 20   return 0.00   (coverage \d+%|(room 1   1 room visited   )?\d lives)   step", shown)
    assert re.search(r"^bonus +[0-9.e+-]+ [▁▂▃▄▅▆▇█]+$", shown, re.MULTILINE)


def test_contexts_are_checked_by_the_family(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(run), "--context", "999999"]) == (0 if run.name == "habitat" else 2)
    assert main(["watch", str(run), "--context", "-1"]) == 2
    assert "context id -1 cannot be used" in capsys.readouterr().err


def test_settings_of_the_environment_stay_with_the_run(run: Path) -> None:
    assert find(run).require_trial().description().config["env"]["max_steps"] == 20
    agent = TrainedAgent.load(checkpoints_of(str(run))[0][0])
    if run.name == "montezuma":
        assert agent.make_env(0).rules.sticky == "step"  # type: ignore[attr-defined]
    shows = play(agent, seed=3)
    assert len(video_of(shows).shots) == 21


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["MontezumaRevenge", "--contexts", "1", "--env", "sticky=never"], "kind of sticky actions 'never'"),
        (["MontezumaRevenge", "--contexts", "1", "--env", "processes=-1"], "processes -1"),
        (["Apartments", "--env", "split=tset"], "did you mean test"),
        (["Apartments", "--env", "stop_ends_episode=1"], "allowed: true, false"),
        (["MultiRoom-N6", "--env", "sticky=step"], "unknown environment setting 'sticky'"),
        (["MultiRoom-N6", "--env", "seed=3"], "environment setting 'seed' is set by the run"),
        (["MultiRoom-N6", "--env", "max_steps"], "write name=value"),
    ],
)
def test_bad_settings_of_the_environment_are_named(
    words: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words, "--out", str(tmp_path / "run")]) == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
