"""`bonuslab train` until its first update: CPU time of all its processes beside that of an earlier revision.

    python experiments/speed.py startup --against 54a96d8

Both take turns. Bytecode and compiled functions come from caches, as they do for every run on a machine but the first.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.process_memory import tree_cpu_seconds
from bonuslab.experiments.benchmarks.timing import announce
from bonuslab.experiments.benchmarks.training import checkout, start_worker

WORKER = Path(__file__).with_name("startup_worker.py")
COMMAND = ("MultiRoom-N8-S5", "--bonus", "count.episodic(position)")
CASES = {"serial": ("--serial",), "Ray on this machine": ()}
QUICK_CASES = 1


def run(case: str, quick: bool, against: str | None = None) -> list[Measurement]:
    """Median CPU seconds of one case; `quick` repeats less."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    turns = 2 if quick else 5
    announce(f"start-up, {case}")
    with ExitStack() as stack:
        folders = [None] if against is None else [None, stack.enter_context(checkout(against))]
        measured = [[_first_update(folder, CASES[case]) for folder in folders] for _ in range(1 + turns)]
    ours, *peer = (statistics.median(seconds) for seconds in zip(*measured[1:], strict=True))
    suffix = f"; peer: {against}" if against else ""
    return [Measurement(f"start to first update, {case}{suffix}", ours, peer[0] if peer else None, "CPU s")]


def _first_update(folder: Path | None, options: tuple[str, ...]) -> float:
    """CPU seconds of this code, or of that in a `checkout`."""
    with tempfile.TemporaryDirectory() as out:
        words = ["train", *COMMAND, *options, "--out", str(Path(out, "run"))]
        with start_worker({"words": words}, folder, WORKER) as worker:
            assert worker.stdout is not None
            if not any(line.startswith("updated") for line in worker.stdout):
                raise RuntimeError(f"`bonuslab {' '.join(words)}` ended before its first update; see above")
            return tree_cpu_seconds(worker.pid)
