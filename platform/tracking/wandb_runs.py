"""Optional: the runs of a grid in Weights & Biases, sent from its files when it ends or stops."""

from __future__ import annotations

from importlib.util import find_spec

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.results import fewest_episodes, representative
from bonuslab.platform.run.rows import STEPS, read_rows
from bonuslab.platform.tracking import run_description as words
from bonuslab.platform.tracking.identity import grid_identity


def require_wandb() -> None:
    """An error if the package is missing."""
    if find_spec("wandb") is None:
        raise InvalidInput("--wandb needs the package wandb; install it with `pip install wandb`")


def send_to_wandb(folder: GridFolder, project: str) -> str:
    """Send what the project does not have yet; returns a line on how it went."""
    import wandb

    description = folder.description()
    grid_id = grid_identity(description)
    sent = 0
    try:
        for trial in description.trials:
            place = folder.trial(trial.id)
            rows = read_rows(place.progress)
            if not rows:
                continue
            run = wandb.init(
                project=project,
                id=f"{grid_id}-{description.generation_id(trial.id)}"[-120:],
                resume="allow",
                name=words.trial_name(trial),
                group=description.name,
                job_type=trial.labels.get("scope"),
                config=words.parameters(trial),
                settings=wandb.Settings(silent=True),
            )
            fewest = fewest_episodes(trial.hyperparameters)
            for row in (representative(row, fewest) for row in rows):
                if row[STEPS] >= run.starting_step:  # those before it are there
                    run.log({words.metric_name(name): value for name, value in row.items()}, step=int(row[STEPS]))
            run.finish(exit_code=0 if place.state().status == "finished" else 1)
            sent += 1
    except Exception as error:  # the results are in the folder, so this must not fail the grid
        return f"{sent} runs in project {project}, then: {redacted(str(error))}; run the command again to send the rest"
    return f"{sent} run{'s' if sent != 1 else ''} in project {project}"
