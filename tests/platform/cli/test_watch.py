"""`bonuslab watch`."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import av
import numpy as np
import pytest
from PIL import Image

from bonuslab.platform.cli.main import main
from bonuslab.platform.pictures import bonus_plot
from bonuslab.platform.pictures.bonus_plot import BonusSeries
from bonuslab.platform.run.checkpoints import newest_checkpoint
from bonuslab.platform.run.find import find
from bonuslab.platform.run.folder import GridFolder


class Terminal(io.StringIO):
    """Text output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_end_is_printed_with_the_bonus_and_no_file_changes(
    finished_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = digests(finished_run)
    outputs = []
    for seed in ("1", "1", "2"):
        assert main(["watch", str(finished_run), "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert digests(finished_run) == before
    assert outputs[0] == outputs[1] != outputs[2]
    for name in ("bonus", "episodic", "global"):
        assert re.search(rf"^{name} +[0-9.e+-]+ [▁▂▃▄▅▆▇█]+$", outputs[0], re.MULTILINE)
    assert re.search(r"sampled: (won|step limit|died) after \d+ steps, return .*, total bonus .*", outputs[0])
    assert "\033" not in outputs[0]


def test_a_checkpoint_can_be_watched_by_itself(
    finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "somewhere"
    shutil.copytree(newest_checkpoint(find(finished_run)), moved)
    assert main(["watch", str(finished_run), "--greedy", "--context", "11"]) == 0
    from_run = capsys.readouterr().out
    assert main(["watch", str(moved), "--greedy", "--context", "11"]) == 0
    assert capsys.readouterr().out == from_run
    assert "context 11, greedy" in from_run


def test_gif_shows_both_episodes_side_by_side_and_grows_the_plot(
    finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.gif"
    assert main(["watch", str(finished_run), "--episodes", "2", "--save", str(path)]) == 0
    lengths = [int(text) for text in re.findall(r"after (\d+) steps", capsys.readouterr().out)]
    assert len(lengths) == 2
    with Image.open(path) as image:
        assert image.n_frames == max(lengths) + 1, "the shorter episode shows its end until both have ended"
        drawn = []
        for frame in (0, max(lengths)):
            image.seek(frame)
            for half in np.array_split(np.asarray(image.convert("RGB")), 2, axis=1):
                drawn.append([int((half == colour).all(-1).sum()) for colour in bonus_plot.SERIES_COLOURS])
    assert (np.array(drawn[2:]) > np.array(drawn[:2])).all()


def test_png_has_a_strip_for_every_part(finished_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    assert main(["watch", str(finished_run), "--save", str(path)]) == 0
    with Image.open(path) as image:
        colours = {colour for _, colour in image.convert("RGB").getcolors(1_000_000)}  # type: ignore[union-attr]
    assert set(bonus_plot.SERIES_COLOURS) <= colours


def test_terminal_is_redrawn_in_place(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "40")
    assert main(["watch", str(finished_run), "--delay", "0"]) == 0
    drawn = terminal.getvalue()
    steps = int(re.findall(r"after (\d+) steps", drawn)[0])
    assert len(re.findall(r"\033\[\d+A", drawn)) == steps
    assert "\033[32m" in drawn


def test_a_damaged_checkpoint_is_passed_over_in_a_run_and_refused_alone(
    finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished_run, copy)
    newest = newest_checkpoint(find(copy))
    damaged = newest.with_name("checkpoint_000000000160")
    shutil.copytree(newest, damaged)
    (damaged / "state.bin").write_bytes(b"half")
    with pytest.warns(UserWarning, match="state.bin does not match"):
        assert main(["watch", str(copy)]) == 0
    assert main(["watch", str(damaged)]) == 2
    assert "state.bin does not match" in capsys.readouterr().err
    shutil.rmtree(newest)
    with pytest.warns(UserWarning, match="state.bin does not match"):
        assert main(["watch", str(copy)]) == 2
    assert "has no intact checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nowhere"], "nowhere"),
        (["."], "neither grid.json nor trial.json"),
        (["RUN", "--context", "-1"], "-1"),
        (["RUN", "--episodes", "0"], "--episodes 0"),
        (["RUN", "--seed", "-3"], "--seed -3"),
        (["RUN", "--delay", "nan"], "nan"),
        (["RUN", "--save", "out.jpg"], ".mp4 or .gif or .png"),
        (["RUN", "--save", "out.gif", "--episodes", "17"], "at most 16 episodes"),
        (["zoo:nobody"], "unknown agent of the zoo 'nobody'"),
    ],
)
def test_bad_input_is_named(
    words: list[str],
    named: str,
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["watch", *(str(finished_run) if word == "RUN" else word for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("bonuslab: ")
    assert named in captured.err
    assert list(tmp_path.iterdir()) == []


def test_a_grid_and_a_trial_without_checkpoint_have_nothing_to_watch(
    write_sample_grid: Callable[..., GridFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = write_sample_grid(tmp_path / "grid", seeds=(0,), rows=1)
    assert main(["watch", str(grid.path)]) == 2
    assert "none of the 8 trials" in capsys.readouterr().err
    assert main(["watch", str(grid.trials()[0].path)]) == 2
    assert "no checkpoint yet" in capsys.readouterr().err


def test_of_a_grid_one_trial_per_bonus_plays(
    finished_run: Path, tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """Made of two runs: their trials and checkpoints in one folder, one of them twice, as another seed."""
    tiny.train(tmp_path / "none", 1, bonus="none", contexts="2")
    target = tmp_path / "grid"
    shutil.copytree(finished_run, target)
    for part in ("trials", "checkpoints"):
        shutil.copytree(tmp_path / "none" / part, target / part, dirs_exist_ok=True)
    grid, other = GridFolder(target), GridFolder(tmp_path / "none").description()
    description = grid.description()
    (first,) = description.trials
    again = replace(first, id=f"{first.id}-again", labels={**first.labels, "seed": "4"})
    shutil.copytree(grid.trial(first.id).path, grid.trial(again.id).path)
    grid.write(replace(description, trials=[first, again, *other.trials]))
    assert main(["watch", str(target), "--save", str(tmp_path / "all.gif")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"({first.id}, {other.trials[0].id})" in lines[0]
    assert [line.split(":")[0] for line in lines[1:3]] == ["e3b * rnd, seed 3", "none, seed 3"]
    lengths = [int(text) for text in re.findall(r"after (\d+) steps", "\n".join(lines))]
    with Image.open(tmp_path / "all.gif") as image:
        assert image.n_frames == max(lengths) + 1


def test_mp4_has_the_frames_of_the_episode_and_holds_the_last(
    finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.mp4"
    assert main(["watch", str(finished_run), "--save", str(path), "--delay", "0.1"]) == 0
    steps = int(re.findall(r"after (\d+) steps", capsys.readouterr().out)[0])
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(stream)]
        assert (stream.codec_context.name, stream.average_rate) == ("h264", 10)
    assert len(frames) == steps + 20  # two seconds of the last one
    assert frames[0].shape[0] % 2 == frames[0].shape[1] % 2 == 0
    assert (frames[0] != frames[-1]).any()


@pytest.mark.parametrize("num_steps", [1, 7, 460, 2000])
def test_panel_draws_every_peak_however_long_the_episode(num_steps: int) -> None:
    values = np.zeros(num_steps)
    values[num_steps // 2] = 3.0
    series = [BonusSeries("bonus", "bonus: x", values)]
    orange = bonus_plot.SERIES_COLOURS[0]
    square = bonus_plot.SQUARE_PIXELS**2
    last = bonus_plot.panel(series, num_steps, 480)
    early = bonus_plot.panel(series, num_steps // 2, 480)
    assert last.shape == early.shape
    assert (early == orange).all(-1).sum() == square
    highlighted = num_steps == 1  # the step the agent is at is drawn in white
    assert ((last == orange).all(-1).sum() > square) is not highlighted


def test_a_bonus_without_any_value_draws_nothing() -> None:
    series = [BonusSeries("bonus", "bonus: none", np.zeros(5))]
    assert bonus_plot.text_lines(series, 5, 80, colour=False) == ["bonus" + " " * 12 + "0 ▁▁▁▁▁"]
    assert bonus_plot.text_lines(series, 0, 80, colour=False)[0].endswith("- ")
    assert (bonus_plot.panel(series, 5, 480) == bonus_plot.SERIES_COLOURS[0]).all(-1).sum() == 81


@pytest.mark.parametrize("bonus", ["agac", "e3b(encoder=policy)"])
def test_bonuses_with_other_needs_can_be_watched(
    bonus: str, tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.train(tmp_path / "run", 1, bonus=bonus)
    assert main(["watch", str(tmp_path / "run")]) == 0
    assert "episodic " not in capsys.readouterr().out
