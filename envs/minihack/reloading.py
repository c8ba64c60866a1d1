"""NetHack as NLE runs it, for machines where the library cannot stay resident (anything but 64-bit Linux)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from nle import _pynethack
from nle.nethack.nethack import _new_dl


class ReloadingNetHack:
    """Byte-for-byte the same as `ResidentNetHack`, but each start reloads the library, about 1 ms slower."""

    def __init__(self, directory: Path, options: str, buffers: Mapping[str, np.ndarray]) -> None:
        """Runs in `directory` and writes observations into `buffers`, keyed by NLE's names."""
        self._file, path = _new_dl(str(directory))
        self._nethack = _pynethack.Nethack(path, str(directory), options, False, True)
        self._nethack.set_buffers(**buffers)
        self._running = False
        self.status = [0, 0, 0, 0]

    def start(self, core_seed: int, display_seed: int) -> None:
        """Start a game; the level in the directory and the seeds determine everything that follows."""
        self._nethack.set_initial_seeds(core_seed, display_seed, False, None)
        self._nethack.reset()
        self._running = True
        self._update_status()
        if self.status[1]:
            raise RuntimeError("NetHack ended right after starting")

    def step(self, key: int) -> None:
        """Press a key."""
        if not self._running or self.status[1]:
            raise RuntimeError("a key was pressed with no game running")
        self._nethack.step(key)
        self._update_status()

    def close(self) -> None:
        """Unload the library; idempotent."""
        if self._file.closed:
            return
        self._running = False
        self._nethack.close()
        self._file.close()

    def _update_status(self) -> None:
        done = self._nethack.done()
        self.status[1] = int(done)
        self.status[3] = int(self._nethack.how_done()) if done else 0
