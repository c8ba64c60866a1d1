"""`bonuslab doctor`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bonuslab.platform.cli import doctor
from bonuslab.platform.cli.doctor import Check
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.machine import Machine, this_machine

GOOD = Machine(8, 32.0, 16.0, ["A100"], 8.0, True, "cc 12")


def test_report_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    for name in ("minihack", "apartments", "atari", "minigrid", "gymnasium"):
        assert report["environments"][name]["works"], name
    assert report["versions"]["nle"] == "1.3.0"
    assert set(report["versions"]) >= {"python", "ray", "torch", "nle", "minihack", "ale", "mlflow", "habitat"}
    assert 1 <= report["machine"]["cores"] <= (os.cpu_count() or 1)
    for check in report["environments"].values():
        assert check["works"] == (check["remedy"] == "")


@pytest.mark.parametrize(("broken", "status"), [("habitat-sim", 0), ("minihack", 1)])
def test_status_follows_minihack_and_the_text_says_what_to_do(
    broken: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(name: str) -> Check:
        return Check(False, "No module named x", "Install x.") if name == broken else Check(True, "fine")

    monkeypatch.setattr(doctor, "check", check)
    assert main(["doctor"]) == status
    printed = capsys.readouterr().out
    assert "fails: No module named x. Install x." in printed
    assert printed.count("works: fine") == len(doctor.PROBES) - (2 if broken == "habitat-sim" else 1)
    assert ("not tested without habitat-sim" in printed) == (broken == "habitat-sim")


@pytest.mark.parametrize(
    ("code", "detail"),
    [("raise ImportError('no such thing')", "no such thing"), ("import os; os.kill(os.getpid(), 11)", "status -11")],
)
def test_a_probe_that_fails_or_crashes_is_reported(code: str, detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real_run = doctor.subprocess.run
    monkeypatch.setattr(
        doctor.subprocess, "run", lambda command, **settings: real_run([*command[:-1], code], **settings)
    )
    result = doctor.check("habitat-sim")
    assert not result.works
    assert detail in result.detail
    assert result.remedy


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"shm_writable": False}, "/dev/shm"),
        ({"shm_gib": 0.06}, "--shm-size"),
        ({"memory_free_gib": 0.5}, "memory"),
        ({"gpus": []}, "GPU"),
        ({"compiler": None}, "gcc"),
    ],
)
def test_advice(change: dict[str, object], word: str) -> None:
    assert doctor.advice(GOOD) == []
    machine = Machine(**{**GOOD.__dict__, **change})
    assert [word in sentence for sentence in doctor.advice(machine)] == [True]


def test_this_machine_is_plausible() -> None:
    machine = this_machine()
    assert 0 < machine.memory_free_gib <= machine.memory_gib
    assert machine.shm_gib >= 0


def test_one_environment(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["doctor", "cartpole"]) == 0
    assert capsys.readouterr().out == "CartPole-v1 works: CartPole-v1 took 4 steps\n"
    assert main(["doctor", "CartPol-v1"]) == 2
    assert "did you mean CartPole-v1" in capsys.readouterr().err
    monkeypatch.setenv("HABITAT_DATA", str(tmp_path))
    assert main(["doctor", "HM3D"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].split(" fails")[0].split(" works")[0] for line in lines] == [
        "habitat-sim", "EGL", "HM3D scenes", "HM3D starts", "HM3D-256",
    ]  # fmt: skip
    assert f"no scenes (*/*.basis.glb) in {tmp_path}" in lines[2]
    assert f"no episodes of HM3D's train split in {tmp_path}" in lines[3]
    assert "not tested without habitat-sim" in lines[4]
