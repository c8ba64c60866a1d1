"""`bonuslab` itself: its version, its commands, and how little it loads."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bonuslab.platform.cli.main import main

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


HELP_OF_EVERY_COMMAND = """
import contextlib, sys
from bonuslab.platform.cli.main import main

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
