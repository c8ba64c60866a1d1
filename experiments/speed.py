"""Benchmarks: each part of bonuslab beside a peer, most of them measured in the same run.

    python experiments/speed.py envs [bonuses …] [--quick] [--json FILE]
    python experiments/speed.py training --case KeyRoom --against 54a96d8
    python experiments/speed.py all --markdown --write README.md --json speed.json [--resume]

Ratios above 1 mean that ours is better. No absolute time is asserted: machines differ.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.markdown import AGAINST, commit, machine, markdown_section, replace_section
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.record import Record
from bonuslab.experiments.benchmarks.time_to_solve import BASELINE
from bonuslab.experiments.benchmarks.training import require_revision
from bonuslab.platform.pictures.table import print_table

PARTS = (
    "peers",
    "training",
    "combinations",
    "time-to-solve",
    "curves",
    "startup",
    "envs",
    "bonuses",
    "networks",
    "impala",
    "paper",
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured there, as it comes")
    parser.add_argument(
        "--resume", action="store_true", help="keep what --json FILE has of this commit and these options"
    )
    parser.add_argument(
        "--case", metavar="TEXT", help=f"{', '.join(sorted(AGAINST))}: only cases whose name contains this"
    )
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown, with commit and machine")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the Markdown between <!-- speed --> and <!-- /speed --> there"
    )
    parser.add_argument(
        "--against",
        metavar="REVISION",
        help=f"{', '.join(sorted(AGAINST))}: compare with this revision; all: {BASELINE}",
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="peers: install Sample Factory there (default: your cache folder)"
    )
    arguments = parser.parse_args(argv)
    parts = PARTS if ALL in arguments.parts else tuple(arguments.parts)
    against = arguments.against or (BASELINE if ALL in arguments.parts else None)
    if against and not AGAINST.intersection(parts):
        parser.error(f"--against is for {', '.join(sorted(AGAINST))}: name one of these parts")
    if arguments.cache and "peers" not in parts:
        parser.error("--cache is where peers are installed: name the part `peers`")
    if arguments.resume and not arguments.json:
        parser.error("--resume continues a file: name it with --json FILE")
    if arguments.case and not AGAINST.issuperset(parts):
        parser.error(f"--case chooses among the cases of {', '.join(sorted(AGAINST))}: name only these parts")
    if arguments.json and not arguments.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of {arguments.json} does not exist")
    if arguments.write:
        try:
            replace_section(arguments.write, None)
        except InvalidInput as error:
            parser.error(f"--write: {error}")

    chosen = {part: _options(part, arguments, against) for part in parts}
    for part, calls in chosen.items():
        if not calls:
            parser.error(f"--case: no case of {part} contains {arguments.case!r}")
    if against or {"time-to-solve", "curves"}.intersection(parts):
        try:
            require_revision(against or BASELINE)
        except InvalidInput as error:
            parser.error(f"--against: {error}")

    try:
        record = Record(arguments.json, arguments.resume)
    except InvalidInput as error:
        parser.error(f"--json: {error}")
    measured: list[tuple[str, Measurement]] = []
    for part, calls in chosen.items():
        for options in calls:
            key = {"part": part, "quick": arguments.quick, "commit": commit(), "machine": machine()} | options
            if not (rows := record.find(key)):
                if part == "peers":
                    options["cache"] = arguments.cache
                rows = _module(part).run(quick=arguments.quick, **options)
                record.add(key, rows)
            measured += [(part, item) for item in rows]
    if arguments.markdown or arguments.write:
        section = markdown_section(measured, arguments.quick, against)
        print(section)
        if arguments.write:
            replace_section(arguments.write, section)
    else:
        print_table(HEADERS, [_row(item) for _, item in measured], numbers=("ours", "peer", "ratio"))
    return 0


def _module(part: str) -> Any:
    return importlib.import_module(f"bonuslab.experiments.benchmarks.{MODULES.get(part, part)}")


def _options(part: str, arguments: argparse.Namespace, against: str | None) -> list[dict[str, Any]]:
    """Options of each call: one for every case that is asked for, or for the first ones if `quick`."""
    if part not in AGAINST:
        return [{}]
    module = _module(part)
    names = list(module.CASES)
    if arguments.case is not None:
        names = [name for name in names if arguments.case in name]
    elif arguments.quick:
        names = names[: module.QUICK_CASES]
    return [{"case": name, "against": against} for name in names]


def _row(item: Measurement) -> tuple[str, ...]:
    peer = "" if item.peer is None else f"{item.peer:,.4g}"
    ratio = "" if item.ratio is None else f"{item.ratio:.2f}×"
    return item.name, f"{item.ours:,.4g}", peer, item.unit, ratio


if __name__ == "__main__":
    sys.exit(main())
