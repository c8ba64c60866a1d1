"""Whether a grid's driver is running, found without touching the lock it holds."""

from __future__ import annotations

import os
from pathlib import Path


def is_locked(folder: Path) -> bool | None:
    """Whether a process of this machine holds the folder's lock; None where the system cannot tell.

    Trying the lock would tell too, but a driver that starts at that moment would find it taken.
    """
    try:
        inode = os.stat(folder).st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return None
    # "1: FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF". Some file systems report another device here than in stat.
    held = (line.split() for line in locks.splitlines() if " FLOCK " in line)
    return any(words[5].rsplit(":", 1)[-1] == str(inode) for words in held if len(words) > 5)
