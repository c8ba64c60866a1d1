"""Pictures of a finished trial: one episode of the trained policy as a video and as a summary picture."""

from __future__ import annotations

from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.run.checkpoints import Checkpoints
from bonuslab.platform.run.folder import SUMMARY, VIDEO

SECONDS_PER_FRAME = 0.1


def pictures_of(checkpoints: Checkpoints, trust: bool = False) -> dict[str, bytes]:
    """Files by name, made from the newest checkpoint, with the bonus per step."""
    from bonuslab.platform.pictures import show
    from bonuslab.platform.run.agent import TrainedAgent

    with scratch_folder() as scratch:
        checkpoint, problems = checkpoints.newest(scratch)
        if checkpoint is None:
            raise FileNotFoundError(f"there is no intact checkpoint: {'; '.join(problems)}")
        video = show.video_of(show.play(TrainedAgent.load(checkpoint, trust)))
        pictures = {}
        for name in (VIDEO, SUMMARY):
            path = scratch / name
            video.save(path, SECONDS_PER_FRAME)
            pictures[name] = path.read_bytes()
        return pictures
