"""The wheel, installed into an environment that has only its declared dependencies: PyTorch, NumPy and Gymnasium."""

from __future__ import annotations

import inspect
import json
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

from bonuslab.envs.compiling import HAS_NUMBA

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


def bonuses_of_a_walk() -> dict[str, list[float]]:
    """Two rollouts of two envs, with two episodes in one env and a long one in the other."""
    import gymnasium as gym
    import numpy as np

    import bonuslab as bl

    space, T = gym.spaces.Box(0, 3, (7,), np.uint8), 200
    rng = np.random.default_rng(0)
    states = rng.integers(4, size=(2, T + 1, 2, 7), dtype=np.uint8)
    states[..., 2:] = 0  # so that states repeat
    states[1, 0] = states[0, -1]
    actions = rng.integers(3, size=(2, T, 2))
    truncated = np.zeros((2, T, 2), bool)
    truncated[0, 120, 1] = True
    given = {}
    for bonus in ("e3b * rnd", "count.global(observation)", "count.episodic(observation, form=root)",
                  "noveld(feature=observation)", "elliptical.global(features=random)"):  # fmt: skip
        explorer = bl.Explorer(bonus, space, gym.spaces.Discrete(3), 2)
        rollouts = zip(states, actions, truncated, strict=True)
        found = [explorer.rollout(s, a, s[1:], np.zeros_like(end), end) for s, a, end in rollouts]
        given[bonus] = np.concatenate(found).ravel().tolist()
    return given


def test_bonuses_need_no_extra_and_are_the_same_without_numba_and_scipy(base: Path, tmp_path: Path) -> None:
    code = f"""
import json, platform, sys
import bonuslab as bl
{inspect.getsource(bonuses_of_a_walk)}
print(json.dumps([platform.system(), bl.__file__, bonuses_of_a_walk()]))
for module in ("ray", "nle", "minihack", "minigrid", "mlflow", "ale_py", "pandas", "numba", "scipy"):
    assert module not in sys.modules
    try:
        __import__(module)
    except ModuleNotFoundError:
        continue
    raise AssertionError(module)
"""
    system, place, plain = json.loads(run(base / "python", "-c", code, cwd=tmp_path))
    assert system == platform.system()  # the standard library's module, not ours
    assert Path(place).is_relative_to(base.parent)
    assert HAS_NUMBA
    for bonus, expected in bonuses_of_a_walk().items():
        assert plain[bonus] == pytest.approx(expected, rel=1e-6)  # bonuses are float32
        assert len(set(expected)) > 10


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
for name in ("MultiRoom-N6", "MiniGrid-Empty-5x5-v0", "MontezumaRevenge", "Apartments-64"):
    said(lambda: make_vector_env(name, 1))
"""
    lines = run(base / "python", "-c", code, cwd=tmp_path).splitlines()
    assert [line[line.index("pip install") :].rstrip(")") for line in lines] == [
        f'pip install "bonuslab[{extra}]"' for extra in ("ray", "ray", "ray", "minihack", "minigrid", "atari", "fast")
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
