"""Plugin files: what they may register, their copies, and their errors."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.algorithms.bonuses import parse, registered
from bonuslab.algorithms.extensions import copy_plugin, load_plugin
from bonuslab.algorithms.extensions.kinds import user_entries
from bonuslab.envs.errors import InvalidInput

BONUS = """
from bonuslab.algorithms.bonuses import Bonus, register
import torch

@register("{name}")
class Mine(Bonus):
    size: int = {size}
    scope = "global"
    equation = "0"
    when = "never"

    def compute(self, fragment):
        return torch.zeros(fragment.action.shape)
{more}
"""
FEATURE = """
from bonuslab.algorithms.extensions import feature

@feature("corner", "blstats")
def corner(observations):
    return observations["blstats"][:, :2] < 10
"""
OTHERS = """
import gymnasium as gym
from bonuslab.algorithms.extensions import bonus, network
from bonuslab.algorithms.networks import Encoder
from bonuslab.envs.gym import register_environment

@bonus("still", scope="episodic")
def still(step):
    return step.reward * 0

network("wide")(lambda space: Encoder())

@register_environment("Maze")
class Maze(gym.Env):
    pass
"""


def write(folder: Path, name: str = "mine.first", more: str = "", file: str = "mine.py", size: int = 1) -> Path:
    path = folder / file
    path.write_text(BONUS.format(name=name, more=more, size=size))
    return path


def test_a_plugin_is_loaded_once_and_used_in_expressions(tmp_path, capsys):
    path = write(tmp_path, more="print('loaded')")
    assert load_plugin(path) == {"bonus": ["mine.first"]}
    first = registered()["mine.first"]
    assert load_plugin(str(path)) == {"bonus": ["mine.first"]}
    assert registered()["mine.first"] is first
    assert capsys.readouterr().out == "loaded\n"
    assert str(parse("2 * mine.first(size=4) * none")) == "2 * mine.first(size=4) * none"


def test_a_plugin_may_register_any_kind(tmp_path):
    (tmp_path / "feature.py").write_text(FEATURE)
    assert load_plugin(tmp_path / "feature.py") == {"feature": ["corner"]}
    parse("count.episodic(feature=corner)")
    (tmp_path / "all.py").write_text(OTHERS)
    assert load_plugin(tmp_path / "all.py") == {"bonus": ["still"], "network": ["wide"], "environment": ["Maze"]}


def test_its_bonus_is_unpickled_wherever_the_file_or_its_copy_is_loaded(tmp_path):
    path = write(tmp_path, "mine.travels")
    load_plugin(path)
    copy = tmp_path / "run" / copy_plugin(path, tmp_path / "run").name
    data = pickle.dumps(parse("mine.travels(3) * none"))
    program = (
        "import pickle, sys; from bonuslab.algorithms.extensions import load_plugin; load_plugin(sys.argv[1]);"
        f"print(pickle.loads({data!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(copy)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "mine.travels(size=3) * none", done.stderr


def test_a_copy_is_checked_by_its_hash_and_outlives_the_original(tmp_path):
    path = write(tmp_path)
    content = path.read_bytes()
    run = tmp_path / "runs" / "1"
    plugin = copy_plugin(path, run)
    assert plugin.sha256 == hashlib.sha256(content).hexdigest()
    assert [file.name for file in run.iterdir()] == [plugin.name]
    assert copy_plugin(path, run) == plugin == copy_plugin(run / plugin.name, tmp_path / "runs" / "2")
    path.write_text("1 / 0")
    assert load_plugin(run / plugin.name, sha256=plugin.sha256) == {"bonus": ["mine.first"]}
    (run / plugin.name).write_bytes(content + b"\n")
    with pytest.raises(InvalidInput, match=rf"has changed: its SHA-256 is \w+, not {plugin.sha256}"):
        load_plugin(run / plugin.name, sha256=plugin.sha256)


def test_the_original_and_its_copy_are_one_plugin(tmp_path):
    path = write(tmp_path)
    load_plugin(path)
    first = registered()["mine.first"]
    load_plugin(tmp_path / "run" / copy_plugin(path, tmp_path / "run").name)
    assert registered()["mine.first"] is first


def test_names_mean_the_version_loaded_last(tmp_path):
    path = write(tmp_path, size=1)
    load_plugin(path)
    old = tmp_path / "run" / copy_plugin(path, tmp_path / "run").name
    write(tmp_path, size=2)
    for file, size in [(path, 2), (old, 1), (path, 2), (path, 2)]:
        load_plugin(file)
        assert parse("mine.first").parameters() == {"size": size}


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ("1 / 0", ["mine.py:14", "ZeroDivisionError"]),
        ("import no_such_module", ["mine.py:14", "ModuleNotFoundError", "no_such_module"]),
        ("def (", ["mine.py:14", "SyntaxError"]),
        ("raise SystemExit(3)", ["mine.py:14", "SystemExit"]),
        ("register('none')(Mine)", ["mine.py:14", "'none' is taken by bonuslab.algorithms.bonuses.null"]),
        ("register('e3b_x_rnd')(Mine)", ["mine.py:14", "name of a preset"]),
    ],
)
def test_a_plugin_that_fails_names_the_line_and_leaves_nothing_behind(tmp_path, more, parts):
    path = write(tmp_path, "mine.fails", more)
    for _ in range(2):
        with pytest.raises(InvalidInput) as caught:
            load_plugin(path)
        for part in parts:
            assert part in str(caught.value)
        assert user_entries() == {}


def test_a_failed_edit_keeps_the_version_before(tmp_path):
    load_plugin(write(tmp_path, size=1))
    with pytest.raises(InvalidInput, match="ZeroDivisionError"):
        load_plugin(write(tmp_path, size=2, more="1 / 0"))
    assert parse("mine.first").parameters() == {"size": 1}


def test_what_is_no_plugin_is_refused(tmp_path):
    for path in (tmp_path / "missing.py", tmp_path):
        with pytest.raises(InvalidInput, match="not a file"):
            load_plugin(path)
        with pytest.raises(InvalidInput, match="not a file"):
            copy_plugin(path, tmp_path)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InvalidInput, match="not a Python file"):
        load_plugin(tmp_path / "notes.txt")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(InvalidInput, match=r"empty\.py: it registers nothing"):
        load_plugin(tmp_path / "empty.py")
