"""Measurements in a JSON file, written after every part or case, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.measurement import Measurement

Key = dict[str, Any]
"""What was measured: part, case, options and commit."""


class Record:
    """The rows of one file; without a file, they are only kept in memory."""

    def __init__(self, file: Path | None, resume: bool = False) -> None:
        self._file = file
        self._rows: list[dict[str, Any]] = _read(file) if file and resume and file.exists() else []

    def find(self, key: Key) -> list[Measurement]:
        """What an earlier run has measured of it."""
        return [Measurement.of_row(row) for row in self._rows if key.items() <= row.items()]

    def add(self, key: Key, measured: Sequence[Measurement]) -> None:
        """Keep what was measured."""
        self._rows += [key | item.row() for item in measured]
        if self._file:
            self._file.write_text(json.dumps(self._rows, indent=1) + "\n")


def _read(file: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(file.read_text())
        for row in rows:
            Measurement.of_row(row)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise InvalidInput(f"{file} was not written by --json") from None
    return list(rows)
