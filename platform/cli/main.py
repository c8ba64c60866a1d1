"""`bonuslab`: runs a command from the installed entry points."""

from __future__ import annotations

import argparse
import errno
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any, NoReturn

from bonuslab.envs.errors import InvalidInput, printable, unknown
from bonuslab.envs.extras import is_ours, missing
from bonuslab.platform.cli.command import Command

GROUP = "bonuslab.commands"
_DEVELOPERS_WARNING = warnings.formatwarning


class _Formatter(argparse.HelpFormatter):
    """Examples stay on their lines, ready to be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("Example:") else super()._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """Errors are one sentence, like all others; argparse would print the usage before it."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message} (`{self.prog} --help` lists the options)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; invalid input prints one sentence and returns 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    warnings.formatwarning = _warning  # type: ignore[assignment]  # it passes the place on as it is
    commands = {entry.name: entry for entry in entry_points(group=GROUP)}
    try:
        if not words or words[0] in ("-h", "--help"):
            print(_overview(commands))
            return 0
        if words[0] in ("-V", "--version"):
            print(f"bonuslab {version('bonuslab')}")
            return 0
        if words[0] == "--completion":
            from bonuslab.platform.cli.completion import script

            print(script(commands))
            return 0
        if any("\0" in word for word in words):
            raise InvalidInput("the command contains a null character")
        if words[0] not in commands:
            raise unknown("command", words[0], commands)
        return _run(commands[words[0]], words[1:])
    except InvalidInput as error:
        return _refuse(str(error))
    except BrokenPipeError:
        # `bonuslab tasks | head`: the reader has closed the pipe, which is not an error.
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _refuse(f"{error.filename!r} is too long for a file name")
    except ModuleNotFoundError as error:
        if is_ours(error):
            raise
        return _refuse(missing(words[0], error))
    except KeyboardInterrupt:
        print("bonuslab: stopped", file=sys.stderr)
        return 130


def _warning(message: Warning | str, category: type[Warning], *place: Any) -> str:
    """A warning for users as one sentence; the line of source that Python adds would explain nothing."""
    return f"warning: {message}\n" if category is UserWarning else _DEVELOPERS_WARNING(message, category, *place)


def _refuse(reason: str) -> int:
    """Print why a command is not run."""
    print(f"bonuslab: {printable(reason)}", file=sys.stderr)
    return 2


def _run(entry: EntryPoint, words: list[str]) -> int:
    command: Command = entry.load()()
    parser = _Parser(
        prog=f"bonuslab {entry.name}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        epilog="\n  ".join(["Example:", *command.example.split("; ")]),
        formatter_class=_Formatter,
    )
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def _overview(commands: dict[str, EntryPoint]) -> str:
    lines = ["usage: bonuslab COMMAND [options]", "", "commands:"]
    lines += [f"  {name:<10} {_help(commands[name])}" for name in sorted(commands)]
    return "\n".join(
        [
            *lines,
            "",
            "`bonuslab COMMAND --help` describes a command. Completion for bash and zsh: "
            'eval "$(bonuslab --completion)"',
        ]
    )


def _help(entry: EntryPoint) -> str:
    try:
        return entry.load().help
    except ModuleNotFoundError as error:
        if is_ours(error):
            raise
        return missing("", error).strip()


if __name__ == "__main__":
    sys.exit(main())
