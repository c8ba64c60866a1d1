"""A small grid with everything a report can show, and its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bonuslab.platform.report.write import write_report
from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.rows import RowWriter
from bonuslab.platform.run.state import Status, TrialState

TOTAL = 1_000
SCOPES = {
    "none": "none",
    "count.global": "global",
    "count.episodic": "episodic",
    "e3b": "episodic",
    "e3b * rnd": "combined",
}


def describe(bonus: str, seed: int, task: str = "MultiRoom-N6-Lava", contexts: str = "inf") -> TrialDescription:
    labels = {"task": task, "contexts": contexts, "bonus": bonus, "scope": SCOPES[bonus], "seed": str(seed)}
    name = f"{task}__{bonus.replace(' * ', '-x-')}__c-{contexts}__s{seed}"
    return TrialDescription(name, {"seed": seed}, {"lr": 0.001}, labels)


def write_rows(folder: GridFolder, trial: TrialDescription, values: dict[str, list[float]], status: Status) -> None:
    """A trial whose columns have these values at equal steps; the last step is `TOTAL` where it has finished."""
    place = folder.trial(trial.id)
    table = RowWriter(place.progress)
    number = len(next(iter(values.values()), []))
    for row in range(number):
        table.append({"env_steps": (row + 1) * 100} | {name: column[row] for name, column in values.items()})
    error = "RuntimeError: no route to postgres://me:hunter2@store/db" if status == "failed" else ""
    TrialState(status, number * 100, TOTAL, number / 10, 2, error).write(place.state_file)


@pytest.fixture(scope="session")
def make_grid() -> Callable[..., GridFolder]:
    """`make_grid(path, [(trial, columns, status), …], options)`: a grid with exactly these rows."""

    def make(
        path: Path, trials: list[tuple[TrialDescription, dict[str, list[float]], Status]], options: dict | None = None
    ) -> GridFolder:
        folder = GridFolder(path)
        command = {
            "command": "bonuslab grid --tracking http://me:hunter2@example.org",
            "time": "2026-11-16T06:00:00+00:00",
            "git_commit": "abc1234",
            "versions": {"ray": "2.60.0"},
        }
        named = [trial for trial, *_ in trials]
        folder.write(GridDescription(path.name, "counts", "laptop", named, [command], options or {}))
        for trial, columns, status in trials:
            write_rows(folder, trial, columns, status)
        return folder

    return make


@pytest.fixture(scope="session")
def trial_of() -> Callable[..., TrialDescription]:
    """`trial_of(bonus, seed, task=…, contexts=…)`."""
    return describe


@pytest.fixture(scope="session")
def rich_grid(tmp_path_factory: pytest.TempPathFactory, make_grid: Callable[..., GridFolder]) -> GridFolder:
    """One task with two numbers of contexts, five bonuses, two seeds; one failed, one running, one not started."""
    random = np.random.default_rng(0)
    trials: list[tuple[TrialDescription, dict[str, list[float]], Status]] = []
    endings: dict[tuple[str, str, int], tuple[Status, int]] = {
        ("inf", "none", 1): ("failed", 3),
        ("inf", "e3b", 1): ("running", 5),
        ("inf", "e3b * rnd", 1): ("waiting", 0),
    }
    levels = {"none": 0.0, "global": 0.3, "episodic": 0.6, "combined": 0.9}
    for contexts in ("1", "inf"):
        for bonus, scope in SCOPES.items():
            for seed in (0, 1):
                status, rows = endings.get((contexts, bonus, seed), ("finished", 10))
                won = np.clip(levels[scope] * np.linspace(0.1, 1, 10) + random.uniform(0, 0.05, 10), 0, 1)[:rows]
                columns = {"win_rate": won, "episode_return": won - 0.1}
                if scope in ("episodic", "combined"):
                    columns |= {"bonus_episodic/mean": won + 1, "learn/e3b/inverse_dynamics_loss": 9 - won}
                if scope in ("global", "combined"):
                    columns |= {"bonus_global/mean": np.geomspace(1, 1e-3, 10)[:rows]}
                written = {name: list(map(float, column)) for name, column in columns.items()}
                trials.append((describe(bonus, seed, contexts=contexts), written if rows else {}, status))
    return make_grid(tmp_path_factory.mktemp("runs") / "rich", trials)


@pytest.fixture(scope="session")
def rich_page(rich_grid: GridFolder) -> Path:
    """The page of its report."""
    return write_report(rich_grid)
