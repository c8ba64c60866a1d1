"""`bonuslab` itself: its version, its commands, and how little it loads."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import warnings
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from bonuslab.platform.cli.main import GROUP, main

PYPROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
COMMANDS = PYPROJECT["project"]["entry-points"]["bonuslab.commands"]


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_version(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"bonuslab {PYPROJECT['project']['version']}\n"


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert listed == sorted(COMMANDS)


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian"]) == 2
    assert "unknown command 'trian'; did you mean train" in capsys.readouterr().err


def test_warnings_for_users_are_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # restored afterwards
    assert main(["--version"]) == 0
    place = ("some.py", 3, "line()")
    assert warnings.formatwarning("Maze ignores its seed", UserWarning, *place) == "warning: Maze ignores its seed\n"
    assert "some.py:3: DeprecationWarning: old" in warnings.formatwarning("old", DeprecationWarning, *place)


HELP_OF_EVERY_COMMAND = """
import contextlib, sys
from bonuslab.platform.cli.main import GROUP, main

for words in (["--version"], ["--help"], *([name, "--help"] for name in sys.argv[1:])):
    with contextlib.suppress(SystemExit):
        main(words)
    loaded = {"torch", "ray", "numpy", "pandas", "mlflow", "gymnasium", "matplotlib", "rich"} & set(sys.modules)
    if loaded:
        sys.exit(f"bonuslab {' '.join(words)} imports {loaded}")
"""


def test_help_imports_no_large_package() -> None:
    words = [sys.executable, "-c", HELP_OF_EVERY_COMMAND, *COMMANDS]
    assert subprocess.run(words, capture_output=True, text=True, check=False).stderr == ""


def test_completion_knows_commands_options_and_all_families(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--completion"]) == 0
    script = tmp_path / "completion.sh"
    script.write_text(capsys.readouterr().out)

    def complete(*words: str) -> list[str]:
        line = f"source {script}; COMP_WORDS=(bonuslab {' '.join(words)}); COMP_CWORD={len(words)}; _bonuslab"
        shell = ["bash", "-c", f'{line}; echo "${{COMPREPLY[@]}}"']
        return subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split()

    assert complete("doc") == ["doctor"]
    assert complete("play", "--ag") == ["--agent"]
    families = ("Apart", "Apartments-64"), ("Montez", "MontezumaRevenge"), ("CartP", "CartPole-v1"), ("HM", "HM3D-128")
    for beginning, name in families:
        for command in ("train", "play", "advise", "doctor"):
            assert name in complete(command, beginning)


@pytest.mark.parametrize("command", ["search", "zoo"])
def test_examples_can_be_copied_line_by_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    (entry,) = entry_points(group=GROUP, name=command)
    example = entry.load().example
    shown = capsys.readouterr().out.split("Example:\n")[1].splitlines()
    assert shown == [f"  {line}" for line in example.split("; ")]
