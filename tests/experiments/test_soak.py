"""The soak program: its arithmetic, its loop on a run that is none, and one very short real soak."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.experiments import soak
from bonuslab.experiments.benchmarks.process_memory import DRIVER, PROC, ROLES, Usage
from bonuslab.platform.run.folder import LABELS, GridDescription, GridFolder, TrialDescription

pytestmark = pytest.mark.skipif(not (PROC / "self" / "smaps_rollup").exists(), reason="only Linux has smaps_rollup")


def sample(anonymous_mb: float, cpu_seconds: float = 0.0) -> dict[str, Usage]:
    return {role: Usage(2 * anonymous_mb, anonymous_mb, cpu_seconds) for role in ROLES}


def test_growth_compares_the_thirds() -> None:
    growth = soak.Growth.of([90, 110, 500, 0, 70, 103, 105])
    assert (growth.first_mb, growth.last_mb) == (100, 104)
    assert growth.share == pytest.approx(0.04)
    assert growth.flat
    assert not soak.Growth.of([100, 100, 106]).flat
    assert soak.Growth.of([100, 100, 50]).flat


def test_cpu_share_ignores_processes_that_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 10.0)
    assert soak.cpu_share([100, 105, 5, 5, 15]) == pytest.approx((5 + 0 + 0 + 10) / 40)


def test_the_report_names_the_role_that_grows(capsys: pytest.CaptureFixture[str]) -> None:
    steady = [sample(200, cpu_seconds=number) for number in range(6)]
    assert soak.report(steady) == 0
    assert "GROWS" not in capsys.readouterr().out
    growing = [{**usage, DRIVER: Usage(900, 200 + 10 * number)} for number, usage in enumerate(steady)]
    assert soak.report(growing) == 1
    (named,) = (line for line in capsys.readouterr().out.splitlines() if "GROWS" in line)
    assert named.split()[:4] == [DRIVER, "205", "→", "245"]


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
        assert all(usage[DRIVER].anonymous_mb > 0 for usage in samples[1:])
        process.communicate(b"\n")
        assert soak.watch(run, seconds=0.5) == []  # it has ended
    assert capsys.readouterr().out.startswith("waiting")
    assert "1 min       4,096 steps  driver+learner 400 (200)" in soak.line(1, 4096, [sample(200)])


def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        soak.main(["--minutes", "0.1"])
    assert "at least 0.25" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.cluster
def test_a_real_run_is_watched_and_stopped(capfd: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["MultiRoom-N2-S4", "--bonus", "count.episodic(position)", "--minutes", "1"]) in (0, 1)
    out, _ = capfd.readouterr()
    minute = next(line for line in out.splitlines() if line.lstrip().startswith("1 min"))
    assert "0 (0)" not in minute  # every role has a process
    assert len([line for line in out.splitlines() if "→" in line and "CPU" in line]) == len(ROLES)
    assert soak.main(["NoSuchRoom"]) == 2
