"""`bonuslab doctor`: versions and hardware, which environments run here, and how to fix those that do not."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from bonuslab.platform.run.machine import Machine, this_machine
from bonuslab.platform.run.versions import versions as installed_versions

PACKAGES = {
    "bonuslab": "bonuslab",
    "ray": "ray",
    "torch": "torch",
    "gymnasium": "gymnasium",
    "nle": "nle",
    "minihack": "minihack",
    "ale": "ale-py",
    "mlflow": "mlflow",
    "habitat": "habitat-lab",
}
"""Displayed name -> distribution name."""

PROBE_SECONDS = 120


@dataclass(frozen=True)
class Check:
    """Whether an environment runs here."""

    works: bool
    detail: str
    """What was tested, or the last line of the error."""
    remedy: str = ""
    """How to fix it; empty if it works."""


def probe_minihack() -> str:
    """Start a game and take a few steps."""
    from bonuslab.envs.minihack import make

    env = make("MultiRoom-N2-S4")
    try:
        env.reset(options={"context": 7})
        for action in range(4):
            env.step(action)
    finally:
        env.close()
    return "started a game and took 4 steps"


def probe_atari() -> str:
    """Load Montezuma's Revenge and take a few steps."""
    import ale_py
    from ale_py.roms import get_rom_path

    path = get_rom_path("montezuma_revenge")
    if path is None or not path.is_file():
        raise FileNotFoundError("ale-py has no ROM of Montezuma's Revenge")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.loadROM(path)
    for _ in range(4):
        ale.act(ale_py.Action.NOOP)
    return "loaded Montezuma's Revenge and took 4 steps"


def probe_habitat() -> str:
    """Import habitat-sim and habitat-lab."""
    import habitat
    import habitat_sim

    return f"imported habitat-sim {habitat_sim.__version__} and habitat-lab {habitat.__version__}"


PROBES: dict[str, tuple[Callable[[], str], str]] = {
    "minihack": (probe_minihack, "Reinstall: `rm -rf .venv && make venv`."),
    "atari": (probe_atari, "Install it with its ROMs: `pip install ale-py==0.12.1`."),
    "habitat": (
        probe_habitat,
        "Optional. habitat-sim 0.3.3 is on conda for Python 3.9; deploy/Dockerfile.habitat builds it for 3.11, "
        "and `pip install 'bonuslab[habitat]'` adds habitat-lab.",
    ),
}
"""Environment -> its test, and how to fix a failure."""


def check(name: str) -> Check:
    """Run one probe in a subprocess, so that a crash of a C++ simulator does not end the command."""
    code = f"from bonuslab.platform.cli import doctor; print(doctor.PROBES[{name!r}][0]())"
    remedy = PROBES[name][1]
    try:
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Check(False, f"no answer within {PROBE_SECONDS} s", remedy)
    if result.returncode == 0:
        return Check(True, result.stdout.strip().splitlines()[-1])
    errors = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    return Check(False, errors[-1] if errors else f"ended with status {result.returncode}", remedy)


def versions() -> dict[str, str | None]:
    """Installed versions; None if a package is missing."""
    installed = installed_versions(PACKAGES.values())
    found = {name: installed.get(distribution) for name, distribution in PACKAGES.items()}
    return {"python": sys.version.split()[0], **found}


def advice(machine: Machine) -> list[str]:
    """One sentence per problem of this machine."""
    sentences = []
    if not machine.shm_writable:
        sentences.append("/dev/shm is not writable: games use the temporary folder, and resets are slower.")
    elif machine.shm_gib < 1:
        sentences.append("/dev/shm is small for Ray: start the container with `--shm-size=2g` or more.")
    if machine.memory_free_gib < 2:
        sentences.append("Less than 2 GiB of memory is free: use few env runners, or Ray may kill workers.")
    if not machine.gpus:
        sentences.append("No GPU found: networks run on the CPU.")
    if machine.compiler is None:
        sentences.append("No C compiler found: install gcc, for packages without a wheel for this Python.")
    return sentences


class DoctorCommand:
    """See `help`."""

    help = "show versions and hardware, test every environment, and suggest fixes"
    example = "bonuslab doctor --json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def run(self, arguments: Namespace) -> int:
        """Run all checks; 0 if MiniHack works, else 1."""
        machine = this_machine()
        checks = {name: check(name) for name in PROBES}
        if arguments.json:
            report = {
                "versions": versions(),
                "machine": dataclasses.asdict(machine),
                "environments": {name: dataclasses.asdict(result) for name, result in checks.items()},
                "advice": advice(machine),
            }
            print(json.dumps(report, indent=2))
        else:
            print("\n".join(_report(machine, checks)))
        return 0 if checks["minihack"].works else 1


def _report(machine: Machine, checks: dict[str, Check]) -> list[str]:
    shm = f"{machine.shm_gib:g} GiB, {'writable' if machine.shm_writable else 'not writable'}"
    lines = ["versions"]
    lines += [f"  {name:<10} {version or 'not installed'}" for name, version in versions().items()]
    lines += [
        "machine",
        f"  {'cores':<10} {machine.cores}",
        f"  {'memory':<10} {machine.memory_gib:g} GiB, {machine.memory_free_gib:g} GiB free",
        f"  {'GPUs':<10} {'; '.join(machine.gpus) or 'none'}",
        f"  {'/dev/shm':<10} {shm if machine.shm_gib else 'missing'}",
        f"  {'compiler':<10} {machine.compiler or 'none'}",
        "environments",
    ]
    for name, result in checks.items():
        lines.append(f"  {name:<10} {'works' if result.works else 'does not run'}: {result.detail}")
        if result.remedy:
            lines.append(f"  {'':<10} {result.remedy}")
    sentences = advice(machine)
    return lines + (["advice", *(f"  {sentence}" for sentence in sentences)] if sentences else [])
