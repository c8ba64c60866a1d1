"""The film of a finished trial: one episode of the trained policy."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bonuslab.platform.grid.checkpoint_store import Checkpoints

SECONDS_A_FRAME = 0.1
SUFFIX = ".gif"


def film_of(checkpoints: Checkpoints) -> bytes:
    """A GIF made from the newest checkpoint, with the bonus of every step below the map."""
    import torch

    from bonuslab.platform.cli import bonus_plot
    from bonuslab.platform.cli.film import Film
    from bonuslab.platform.cli.watch import Show
    from bonuslab.platform.trained_agent import TrainedAgent

    with tempfile.TemporaryDirectory() as scratch:
        checkpoint, problems = checkpoints.newest(Path(scratch))
        if checkpoint is None:
            raise FileNotFoundError(f"there is no whole checkpoint to film: {'; '.join(problems)}")
        agent = TrainedAgent.load(checkpoint)
        env = agent.make_env(seed=0)
        try:
            recording = agent.play(env, torch.Generator().manual_seed(0), greedy=False, context=None)
        finally:
            env.close()
        film = Film(bonus_plot.COLOURS)
        Show(recording, agent, greedy=False).film(film)
        path = Path(scratch) / f"film{SUFFIX}"
        film.save(path, SECONDS_A_FRAME)
        return path.read_bytes()
