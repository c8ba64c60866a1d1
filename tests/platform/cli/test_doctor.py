"""`bonuslab doctor`."""

from __future__ import annotations

import json
import os

import pytest

from bonuslab.platform.cli import doctor
from bonuslab.platform.cli.doctor import Check
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.machine import Machine, this_machine

GOOD = Machine(8, 32.0, 16.0, ["A100"], 8.0, True, "cc 12")


def test_report_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["environments"]["minihack"]["works"]
    assert report["environments"]["atari"]["works"]
    assert report["versions"]["nle"] == "1.3.0"
    assert set(report["versions"]) >= {"python", "ray", "torch", "nle", "minihack", "ale", "mlflow", "habitat"}
    assert 1 <= report["machine"]["cores"] <= (os.cpu_count() or 1)
    for check in report["environments"].values():
        assert check["works"] == (check["remedy"] == "")


@pytest.mark.parametrize(("broken", "status"), [("habitat", 0), ("minihack", 1)])
def test_status_follows_minihack_and_the_text_says_what_to_do(
    broken: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(name: str) -> Check:
        return Check(False, "No module named x", "Install x.") if name == broken else Check(True, "fine")

    monkeypatch.setattr(doctor, "check", check)
    assert main(["doctor"]) == status
    printed = capsys.readouterr().out
    assert "does not run: No module named x" in printed
    assert "Install x." in printed
    assert printed.count("works: fine") == 2


@pytest.mark.parametrize(
    ("code", "detail"),
    [("raise ImportError('no such thing')", "no such thing"), ("import os; os.kill(os.getpid(), 11)", "status -11")],
)
def test_a_probe_that_fails_or_crashes_is_reported(code: str, detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real_run = doctor.subprocess.run
    monkeypatch.setattr(
        doctor.subprocess, "run", lambda command, **settings: real_run([*command[:-1], code], **settings)
    )
    result = doctor.check("habitat")
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
