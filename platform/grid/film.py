"""Pictures of a finished trial: one episode of the trained policy as a film, and on one page."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bonuslab.platform.grid.checkpoint_store import Checkpoints
from bonuslab.platform.grid.folder import FILM, SUMMARY

SECONDS_A_FRAME = 0.1


def pictures_of(checkpoints: Checkpoints) -> dict[str, bytes]:
    """By file name, made from the newest checkpoint, each with the bonus of every step below the picture."""
    from bonuslab.platform.cli import show
    from bonuslab.platform.trained_agent import TrainedAgent

    with tempfile.TemporaryDirectory() as scratch:
        checkpoint, problems = checkpoints.newest(Path(scratch))
        if checkpoint is None:
            raise FileNotFoundError(f"there is no whole checkpoint to film: {'; '.join(problems)}")
        film = show.film_of(show.play(TrainedAgent.load(checkpoint)))
        pictures = {}
        for name in (FILM, SUMMARY):
            path = Path(scratch) / name
            film.save(path, SECONDS_A_FRAME)
            pictures[name] = path.read_bytes()
        return pictures
