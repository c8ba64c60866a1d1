"""`bonuslab presets`: every hyperparameter of a preset with its source."""

from __future__ import annotations

import json
import shutil
import textwrap
import typing
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, Literal

from bonuslab.envs.errors import unknown


class PresetsCommand:
    """See `help`."""

    help = "list presets, or all hyperparameters of one with their sources"
    example = "bonuslab presets laptop --algorithm impala"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("name", nargs="?", help="preset to show (default: list all)")
        parser.add_argument("--algorithm", help="impala or ddppo (default: both)")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def run(self, arguments: Namespace) -> int:
        """Print presets or hyperparameters."""
        from bonuslab.algorithms.catalogue import ALGORITHMS, find
        from bonuslab.platform.pictures.table import print_table

        algorithms = [find(name) for name in ([arguments.algorithm] if arguments.algorithm else ALGORITHMS)]
        presets = [(entry, preset) for entry in algorithms for preset in entry.presets.values()]
        if arguments.name is None:
            rows = [(preset.name, entry.name, preset.description) for entry, preset in presets]
            if arguments.json:
                print(json.dumps([dict(zip(("preset", "algorithm", "description"), row, strict=True)) for row in rows]))
            else:
                print_table(("preset", "algorithm", "description"), rows)
                print("\n`bonuslab presets NAME` lists a preset's hyperparameters; `--set name=value` overrides one.")
            return 0
        chosen = [(entry, preset) for entry, preset in presets if preset.name == arguments.name]
        if not chosen:
            raise unknown("preset", arguments.name, {preset.name for _, preset in presets})
        if arguments.json:
            print(json.dumps({entry.name: _described(preset) for entry, preset in chosen}, indent=1))
            return 0
        for entry, preset in chosen:
            print(f"{preset.name} of {entry.name}: {preset.description}\n")
            print("\n".join(_lines(_described(preset))), end="\n\n")
        return 0


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Name, value and meaning, and below them the source."""
    names, values = [row["name"] for row in rows], [_text(row["value"]) for row in rows]
    indent = " " * (max(map(len, names)) + max(map(len, values)) + 4)
    width = max(shutil.get_terminal_size((120, 0)).columns, len(indent) + 40)
    for row, name, value in zip(rows, names, values, strict=True):
        start = f"{name:<{max(map(len, names))}}  {value:<{max(map(len, values))}}  "
        yield from textwrap.wrap(_meaning(row), width, initial_indent=start, subsequent_indent=indent)
        yield from textwrap.wrap(f"[{row['source']}]", width, initial_indent=indent, subsequent_indent=indent)


def _described(preset: Any) -> list[dict[str, Any]]:
    from bonuslab.algorithms.rllib.hyperparameters import specs_of, types_of

    types = types_of(type(preset.values))
    return [
        {"name": name, "value": getattr(preset.values, name), "meaning": spec.meaning, "source": preset.source(name)}
        | ({"words": words} if (words := _words(name, types[name])) else {})
        for name, spec in specs_of(type(preset.values)).items()
    ]


def _words(name: str, kind: Any) -> list[str]:
    """The words that a hyperparameter may be; none for a number."""
    from bonuslab.algorithms.networks.registry import families

    if typing.get_origin(kind) is Literal:
        return list(typing.get_args(kind))
    return families() if name in ("network", "bonus_network") else []


def _meaning(row: dict[str, Any]) -> str:
    return f"{row['meaning']} ({' | '.join(row['words'])})" if "words" in row else row["meaning"]


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).lower()
