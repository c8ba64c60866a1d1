"""What a grid's owner does with damaged files: set them aside, never overwrite them, and rebuild them."""

from __future__ import annotations

from collections.abc import Callable

from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.run.checkpoints import CheckpointStore
from bonuslab.platform.run.damage import grid_damage, trial_damage
from bonuslab.platform.run.folder import GRID_COPY, GridFolder
from bonuslab.platform.run.rows import STEPS, RowWriter, read_rows
from bonuslab.platform.run.state import TrialState, set_aside, write_bytes
from bonuslab.platform.run.training import read_checkpoint_rows


def repair(folder: GridFolder, checkpoints_of: Callable[[str], str]) -> list[str]:
    """Repair a locked grid, given where each trial's checkpoints are; returns what was done."""
    notes = []
    for path, problem in grid_damage(folder).items():
        notes.append(f"{problem}; it is now {set_aside(path)}, and its copy is used")
        write_bytes(path, (folder.path / GRID_COPY).read_bytes())
    for trial in folder.description().trials:
        place = folder.trial(trial.id)
        damage = trial_damage(place)
        rows = read_rows(place.progress)
        notes += [f"{problem}; it is now {set_aside(path)}" for path, problem in damage.items()]
        if damage.keys() & {place.state_file, place.progress}:
            with scratch_folder() as scratch:
                store = CheckpointStore(checkpoints_of(trial.id))
                checkpoint, _ = store.newest(scratch)
                rows = read_checkpoint_rows(checkpoint) if checkpoint is not None else rows
            if place.progress in damage:
                RowWriter(place.progress).replace(rows)
            if place.state_file in damage:
                steps = int(rows[-1][STEPS]) if rows else 0
                TrialState(
                    status="finished" if steps >= trial.total_env_steps else "waiting",
                    env_steps=steps,
                    total_env_steps=trial.total_env_steps,
                    wall_seconds=rows[-1].get("wall_seconds", 0.0) if rows else 0.0,
                    attempts=1 if rows else 0,
                    checkpoints=store.kept(),
                ).write(place.state_file)
            notes.append(f"{trial.id}: rebuilt {len(rows)} rows from {checkpoint.name if checkpoint else 'the file'}")
    return notes
