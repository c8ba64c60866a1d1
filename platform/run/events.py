"""A trial's rows as a TensorBoard event file in its folder, for `tensorboard --logdir runs`.

Made of tensorboardX's messages and checksums, but without its writer, which keeps a thread and an open file per trial:
a grid has hundreds.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from bonuslab.platform.run.rows import STEPS

PATTERN = "events.out.tfevents.*.bonuslab"
_NOT_IN_A_TAG = re.compile(r"[^-/\w.]")


def append_events(folder: Path, row: Mapping[str, float]) -> None:
    """Add one row to the event file of a trial's folder."""
    there = sorted(folder.glob(PATTERN))
    if there:
        _append(there[-1], _records([row]))
    else:
        replace_events(folder, [row])


def replace_events(folder: Path, rows: Iterable[Mapping[str, float]]) -> None:
    """Replace the event file by one with these rows only; under a new name, which TensorBoard reads afresh."""
    before = sorted(folder.glob(PATTERN))
    number = max([round(time.time()), *(1 + int(path.name.split(".")[3]) for path in before)])
    _append(folder / PATTERN.replace("*", str(number)), _records(rows, first=True))
    for path in before:
        path.unlink(missing_ok=True)


def _records(rows: Iterable[Mapping[str, float]], first: bool = False) -> bytes:
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary

    events = [Event(wall_time=time.time(), file_version="brain.Event:2")] if first else []
    for row in rows:
        values = [
            Summary.Value(tag=_NOT_IN_A_TAG.sub("_", name), simple_value=value)
            for name, value in row.items()
            if name != STEPS
        ]
        events.append(Event(wall_time=time.time(), step=int(row[STEPS]), summary=Summary(value=values)))
    return b"".join(_record(event.SerializeToString()) for event in events)


def _record(data: bytes) -> bytes:
    """TensorFlow's record format: length and data, each with a checksum."""
    from tensorboardX.record_writer import masked_crc32c

    length = struct.pack("<Q", len(data))
    checksums = (struct.pack("<I", masked_crc32c(text)) for text in (length, data))
    return length + next(checksums) + data + next(checksums)


def _append(path: Path, records: bytes) -> None:
    """Completely or not at all: TensorBoard reads nothing behind a torn record."""
    with path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            if file.write(records) < len(records):
                file.truncate(size)
        except OSError:
            file.truncate(size)
            raise
