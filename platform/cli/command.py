"""What a command of `bonuslab` looks like."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Protocol


class Command(Protocol):
    """One word after `bonuslab`. Registered in pyproject.toml under `bonuslab.commands`."""

    help: str
    """One line for `bonuslab --help`."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, arguments: Namespace) -> int:
        """Do it; return the exit status. `InvalidInput` is shown to the user and ends with 2."""
