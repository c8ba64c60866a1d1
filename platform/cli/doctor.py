"""`bonuslab doctor`: versions and hardware, which environments run here, and how to fix those that do not."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from concurrent.futures import ThreadPoolExecutor
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
    "minigrid": "minigrid",
    "habitat": "habitat-sim",
}
"""Displayed name -> distribution name."""

PROBE_SECONDS = 120
_STEPS = 4


@dataclass(frozen=True)
class Check:
    """Whether an environment runs here."""

    works: bool
    detail: str
    """What was tested, or the last line of the error."""
    remedy: str = ""
    """How to fix it; empty if it works."""


def probe_environment(name: str) -> str:
    """Start an environment and take a few steps."""
    from bonuslab.envs.catalogue import find

    family = find(name)
    env = family.make_env(name, **({} if family.many_contexts else {"contexts": "1"}))
    try:
        env.reset()
        for action in range(_STEPS):
            _, _, terminated, truncated, _ = env.step(action % len(family.action_names(name)))
            if terminated or truncated:
                env.reset()
    finally:
        env.close()
    return f"{family.canonical_name(name)} took {_STEPS} steps"


_EXTRA = 'Install it: pip install "bonuslab[{}]".'
_DOCUMENTED = "Optional: docs/habitat.md."
_ENVIRONMENTS = "bonuslab.platform.cli.doctor:probe_environment"
_HM3D = "bonuslab.envs.habitat.hm3d.requirements"
PROBES: dict[str, tuple[str, str, str]] = {
    "minihack": (_ENVIRONMENTS, "MultiRoom-N2-S4", _EXTRA.format("minihack")),
    "apartments": (_ENVIRONMENTS, "Apartments-64", "Reinstall: `rm -rf .venv && make venv`."),
    "atari": (_ENVIRONMENTS, "MontezumaRevenge", _EXTRA.format("atari")),
    "minigrid": (_ENVIRONMENTS, "MiniGrid-Empty-5x5-v0", _EXTRA.format("minigrid")),
    "gymnasium": (_ENVIRONMENTS, "CartPole-v1", "Reinstall: `rm -rf .venv && make venv`."),
    "habitat-sim": (f"{_HM3D}:check_simulator", "", _DOCUMENTED),
    "EGL": (f"{_HM3D}:check_rendering", "", "Install the GPU driver's EGL, or `apt-get install libegl1`."),
    "HM3D scenes": (f"{_HM3D}:check_scenes", "", _DOCUMENTED),
    "HM3D starts": (f"{_HM3D}:check_episodes", "", _DOCUMENTED),
    "HM3D-64": (_ENVIRONMENTS, "HM3D-64", _DOCUMENTED),
}
"""Part -> its test, the argument of the test, and how to fix a failure."""
HM3D_PARTS = ("habitat-sim", "EGL", "HM3D scenes", "HM3D starts")


def probes_for(task: str | None) -> list[str]:
    """All parts, or those that one environment needs, which is then a part itself."""
    if task is None:
        return list(PROBES)
    from bonuslab.envs.catalogue import canonical_name

    name = canonical_name(task)
    PROBES[name] = (_ENVIRONMENTS, task, "`bonuslab tasks` says how to get each family.")
    return [*HM3D_PARTS, name] if name.startswith("HM3D") else [name]


def run_checks(names: list[str]) -> dict[str, Check]:
    """Run the probes in parallel; HM3D itself comes last, and only if all its parts work."""
    first = [name for name in names if not name.startswith("HM3D-")]
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # they wait for processes
        checks = dict(zip(first, threads.map(check, first), strict=True))
    for name in names[len(first) :]:
        broken = [part for part in HM3D_PARTS if not checks[part].works]
        checks[name] = Check(False, f"not tested without {', '.join(broken)}", _DOCUMENTED) if broken else check(name)
    return checks


def check(name: str) -> Check:
    """Run one probe in a subprocess, so that a crash of a C++ simulator does not end the command."""
    (module, _, function), argument, remedy = PROBES[name][0].partition(":"), PROBES[name][1], PROBES[name][2]
    code = f"from {module} import {function}; print({function}({repr(argument) if argument else ''}))"
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
    said = errors[-1].removeprefix("bonuslab.envs.errors.") if errors else f"ended with status {result.returncode}"
    return Check(False, re.sub(r"^(InvalidInput|Unavailable): ", "", said), remedy)


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
    example = "bonuslab doctor HM3D"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("task", nargs="?", help="test only this environment, and what it needs")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def run(self, arguments: Namespace) -> int:
        """Run the checks; 0 if MiniHack, or the environment asked for, works, else 1."""
        names = probes_for(arguments.task)
        machine = this_machine()
        checks = run_checks(names)
        if arguments.json:
            report = {
                "versions": versions(),
                "machine": dataclasses.asdict(machine),
                "environments": {name: dataclasses.asdict(result) for name, result in checks.items()},
                "advice": advice(machine),
            }
            print(json.dumps(report, indent=2))
        else:
            print("\n".join(_report(machine, checks) if arguments.task is None else _environment_lines(checks)))
        return 0 if checks["minihack" if arguments.task is None else names[-1]].works else 1


def _environment_lines(checks: dict[str, Check]) -> list[str]:
    """One line per part."""
    width = max(map(len, checks))
    return [
        f"{name:<{width}} {'works' if result.works else 'fails'}: {result.detail.rstrip('.')}"
        + (f". {result.remedy}" if result.remedy else "")
        for name, result in checks.items()
    ]


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
    lines += [f"  {line}" for line in _environment_lines(checks)]
    sentences = advice(machine)
    return lines + (["advice", *(f"  {sentence}" for sentence in sentences)] if sentences else [])
