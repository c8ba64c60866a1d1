"""The soak program: its arithmetic, its loop on a run that is none, and one very short real soak."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.experiments import soak
from bonuslab.experiments.benchmarks.process_memory import DRIVER, PROC, RUNNER, Usage
from bonuslab.platform.run.folder import LABELS, GridDescription, GridFolder, TrialDescription

pytestmark = pytest.mark.skipif(not (PROC / "self" / "smaps_rollup").exists(), reason="only Linux has smaps_rollup")


def sample(anonymous_mb: float, cpu_seconds: float = 0.0, open_files: int = 9) -> dict[soak.Process, Usage]:
    return {
        process: Usage(2 * anonymous_mb, anonymous_mb, cpu_seconds, open_files)
        for process in ((10, DRIVER), (12, RUNNER), (13, RUNNER))
    }


def test_growth_compares_the_second_and_the_last_quarter() -> None:
    growth = soak.Growth.of([0, 0, 90, 110, 500, 0, 70, 102, 100])
    assert (growth.second, growth.last) == (100, 101)
    assert growth.share == pytest.approx(0.01)
    assert growth.flat
    assert not soak.Growth.of([100, 100, 100, 103]).flat
    assert soak.Growth.of([100, 100, 100, 50]).flat


def test_cpu_share_is_cores_used_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 10.0)
    assert soak.cpu_share([100, 105, 105, 115]) == pytest.approx(15 / 30)


def test_the_report_names_the_process_that_grows(capsys: pytest.CaptureFixture[str]) -> None:
    steady = [sample(200, cpu_seconds=number) for number in range(8)]
    assert soak.report(steady) == 0
    assert "GROWS" not in capsys.readouterr().out
    growing = [{**usage, (13, RUNNER): Usage(900, 200 + 10 * number)} for number, usage in enumerate(steady)]
    assert soak.report(growing) == 1
    (named,) = (line for line in capsys.readouterr().out.splitlines() if "GROWS" in line)
    assert named.split()[:4] == [RUNNER, "225.0", "→", "265.0"]
    leaking = [sample(200, open_files=9 + number) for number in range(8)]
    assert soak.report(leaking) == 1


def test_the_curve_is_kept_for_processes_that_last(tmp_path: Path) -> None:
    samples = [sample(100 + number // soak.PER_MINUTE) for number in range(3 * soak.PER_MINUTE)]
    samples[5] = {**samples[5], (99, "idle workers"): Usage(1, 1, 1, 1)}  # comes and goes
    soak.keep(samples, tmp_path / "curve")
    rows = (tmp_path / "curve" / "soak.csv").read_text().splitlines()
    assert rows[0] == "minute,process,resident_mb,private_mb,open_files"
    assert rows[1:4] == [f"{1 + n},{DRIVER},{200.0 + 2 * n},{100.0 + n},9.0" for n in range(3)]
    assert len(rows) == 1 + 3 * 3
    assert (tmp_path / "curve" / "soak.png").stat().st_size > 10_000


def test_watching_samples_from_the_first_update_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 0.1)
    grid = GridFolder(tmp_path / "run")
    grid.write(GridDescription("run", "train", "", [TrialDescription("only", {}, {}, dict.fromkeys(LABELS, ""))]))
    grid.trial("only").progress.write_text("env_steps\n2048\n4096\n")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert soak.Run(process, tmp_path / "later").steps == 0
        run = soak.Run(process, grid.path)
        assert run.steps == 4096
        samples = soak.watch(run, seconds=0.5)
        assert len(samples) == 5
        assert all(usage[process.pid, DRIVER].anonymous_mb > 0 for usage in samples[1:])
        process.communicate(b"\n")
        assert soak.watch(run, seconds=0.5) == []  # it has ended
    assert capsys.readouterr().out.startswith("waiting")
    assert "1 min       4,096 steps  driver+learner 400 (200)" in soak.line(1, 4096, [sample(200)])


def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        soak.main(["--minutes", "0.1"])
    assert "at least 0.33" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.cluster
def test_a_real_run_is_watched_and_stopped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["MultiRoom-N2-S4", "--bonus", "count.episodic(position)", "--minutes", "1", "--out", str(tmp_path)]
    assert soak.main(words) in (0, 1)
    out, _ = capfd.readouterr()
    minute = next(line for line in out.splitlines() if line.lstrip().startswith("1 min"))
    assert "0 (0)" not in minute
    watched = {line.split()[0] for line in out.splitlines() if "→" in line and "CPU" in line}
    assert {DRIVER, RUNNER, "raylet", "gcs_server"} <= watched
    assert DRIVER in (tmp_path / "soak.csv").read_text()
    assert soak.main(["NoSuchRoom"]) == 2
