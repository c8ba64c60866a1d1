"""Bonuses from files outside the package."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.algorithms.bonuses import load_plugin, parse, registered
from bonuslab.algorithms.bonuses.algebra import registry as registry_module
from bonuslab.envs.errors import InvalidInput

PLUGIN = """
from bonuslab.algorithms.bonuses import Bonus, register
import torch

@register("{name}")
class Mine(Bonus):
    size: int = 1
    scope = "global"
    equation = "0"
    when = "never"

    def compute(self, fragment):
        return torch.zeros(fragment.action.shape)
{more}
"""


@pytest.fixture(autouse=True)
def registry_as_before(monkeypatch):
    monkeypatch.setattr(registry_module, "_BONUSES", dict(registry_module._BONUSES))


def write(folder: Path, name: str, more: str = "", file: str = "mine.py") -> Path:
    path = folder / file
    path.write_text(PLUGIN.format(name=name, more=more))
    return path


def test_a_plugin_is_loaded_once_and_used_in_expressions(tmp_path):
    path = write(tmp_path, "mine.first", "print('loaded')")
    assert load_plugin(path) == ["mine.first"]
    first = registered()["mine.first"]
    assert load_plugin(str(path)) == ["mine.first"]
    assert registered()["mine.first"] is first
    bonus = parse("2 * mine.first(size=4) * none")
    assert str(bonus) == "2 * mine.first(size=4) * none"


def test_its_bonus_is_unpickled_wherever_the_file_is_loaded(tmp_path):
    path = write(tmp_path, "mine.travels")
    load_plugin(path)
    data = pickle.dumps(parse("mine.travels(3) * none"))
    program = (
        "import pickle, sys; from bonuslab.algorithms.bonuses import load_plugin; load_plugin(sys.argv[1]);"
        f"print(pickle.loads({data!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "mine.travels(size=3) * none", done.stderr


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ("1 / 0", ["mine.py:14", "ZeroDivisionError"]),
        ("import no_such_module", ["ModuleNotFoundError", "no_such_module"]),
        ("def (", ["SyntaxError"]),
        ("raise SystemExit(3)", ["SystemExit"]),
    ],
)
def test_a_plugin_that_fails_says_where(tmp_path, more, parts):
    path = write(tmp_path, "mine.fails", more)
    for _ in range(2):  # a failed import leaves nothing behind that would look like success
        with pytest.raises(InvalidInput) as caught:
            load_plugin(path)
        for part in parts:
            assert part in str(caught.value)


def test_what_is_no_plugin_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="not a file"):
        load_plugin(tmp_path / "missing.py")
    with pytest.raises(InvalidInput, match="not a file"):
        load_plugin(tmp_path)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InvalidInput, match=r"not a Python file"):
        load_plugin(tmp_path / "notes.txt")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(InvalidInput, match="registers no bonus"):
        load_plugin(tmp_path / "empty.py")


def test_taken_names_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"'none' is taken by bonuslab\.algorithms\.bonuses\.null"):
        load_plugin(write(tmp_path, "none", file="a.py"))
    with pytest.raises(InvalidInput, match="name of a preset"):
        load_plugin(write(tmp_path, "e3b_x_rnd", file="b.py"))
