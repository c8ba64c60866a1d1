"""TensorBoard's event files, read back by their format: length, checksum, data, checksum."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from bonuslab.platform.run import events
from bonuslab.platform.run.events import PATTERN, append_events, replace_events
from bonuslab.platform.run.folder import TrialFolder
from bonuslab.platform.run.record import TrialRecord
from bonuslab.platform.run.training import TrialReport


def read(folder: Path) -> list[Event]:
    (path,) = folder.glob(PATTERN)
    data, found = path.read_bytes(), []
    while data:
        length, checksum = struct.unpack("<QI", data[:12])
        assert checksum == masked_crc32c(data[:8])
        body, data = data[12 : 12 + length], data[12 + length :]
        assert struct.unpack("<I", data[:4])[0] == masked_crc32c(body)
        found.append(Event.FromString(body))
        data = data[4:]
    return found


def scalars(folder: Path) -> list[tuple[int, str, float]]:
    return [(event.step, value.tag, value.simple_value) for event in read(folder) for value in event.summary.value]


def test_rows_are_scalars_over_environment_steps(tmp_path: Path) -> None:
    append_events(tmp_path, {"env_steps": 10, "win_rate": 0.5})
    append_events(tmp_path, {"env_steps": 20, "win_rate": 0.75, "term/e3b * rnd/raw_mean": 2.0})
    assert read(tmp_path)[0].file_version == "brain.Event:2"
    assert scalars(tmp_path) == [(10, "win_rate", 0.5), (20, "win_rate", 0.75), (20, "term/e3b___rnd/raw_mean", 2.0)]


def test_a_rewound_trial_has_only_its_own_rows(tmp_path: Path) -> None:
    record = TrialRecord(TrialFolder(tmp_path))
    rows = [{"env_steps": step, "wall_seconds": 1.0, "win_rate": step / 100} for step in (10, 20, 30)]
    for row in rows:
        record.add(TrialReport(row))
    record.write()
    before = next(tmp_path.glob(PATTERN)).name
    record.add(TrialReport(restored_rows=rows[:1], row={**rows[1], "win_rate": 0.5}))
    record.write()
    assert [(step, value) for step, tag, value in scalars(tmp_path) if tag == "win_rate"] == [
        (10, pytest.approx(0.1)),
        (20, 0.5),
    ]
    assert next(tmp_path.glob(PATTERN)).name != before, "TensorBoard would not notice a shorter file of the same name"


def test_results_begin_when_enough_episodes_have_ended(tmp_path: Path) -> None:
    record = TrialRecord(TrialFolder(tmp_path), fewest=64)
    for step, episodes in ((10, 3), (20, 64)):
        record.add(TrialReport({"env_steps": step, "wall_seconds": 1.0, "episodes": episodes, "win_rate": 1.0}))
    record.write()
    found = [(step, tag) for step, tag, _ in scalars(tmp_path) if tag != "wall_seconds"]
    assert found == [(10, "episodes"), (20, "episodes"), (20, "win_rate")]
    assert record.last_row["win_rate"] == 1.0, "progress.csv has everything"


def test_a_full_disk_leaves_complete_records_and_does_not_stop_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_events(tmp_path, [{"env_steps": 10, "win_rate": 0.5}])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(events, "_append", full)
    record = TrialRecord(TrialFolder(tmp_path))
    record.add(TrialReport({"env_steps": 20, "wall_seconds": 1.0, "win_rate": 0.5}))
    record.write()
    assert len(read(tmp_path)) == 2
    assert len((tmp_path / "progress.csv").read_text().splitlines()) == 2
