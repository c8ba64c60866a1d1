"""Small grids, and an MLflow database that is created once, since that takes seconds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bonuslab.platform.run.folder import GridFolder, TrialFolder
from bonuslab.platform.run.rows import RowWriter
from bonuslab.platform.tracking.delivery import Delivery
from bonuslab.platform.tracking.store import DATABASE, store_of


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An MLflow database without runs."""
    from bonuslab.platform.tracking.connection import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / DATABASE
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def make_grid(
    tmp_path: Path, write_sample_grid: Callable[..., GridFolder], empty_database: Path
) -> Callable[..., GridFolder]:
    """`make_grid(name)`: trials of rnd, e3b and both: finished, failed, running, waiting; with an empty store."""

    def make(name: str = "grid") -> GridFolder:
        folder = write_sample_grid(
            tmp_path / name, tasks=["KeyRoom-S5"], bonuses=["none", "rnd", "e3b", "e3b * rnd"], seeds=[0], rows=4
        )
        shutil.copy(empty_database, folder.path / DATABASE)
        return folder

    return make


@pytest.fixture
def grid(make_grid: Callable[..., GridFolder]) -> GridFolder:
    """One grid."""
    return make_grid()


@pytest.fixture(scope="session")
def deliver() -> Callable[..., str | None]:
    """Deliver as `bonuslab track` does, in a process without memory of earlier ones."""

    def work(folder: GridFolder, tracking_uri: str | None = None, driven: bool = True) -> str | None:
        delivery = Delivery(folder, store_of(folder, tracking_uri))
        try:
            return delivery.deliver(driven)
        finally:
            delivery.close()

    return work


@pytest.fixture(scope="session")
def append_row() -> Callable[..., None]:
    """Append a row and update the state."""

    def append(trial: TrialFolder, steps: int, **columns: float) -> None:
        row = {"env_steps": steps, "win_rate": 0.5, "wall_seconds": steps / 2_000} | columns
        RowWriter(trial.progress).append(row)
        state = trial.state()
        state.env_steps = steps
        state.write(trial.state_file)

    return append


class Contents:
    """The content of a store, read with MLflow's own client."""

    def __init__(self, uri: str) -> None:
        from bonuslab.platform.tracking.connection import MlflowClient

        self.client = MlflowClient(uri)

    def runs(self) -> list[Any]:
        """All runs, parents included."""
        experiments = [experiment.experiment_id for experiment in self.client.search_experiments()]
        return list(self.client.search_runs(experiments))

    def run(self, trial: TrialFolder) -> Any:
        """The one run of a trial."""
        found = [run for run in self.runs() if run.data.tags.get("bonuslab.trial_id") == trial.id]
        assert len(found) == 1
        return found[0]

    def steps(self, trial: TrialFolder, metric: str = "win_rate") -> list[int]:
        """Steps of all logged values of a metric, in order."""
        return [point.step for point in self.client.get_metric_history(self.run(trial).info.run_id, metric)]


@pytest.fixture(scope="session")
def contents() -> Callable[[GridFolder], Contents]:
    """`contents(grid)` or `contents(grid, tracking_uri)`: what its store holds."""

    def look(folder: GridFolder, tracking_uri: str | None = None) -> Contents:
        return Contents(store_of(folder, tracking_uri).uri)

    return look
