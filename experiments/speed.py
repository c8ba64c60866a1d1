"""Benchmarks: each part of bonuslab beside a peer, most of them measured in the same run.

    python experiments/speed.py envs [bonuses …] [--quick] [--json FILE]

Ratios above 1 mean that ours is better. No absolute time is asserted: machines differ.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.platform.pictures.table import print_table

PARTS = ("envs", "bonuses", "networks", "training", "time-to-solve", "impala", "ray", "ddppo", "doors", "apartments")
MODULES = {"ray": "ray_overhead", "time-to-solve": "time_to_solve"}
"""Where the module of a part has another name."""
AGAINST = {"training", "time-to-solve"}
"""Parts that compare with an earlier revision."""
HEADERS = ("measured", "ours", "peer", "unit", "ratio")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, print a table, and write it as JSON on request."""
    parser = argparse.ArgumentParser(description="Benchmark parts of bonuslab against peers.")
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART", help=f"one or more of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: under a minute per part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a list of name, ours, peer, unit, ratio")
    parser.add_argument(
        "--against", metavar="REVISION", help="training, time-to-solve: measure against this revision of the project"
    )
    arguments = parser.parse_args(argv)
    if arguments.against and not AGAINST.intersection(arguments.parts):
        parser.error("--against compares serial training: name the part `training` or `time-to-solve`")
    if arguments.json and not arguments.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of {arguments.json} does not exist")

    measurements: list[Measurement] = []
    for part in arguments.parts:
        module = importlib.import_module(f"bonuslab.experiments.benchmarks.{MODULES.get(part, part)}")
        options = {"against": arguments.against} if part in AGAINST else {}
        measurements += module.run(quick=arguments.quick, **options)
    print_table(HEADERS, [_row(item) for item in measurements], numbers=("ours", "peer", "ratio"))
    if arguments.json:
        arguments.json.write_text(json.dumps([item.row() for item in measurements], indent=1) + "\n")
    return 0


def _row(item: Measurement) -> tuple[str, ...]:
    peer = "" if item.peer is None else f"{item.peer:,.4g}"
    ratio = "" if item.ratio is None else f"{item.ratio:.2f}×"
    return item.name, f"{item.ours:,.4g}", peer, item.unit, ratio


if __name__ == "__main__":
    sys.exit(main())
