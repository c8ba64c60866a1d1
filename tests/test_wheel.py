"""The wheel, installed into an environment that has only its declared dependencies: no Ray, NLE, MLflow or ALE."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "experiments" / "examples"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
OFFLINE = ("--no-deps", "--no-index")


def needed(requirements: Iterable[str], extras: Iterable[str] = ()) -> dict[str, Distribution]:
    """What these requirements of a package with these extras install, by name, as this process has it."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(line), {"", *extras}) for line in requirements]
    seen = set()
    while waiting:
        wanted, chosen = waiting.pop()
        if wanted.marker is not None and not any(wanted.marker.evaluate({"extra": extra}) for extra in chosen):
            continue
        if (key := (wanted.name, *sorted(wanted.extras))) not in seen:
            seen.add(key)
            with suppress(PackageNotFoundError):  # Ray's py-spy is a program that not every machine may run
                found[wanted.name] = distribution(wanted.name)
                waiting += [(Requirement(line), {"", *wanted.extras}) for line in found[wanted.name].requires or ()]
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the source: setuptools leaves files beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("algorithms", "envs", "experiments", "platform"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    run(*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", folder, folder / "source", cwd=folder)
    return next(folder.glob("*.whl"))


def install(wheel: Path, folder: Path, *extras: str) -> Path:
    """The programs of a new virtual environment with the wheel, and links to what it and its extras depend on."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    run(*PIP, "--python", folder / "bin" / "python", "install", *OFFLINE, wheel, cwd=folder)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (ours,) = distributions(name="bonuslab", path=[str(packages)])
    for package in needed(ours.requires or (), extras).values():
        for part in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (packages / part).exists():  # namespace packages have several distributions
                (packages / part).symlink_to(Path(str(package.locate_file(part))))
    return folder / "bin"


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """What a command prints, on both streams."""
    done = subprocess.run(command, cwd=cwd, text=True, check=False, stdout=PIPE, stderr=STDOUT)
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation without extras."""
    return install(wheel, tmp_path_factory.mktemp("base"))


def test_bonuses_need_no_extra(base: Path, tmp_path: Path) -> None:
    code = """
import platform, sys
import bonuslab as bl, gymnasium as gym
env = gym.make("CartPole-v1")
explorer = bl.Explorer("e3b * rnd + count.episodic(observation)", env.observation_space, env.action_space)
obs, _ = env.reset(seed=0)
print(platform.system(), bl.__file__, explorer.observe(obs, 1, env.step(1)[0], False, False) > 0)
for module in ("ray", "nle", "minihack", "minigrid", "mlflow", "ale_py", "pandas"):
    assert module not in sys.modules
    try:
        __import__(module)
    except ModuleNotFoundError:
        continue
    raise AssertionError(module)
"""
    system, place, positive = run(base / "python", "-c", code, cwd=tmp_path).split()
    assert system == platform.system()  # the standard library's module, not ours
    assert Path(place).is_relative_to(base.parent)
    assert positive == "True"


def test_a_loop_runs_without_ray(base: Path, tmp_path: Path) -> None:
    last = run(base / "python", EXAMPLES / "plain_loop.py", "--steps", "1000", cwd=tmp_path).splitlines()[-1]
    assert float(last.rsplit(maxsplit=1)[1]) > 0  # the mean bonus


def test_what_needs_an_extra_names_it(base: Path, tmp_path: Path) -> None:
    code = """
import bonuslab as bl
from bonuslab.envs.catalogue import make_vector_env
def said(call):
    try:
        call()
    except (ImportError, bl.InvalidInput) as error:
        print(error)
said(lambda: bl.train)
said(lambda: bl.IMPALAConfig)
said(lambda: __import__("bonuslab.rllib"))
for name in ("MultiRoom-N6", "MiniGrid-Empty-5x5-v0", "MontezumaRevenge"):
    said(lambda: make_vector_env(name, 1))
"""
    lines = run(base / "python", "-c", code, cwd=tmp_path).splitlines()
    assert [line[line.index("pip install") :].rstrip(")") for line in lines] == [
        f'pip install "bonuslab[{extra}]"' for extra in ("ray", "ray", "ray", "minihack", "minigrid", "atari")
    ]
    assert lines[2].startswith("bonuslab.rllib needs the Python package 'ray'")


def test_the_command_line_says_what_is_missing(base: Path, tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert run(base / "bonuslab", "--version", cwd=tmp_path) == f"bonuslab {version}\n"
    assert re.search(r"^  grid +\w+", run(base / "bonuslab", "--help", cwd=tmp_path), re.MULTILINE)
    assert "e3b" in run(base / "bonuslab", "bonuses", cwd=tmp_path)
    refusal = run(base / "bonuslab", "train", "CartPole-v1", cwd=tmp_path, status=2)
    assert re.fullmatch(r'bonuslab: train needs .*: pip install "bonuslab\[ray\]"\n', refusal)


@pytest.mark.slow  # compiles all inner loops anew
def test_the_ray_extra_trains_any_gymnasium_environment(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    programs = install(wheel, tmp_path / "venv", "ray")
    command = [programs / "bonuslab", "train", "CartPole-v1", "--bonus", "rnd", "--steps", "500", "--serial"]
    run(*command, "--out", tmp_path / "run", cwd=tmp_path)
    assert list((tmp_path / "run").rglob("progress.csv"))
