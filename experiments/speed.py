"""Speed of every part, each beside a peer measured in the same run.

    python experiments/speed.py envs [bonuses …] [--quick] [--json FILE]

Ratios above 1 mean that ours is better. Nothing here asserts an absolute time: machines differ.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bonuslab.experiments.benchmarks.measurement import Measurement

PARTS = ("envs", "bonuses", "networks", "impala", "ddppo", "apartments")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the named parts, print a table, and write it as JSON if asked."""
    parser = argparse.ArgumentParser(description="Measure speed against peers, in ratios.")
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART", help=f"one or more of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: under a minute a part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a list of name, ours, peer, unit, ratio")
    arguments = parser.parse_args(argv)
    if arguments.json and not arguments.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of {arguments.json} does not exist")

    measurements: list[Measurement] = []
    for part in arguments.parts:
        module = importlib.import_module(f"bonuslab.experiments.benchmarks.{part}")
        measurements += module.run(quick=arguments.quick)
    _print(measurements)
    if arguments.json:
        arguments.json.write_text(json.dumps([item.row() for item in measurements], indent=1) + "\n")
    return 0


def _print(measurements: list[Measurement]) -> None:
    table = Table("measured", "ours", "peer", "unit", "ratio")
    for item in measurements:
        peer = "" if item.peer is None else f"{item.peer:,.4g}"
        ratio = "" if item.ratio is None else f"{item.ratio:.2f}×"
        table.add_row(item.name, f"{item.ours:,.4g}", peer, item.unit, ratio)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
