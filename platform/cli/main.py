"""`bonuslab`: runs a command from the installed entry points."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.extras import is_ours, missing
from bonuslab.platform.cli.command import Command

GROUP = "bonuslab.commands"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; invalid input prints one sentence and returns 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    commands = {entry.name: entry for entry in entry_points(group=GROUP)}
    try:
        if not words or words[0] in ("-h", "--help"):
            print(_overview(commands))
            return 0
        if words[0] in ("-V", "--version"):
            print(f"bonuslab {version('bonuslab')}")
            return 0
        if words[0] not in commands:
            raise unknown("command", words[0], commands)
        return _run(commands[words[0]], words[1:])
    except InvalidInput as error:
        print(f"bonuslab: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if is_ours(error):
            raise
        print(f"bonuslab: {missing(words[0], error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bonuslab: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `bonuslab tasks | head`: the reader has closed the pipe, which is not an error.
        sys.stderr.close()
        return 0


def _run(entry: EntryPoint, words: list[str]) -> int:
    command: Command = entry.load()()
    parser = argparse.ArgumentParser(
        prog=f"bonuslab {entry.name}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        epilog=f"Example: {command.example}",
    )
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def _overview(commands: dict[str, EntryPoint]) -> str:
    lines = ["usage: bonuslab COMMAND [options]", "", "commands:"]
    lines += [f"  {name:<10} {_help(commands[name])}" for name in sorted(commands)]
    return "\n".join([*lines, "", "`bonuslab COMMAND --help` describes a command."])


def _help(entry: EntryPoint) -> str:
    try:
        return entry.load().help
    except ModuleNotFoundError as error:
        if is_ours(error):
            raise
        return missing("", error).strip()


if __name__ == "__main__":
    sys.exit(main())
