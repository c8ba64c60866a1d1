"""A made-up grid on disk, for the tests of what reads one: curves that rise to a level set by the bonus's scope."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.rows import RowWriter
from bonuslab.platform.run.state import TrialState

SCOPES = {"none": "none", "rnd": "global", "e3b": "episodic", "e3b * rnd": "combined"}
LEVELS = {"none": 0.02, "global": 0.3, "episodic": 0.8, "combined": 0.9}
TOTAL_STEPS = 100_000


def write_sample_grid(
    path: Path,
    tasks: Sequence[str] = ("MultiRoom-N4-S5", "KeyRoom-S5"),
    bonuses: Sequence[str] = tuple(SCOPES),
    seeds: Sequence[int] = (0, 1, 2),
    rows: int = 20,
) -> GridFolder:
    """All trials finished, but for the last three: one failed, one in the middle, one not begun."""
    random = np.random.default_rng(0)
    trials = [describe(task, bonus, seed) for task in tasks for bonus in bonuses for seed in seeds]
    folder = GridFolder(path)
    command = {
        "command": "bonuslab grid --scale laptop",
        "time": "2026-11-16T06:00:00+00:00",
        "git_commit": "0" * 40,
        "versions": {"bonuslab": "0.1.0", "ray": "2.60.0"},
    }
    folder.write(GridDescription(path.name, "minihack_grid", "laptop", trials, [command]))
    endings = {len(trials) - 3: "failed", len(trials) - 2: "running", len(trials) - 1: "waiting"}
    for number, trial in enumerate(trials):
        status = endings.get(number, "finished")
        share = {"finished": 1.0, "failed": 0.3, "running": 0.5, "waiting": 0.0}[status]
        write_trial(folder, trial, status, round(rows * share), rows, random)
    return folder


def describe(task: str, bonus: str, seed: int) -> TrialDescription:
    """One trial of a sample grid."""
    slug = bonus.replace(" * ", "-x-")
    labels = {"task": task, "contexts": "inf", "bonus": bonus, "scope": SCOPES[bonus], "seed": str(seed), "variant": ""}
    what = {"task": task, "bonus": bonus, "algorithm": "impala", "preset": "laptop", "contexts": "inf", "seed": seed}
    length = {"total_env_steps": TOTAL_STEPS}
    config = {**what, "serial": True, "hyperparameters": length, "env": {}, "plugins": []}
    return TrialDescription(f"{task}__{slug}__c-inf__s{seed}", config, {"lr": 1e-3, **length}, labels)


def write_trial(
    folder: GridFolder, trial: TrialDescription, status: str, done: int, rows: int, random: np.random.Generator
) -> None:
    """Rows and state of one trial; `done` of its `rows` rows are there."""
    place = folder.trial(trial.id)
    table = RowWriter(place.progress)
    level = LEVELS[trial.labels["scope"]] * random.uniform(0.9, 1.1)
    steps_per_row = TOTAL_STEPS // rows
    for row in range(1, done + 1):
        won = min(1.0, level / (1 + np.exp(-10 * (row / rows - 0.5))))
        numbers = {
            "env_steps": row * steps_per_row,
            "iteration": row,
            "env_steps_per_second": 2_000.0,
            "episodes": row * 40,
            "episode_return": won - 0.1,
            "win_rate": won,
            "episode_length": 100.0,
            "entropy": 1.5 - row / rows,
            "bonus/mean": 1.0 / row,
            "wall_seconds": row * steps_per_row / 2_000.0,
        }
        if "e3b" in trial.labels["bonus"]:
            numbers |= {"term/e3b/raw_mean": 2.0 / row, "learn/e3b/inverse_dynamics_loss": 50.0 / row}
        if "rnd" in trial.labels["bonus"]:
            numbers |= {"term/rnd/raw_mean": 0.5 / row}
        if row == rows:
            numbers |= {"evaluation/greedy/win_rate": won, "evaluation/greedy/episode_return_mean": won - 0.05}
        table.append(numbers)
    error = "RuntimeError: the bonus of environment 3 is not finite" if status == "failed" else ""
    if error:
        place.error_file.write_text(f"Traceback (most recent call last):\n  …\n{error}\n")
    state = TrialState(
        status=status,  # type: ignore[arg-type]
        env_steps=done * steps_per_row,
        total_env_steps=TOTAL_STEPS,
        wall_seconds=done * steps_per_row / 2_000.0,
        attempts=0 if status == "waiting" else 3 if status == "failed" else 1,
        error=error,
    )
    state.write(place.state_file)
