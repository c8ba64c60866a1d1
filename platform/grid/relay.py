"""An actor on the driver's machine that stores trials' checkpoints and pictures and relays stop requests.

Trials on other machines send their checkpoints through it, so that a cluster needs no shared disk; with `--storage`
they write there directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from bonuslab.algorithms.learning import trust
from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.run.checkpoints import Checkpoints, CheckpointStore, pack, unpack
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.state import write_bytes


@dataclass(frozen=True)
class CheckpointLocations:
    """Where the trials of a grid store their checkpoints."""

    root: str
    """A path or URI."""
    shared: bool
    """Whether every machine of the cluster can access it."""
    names: dict[str, str]
    """Folder below `root`, by trial."""

    def of(self, trial: str) -> str:
        """Path or URI of one trial's checkpoints."""
        return f"{self.root}/{self.names[trial]}"


class Relay:
    """A Ray actor on the driver's machine that ends with the driver."""

    def __init__(self, grid: str, locations: CheckpointLocations) -> None:
        self._folder = GridFolder(Path(grid))
        self._locations = locations
        self._node = ray.get_runtime_context().get_node_id()
        self._stopping = False

    def location_for(self, trial: str, node: str) -> str | None:
        """Where a trial on `node` can store its checkpoints itself; None if it must send them here."""
        return self._locations.of(trial) if self._locations.shared or node == self._node else None

    def key(self) -> bytes:
        """The driver's key, with which all its trials sign: over Ray's connection, never in a file or a log."""
        return trust.key()

    def stop(self) -> None:
        """Ask all trials to save their work and end."""
        self._stopping = True

    def stopping(self) -> bool:
        """Whether a stop was requested."""
        return self._stopping

    def save_checkpoint(self, trial: str, steps: int, data: bytes, last: bool) -> list[str]:
        """Store a checkpoint sent by a trial."""
        with scratch_folder() as scratch:
            folder = unpack(data, scratch / "checkpoint")
            return CheckpointStore(self._locations.of(trial)).save(steps, folder, last)

    def newest_checkpoint(self, trial: str, owned: bool) -> tuple[str, bytes, list[str]]:
        """Name and content of the newest intact checkpoint (empty if none), and problems with newer ones."""
        with scratch_folder() as scratch:
            folder, problems = CheckpointStore(self._locations.of(trial)).newest(scratch, owned)
            return ("", b"", problems) if folder is None else (folder.name, pack(folder), problems)

    def kept_checkpoints(self, trial: str) -> list[str]:
        """See `Checkpoints.kept`."""
        return CheckpointStore(self._locations.of(trial)).kept()

    def save_pictures(self, trial: str, pictures: dict[str, bytes]) -> None:
        """Store pictures of the trained policy, by file name."""
        for name, data in pictures.items():
            write_bytes(self._folder.trial(trial).path / name, data)


class RelayedCheckpoints:
    """Checkpoints of a trial on another machine, stored by the relay."""

    def __init__(self, relay: Any, trial: str) -> None:
        self._relay = relay
        self._trial = trial

    def save(self, steps: int, folder: Path, last: bool) -> list[str]:
        """See `Checkpoints`."""
        return ray.get(self._relay.save_checkpoint.remote(self._trial, steps, pack(folder), last))

    def newest(self, scratch: Path, owned: bool = False) -> tuple[Path | None, list[str]]:
        """See `Checkpoints`."""
        name, data, problems = ray.get(self._relay.newest_checkpoint.remote(self._trial, owned))
        return (unpack(data, scratch / name) if name else None), problems

    def kept(self) -> list[str]:
        """See `Checkpoints`."""
        return ray.get(self._relay.kept_checkpoints.remote(self._trial))


def checkpoints_of(relay: Any, trial: str) -> Checkpoints:
    """The checkpoint store for a trial in this process, whose checkpoints are signed as the driver's own."""
    trust.use_key(ray.get(relay.key.remote()))
    node = ray.get_runtime_context().get_node_id()
    location = ray.get(relay.location_for.remote(trial, node))
    return RelayedCheckpoints(relay, trial) if location is None else CheckpointStore(location)
