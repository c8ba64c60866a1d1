"""The interface of a `bonuslab` command."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Protocol


class Command(Protocol):
    """A subcommand, registered in pyproject.toml under `bonuslab.commands`."""

    help: str
    """One line for `bonuslab --help`."""
    example: str
    """A command line, shown below the options by `--help`."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, arguments: Namespace) -> int:
        """Run the command; returns the exit status. `InvalidInput` is printed and exits with 2."""


def add_trust(parser: ArgumentParser) -> None:
    """Declare `--trust`."""
    parser.add_argument(
        "--trust", action="store_true", default=False, help="run code that comes with somebody else's run"
    )
