"""Runs and grids that take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.platform.grid.driver import GridDriver, GridOutcome, RunOptions
from bonuslab.platform.grid.experiment import Scale
from bonuslab.platform.grid.preparation import ClaimedFolder, checkpoint_locations, with_id
from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.single import RunOutcome, SingleRun
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import GridDescription, GridFolder
from bonuslab.platform.run.progress import Progress

BATCH = 32
SMALL = {"num_envs_per_env_runner": 4, "rollout_fragment_length": 8, "num_minibatches": 2, "num_epochs": 1}
WORDS = ["--serial", *(word for name, value in SMALL.items() for word in ("--set", f"{name}={value}"))]
"""The same on the command line."""
PLUGIN = """
from pathlib import Path

import torch

from bonuslab.algorithms.bonuses import Bonus, register

HERE = Path(__file__).parent


@register("test.broken")
class Broken(Bonus):
    scope = "global"
    equation = "0"
    when = "in tests: fails until the file `repaired` is there"

    def compute(self, fragment):
        if not (HERE / "repaired").exists():
            raise RuntimeError("this bonus is broken")
        return torch.zeros(fragment.action.shape)


@register("test.flaky")
class Flaky(Bonus):
    scope = "episodic"
    equation = "0"
    when = "in tests: fails once, at its fourth batch"

    def setup(self, setting):
        self.calls = 0

    def compute(self, fragment):
        self.calls += 1
        if self.calls == 4 and not (HERE / "failed").exists():
            (HERE / "failed").touch()
            raise RuntimeError("a bad day")
        return torch.zeros(fragment.action.shape)
"""


def config(batches: int, task: str = "MultiRoom-N2-S4", **settings: Any) -> Config:
    """So many batches of a small room with `e3b * rnd`, serially, without evaluation unless asked for."""
    values = {"bonus": "e3b * rnd", "serial": True, "seed": 3, "evaluate_every_steps": 0, **SMALL, **settings}
    return Config.of(task, steps=batches * BATCH, **values)


def train(path: Path, batches: int, **settings: Any) -> RunOutcome:
    """Train a new run in `path`."""
    run = SingleRun.begin(config(batches, **settings), path)
    try:
        return run.train(Progress.silent())
    finally:
        run.release()


def tiny_scale(bonuses: Sequence[str], batches: int, plugin_folder: Path | None = None, **settings: Any) -> Scale:
    """One task and seed; with a folder, its plugin's bonuses can be used."""
    values: dict[str, Any] = {
        "total_env_steps": batches * BATCH,
        "evaluate_every_steps": 0,
        "checkpoint_every_steps": 2 * BATCH,
        **SMALL,
        **settings,
    }
    if plugin_folder is not None:
        plugin = plugin_folder / "bonuses_of_the_test.py"
        plugin.write_text(PLUGIN)
        values["plugins"] = (str(plugin),)
    return Scale("tiny", ["MultiRoom-N2-S4"], bonuses, [0], settings=values)


class Notes:
    """Remembers what the driver says."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def refresh(self) -> None:
        """Nothing to draw."""

    def note(self, text: str) -> None:
        """Remember it."""
        self.notes.append(text)


def drive(path: Path, scale: Scale, display: Notes, **options: Any) -> tuple[GridFolder, GridOutcome]:
    """What `bonuslab grid` does between starting Ray and writing the report."""
    description = with_id(GridDescription(path.name, "tiny", "tiny", scale.trials(), options={"metric": "win_rate"}))
    claimed = ClaimedFolder(path, description, fresh=False, accept_changes=False)
    claimed.write(scale.settings.get("plugins", ()))
    try:
        where = checkpoint_locations(claimed.folder, claimed.description, None)
        run_options = RunOptions(scale.resources, **{"max_retries": 1, **options})
        recorder = Recorder(claimed.folder)
        driver = GridDriver(claimed.folder, claimed.unfinished(), where, run_options, recorder, display)
        return claimed.folder, driver.run()
    finally:
        claimed.release()
