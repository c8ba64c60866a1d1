"""Benchmarks: each part of bonuslab beside a peer, most of them measured in the same run.

    python experiments/speed.py envs [bonuses …] [--quick] [--json FILE]
    python experiments/speed.py all --markdown --write README.md

Ratios above 1 mean that ours is better. No absolute time is asserted: machines differ.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.markdown import AGAINST, markdown_section, replace_section
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.time_to_solve import BASELINE
from bonuslab.experiments.benchmarks.training import require_revision
from bonuslab.platform.pictures.table import print_table

PARTS = (
    "peers",
    "training",
    "combinations",
    "time-to-solve",
    "startup",
    "envs",
    "bonuses",
    "networks",
    "impala",
    "ray",
    "ddppo",
    "doors",
    "apartments",
)
ALL = "all"
MODULES = {"ray": "ray_overhead", "time-to-solve": "time_to_solve"}
"""Where the module of a part has another name."""
HEADERS = ("measured", "ours", "peer", "unit", "ratio")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, print a table, and write it as JSON or Markdown on request."""
    parser = argparse.ArgumentParser(description="Benchmark parts of bonuslab against peers.")
    names = (*PARTS, ALL)
    parser.add_argument("parts", nargs="+", choices=names, metavar="PART", help=f"one or more of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: about a minute per part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a list of name, ours, peer, unit, ratio")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown, with commit and machine")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the Markdown between <!-- speed --> and <!-- /speed --> there"
    )
    parser.add_argument(
        "--against",
        metavar="REVISION",
        help=f"training, combinations, time-to-solve, startup: compare with this revision; all: {BASELINE}",
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="peers: install Sample Factory there (default: your cache folder)"
    )
    arguments = parser.parse_args(argv)
    parts = PARTS if ALL in arguments.parts else tuple(arguments.parts)
    against = arguments.against or (BASELINE if ALL in arguments.parts else None)
    if against and not AGAINST.intersection(parts):
        parser.error("--against compares training: name the part `training`, `time-to-solve` or `startup`")
    if arguments.cache and "peers" not in parts:
        parser.error("--cache is where peers are installed: name the part `peers`")
    if arguments.json and not arguments.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of {arguments.json} does not exist")
    if arguments.write:
        try:
            replace_section(arguments.write, None)
        except InvalidInput as error:
            parser.error(f"--write: {error}")

    if against or "time-to-solve" in parts:
        try:
            require_revision(against or BASELINE)
        except InvalidInput as error:
            parser.error(f"--against: {error}")

    measured: list[tuple[str, Measurement]] = []
    for part in parts:
        module = importlib.import_module(f"bonuslab.experiments.benchmarks.{MODULES.get(part, part)}")
        options: dict[str, Any] = {"against": against} if part in AGAINST else {}
        if part == "peers":
            options["cache"] = arguments.cache
        measured += [(part, item) for item in module.run(quick=arguments.quick, **options)]
    if arguments.markdown or arguments.write:
        section = markdown_section(measured, arguments.quick, against)
        print(section)
        if arguments.write:
            replace_section(arguments.write, section)
    else:
        print_table(HEADERS, [_row(item) for _, item in measured], numbers=("ours", "peer", "ratio"))
    if arguments.json:
        arguments.json.write_text(json.dumps([item.row() for _, item in measured], indent=1) + "\n")
    return 0


def _row(item: Measurement) -> tuple[str, ...]:
    peer = "" if item.peer is None else f"{item.peer:,.4g}"
    ratio = "" if item.ratio is None else f"{item.ratio:.2f}×"
    return item.name, f"{item.ours:,.4g}", peer, item.unit, ratio


if __name__ == "__main__":
    sys.exit(main())
