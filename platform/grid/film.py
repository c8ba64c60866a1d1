"""The film of a finished trial: one episode of the trained policy."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bonuslab.platform.grid.checkpoint_store import Checkpoints

SECONDS_A_FRAME = 0.1
SUFFIX = ".gif"


def film_of(checkpoints: Checkpoints) -> bytes:
    """A GIF made from the newest checkpoint, with the bonus of every step below the picture."""
    from bonuslab.platform.cli import show
    from bonuslab.platform.trained_agent import TrainedAgent

    with tempfile.TemporaryDirectory() as scratch:
        checkpoint, problems = checkpoints.newest(Path(scratch))
        if checkpoint is None:
            raise FileNotFoundError(f"there is no whole checkpoint to film: {'; '.join(problems)}")
        path = Path(scratch) / f"film{SUFFIX}"
        show.film_of(show.play(TrainedAgent.load(checkpoint))).save(path, SECONDS_A_FRAME)
        return path.read_bytes()
