"""Runs and grids as Python objects, read from their folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import av
import pandas as pd
import pytest
from PIL import Image

import bonuslab as bl
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.folder import GridFolder


@pytest.fixture(scope="module")
def run(finished_run: Path) -> bl.Run:
    found = bl.load(finished_run)
    assert isinstance(found, bl.Run)
    return found


def test_a_run_says_what_it_is(run: bl.Run, finished_run: Path) -> None:
    assert run.path == finished_run
    assert (run.config.bonus, run.config.contexts, run.config.steps, run.config.seed) == ("e3b * rnd", "2", 128, 3)
    assert run.config.values.num_envs_per_env_runner == 4
    assert run.labels["scope"] == "combined"
    assert run.state.status == "finished"
    assert run.metrics["env_steps"].tolist() == [32, 64, 96, 128]
    assert [Path(place).name for place in run.checkpoints] == ["checkpoint_000000000128"]
    what = "MultiRoom-N2-S4, bonus e3b * rnd, contexts 2, seed 3"
    assert repr(run) == f"<Run {what}: finished at 128 steps, {finished_run}>"


def test_evaluation_is_the_command_lines(run: bl.Run, capsys: pytest.CaptureFixture[str]) -> None:
    frame = run.evaluate(episodes=2, seed=5)
    assert list(frame.columns) == ["greedy", "sampled"]
    assert main(["evaluate", str(run.path), "--episodes", "2", "--seed", "5", "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out).values()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(printed), check_dtype=False)


def test_the_policy_acts(run: bl.Run) -> None:
    """Greedy actions repeat; sampled ones follow the seed; the policy remembers its episode."""

    def episode(policy: bl.Policy) -> list[int]:
        env = run.make_env(seed=1)
        policy.reset()
        observation, _ = env.reset(options={"context": 3})
        actions, done = [], False
        while not done:
            actions.append(policy.act(observation))
            observation, _, terminated, truncated, _ = env.step(actions[-1])
            done = terminated or truncated
        env.close()
        return actions

    greedy, sampled = run.policy(greedy=True), episode(run.policy(seed=1))
    assert episode(greedy) == episode(greedy)
    assert sampled == episode(run.policy(seed=1)) != episode(run.policy(seed=2))


@pytest.mark.parametrize("name", ["episode.mp4", "episode.gif", "episode.png"])
def test_videos(run: bl.Run, name: str, tmp_path: Path) -> None:
    path = run.video(tmp_path / name, episodes=2, seconds_per_frame=0.2)
    assert path == tmp_path / name
    if path.suffix == ".mp4":
        with av.open(str(path)) as file:
            assert file.streams.video[0].average_rate == 5
            assert sum(1 for _ in file.decode(video=0)) > 2 * 10  # at least the two seconds that each ending is held
    else:
        with Image.open(path) as image:
            assert image.format == path.suffix[1:].upper()
    with pytest.raises(bl.InvalidInput, match=r"must end in .mp4 or .gif or .png"):
        run.video(tmp_path / "episode.avi")


def test_a_finished_run_is_resumed(run: bl.Run, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "copy")
    with pytest.raises(bl.InvalidInput, match="has finished its 128 steps"):
        bl.resume(tmp_path / "copy", progress=False)
    resumed = bl.resume(tmp_path / "copy", steps=160, progress=False)
    assert resumed.metrics["env_steps"].tolist() == [32, 64, 96, 128, 160]
    assert run.state.env_steps == 128, "the copy has its own checkpoints"


def test_training_from_a_config(tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    config = tiny.config(1, bonus="none")
    run = bl.train(config, out=tmp_path / "run")
    assert run.config == config
    assert "32/32 steps" in capsys.readouterr().out
    with pytest.raises(bl.InvalidInput, match="already contains a run"):
        bl.train(config, out=tmp_path / "run")
    with pytest.raises(bl.InvalidInput, match="it is called lr here"):
        bl.train("MultiRoom-N2-S4", learning_rate=1e-3)


def test_a_grid_is_its_runs(write_sample_grid: Callable[..., GridFolder], tmp_path: Path) -> None:
    write_sample_grid(tmp_path / "sample", tasks=("KeyRoom-S5",), rows=4)
    grid = bl.load(tmp_path / "sample")
    assert isinstance(grid, bl.Grid)
    assert len(grid) == len(list(grid)) == 12
    assert repr(grid) == f"<Grid sample: 9 of 12 runs finished, {tmp_path / 'sample'}>"
    frame = grid.metrics
    assert len(frame) == sum(len(run.metrics) for run in grid)
    assert set(frame["bonus"]) == {"none", "rnd", "e3b", "e3b * rnd"}
    assert frame.query("bonus == 'e3b' and seed == '1'")["env_steps"].tolist() == [25_000, 50_000, 75_000, 100_000]
    first = grid.runs[0]
    assert first.path == grid.path / "trials" / first.trial.id
    loaded = bl.load(first.path)
    assert isinstance(loaded, bl.Run)
    assert loaded.labels == first.labels
    assert grid.report().read_text().startswith("<!")
