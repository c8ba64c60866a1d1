"""The speed table of README: Markdown between two markers, with the commit, date and machine it was measured on."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.platform.run.machine import processor
from bonuslab.platform.run.versions import git_commit

ROOT = Path(__file__).resolve().parents[2]
AGAINST = {"training", "combinations", "time-to-solve", "curves", "startup"}
"""Parts that compare with an earlier revision."""
BEGIN, END = "<!-- speed -->", "<!-- /speed -->"


def markdown_section(
    measured: Sequence[tuple[str, Measurement]], quick: bool = False, against: str | None = None
) -> str:
    """What stands between the markers: a line about this run, and one row per part and measurement."""
    options = (" --quick" if quick else "") + (f" --against {against}" if against else "")
    lines = [
        f"Measured at commit {commit()} on {datetime.date.today().isoformat()}, {machine()}"
        f"{', with `--quick`: few repetitions' if quick else ''}.",
        "",
        "| measured | ours | peer | ratio | command |",
        "|---|---:|---:|---:|---|",
    ]
    for part, item in measured:
        what, _, peer = item.name.partition("; peer: ")
        theirs = "" if item.peer is None else f"{_number(item.peer)}{f': {peer}' if peer else ''}"
        ratio = "" if item.ratio is None else f"{item.ratio:.2f}×"
        command = f"`speed.py {part}{options if part in AGAINST else ' --quick' * quick}`"
        cells = (what, f"{_number(item.ours)} {item.unit}", theirs, ratio, command)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def replace_section(file: Path, section: str | None) -> None:
    """Put a section between the markers of a file; None only checks that they are there."""
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file")
    before, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InvalidInput(f"{file} has no {BEGIN} followed by {END}")
    if section is not None:
        file.write_text(f"{before}{BEGIN}\n{section}\n{END}{after}", encoding="utf-8")


def commit() -> str:
    """The commit of this code, and whether files differ from it."""
    found, dirty, _ = (git_commit() or "unknown").partition("-dirty")
    return found[:7] + (" (with uncommitted changes)" if dirty else "")


def machine() -> str:
    """Cores and processor."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {processor()}, {platform.system()}"


def _number(value: float) -> str:
    """Three digits, as people write them."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
