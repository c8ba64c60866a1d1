"""`bl.train` and `bl.grid`: runs and grids from Python, with the same folders as the command line's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.algorithms.bonuses import Bonus
from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.api.handles import Grid, Run
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.grid.session import GridSession
from bonuslab.platform.grid.single import SingleRun
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.find import find
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.run.ray_session import silence_notices
from bonuslab.platform.run.results import fewest_episodes

Expression = str | Bonus | None
"""A bonus: an expression as text or objects such as `bl.E3B() * bl.RND()`, or None for no bonus."""


def train(
    task: Any | Config,
    bonus: Expression = None,
    *,
    steps: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Train one run and return it.

    `task` is a name, a Gymnasium environment class or function, or a `Config`. `settings` are fields of `Config`
    (`seed`, `contexts`, `serial`, `algorithm`, `preset`, `env`, …) and hyperparameters (`lr=3e-4`). Unless
    `serial=True`, the run uses Ray: this process's if initialised, or else its own.
    """
    silence_notices()
    if isinstance(task, Config):
        config = task
    else:
        config = Config.of(catalogue.name_of(task), bonus=expression_text(bonus), steps=steps, **settings)
    run = SingleRun.begin(config, None if out is None else Path(out))
    return _trained(run, progress)


def resume(path: str | Path, *, steps: int | None = None, progress: bool = True, trust: bool = False) -> Run:
    """Resume a run from its newest checkpoint; `steps` extends a finished one, `trust` is as in `load`."""
    silence_notices()
    changes = {} if steps is None else {"total_env_steps": steps}
    return _trained(SingleRun.resume(find(path).grid, trust, **changes), progress)


def grid(
    tasks: Any | Sequence[Any],
    bonuses: Expression | Sequence[Expression] = (None,),
    seeds: Sequence[int] = (0,),
    *,
    contexts: int | str | Sequence[int | str] = "auto",
    steps: int | None = None,
    name: str = "grid",
    out: str | Path | None = None,
    metric: str = "episode_return",
    cpus_per_trial: int = 1,
    gpus_per_trial: float = 0.0,
    concurrent: int | None = None,
    accept_changes: bool = False,
    **settings: Any,
) -> Grid:
    """Train tasks × contexts × bonuses × seeds on Ray Tune; call it again to resume unfinished runs.

    Further tasks, bonuses and seeds extend the grid; other changes, of settings or code, need `accept_changes`.

    `settings` are as for `train`; trials with one CPU train serially. The folder is runs/`name` unless `out` is given.
    """
    silence_notices()
    resources = TrialResources(cpus_per_trial, gpus_per_trial)
    if settings.pop("serial", resources.serial) != resources.serial:
        raise InvalidInput(f"serial: in a grid cpus_per_trial decides, and {cpus_per_trial} contradicts it")
    if isinstance(seeds, int):
        raise InvalidInput(f"seeds={seeds} is one number; pass a list, such as seeds=[0, 1, 2]")
    for one, many in (("task", "tasks"), ("bonus", "bonuses"), ("seed", "seeds")):
        if one in settings:
            raise InvalidInput(f"a grid takes {many}, a list, instead of {one}")
    scale = Scale(
        "from Python",
        tasks=named_tasks(tasks),
        bonuses=[expression_text(bonus) for bonus in ([bonuses] if isinstance(bonuses, Expression) else bonuses)],
        seeds=list(seeds),
        contexts=[str(count) for count in ([contexts] if isinstance(contexts, int | str) else contexts)],
        settings=settings if steps is None else {**settings, "total_env_steps": steps},
        resources=resources,
    )
    experiment = Experiment(name, f"{name}, from Python", {"python": scale}, "python", metric)
    path = Path("runs") / name if out is None else Path(out)
    options = {"concurrent": concurrent, "accept_changes": accept_changes}
    session = GridSession(experiment, "python", scale, scale.trials(), path, options)
    session.run()
    return Grid(find(path).grid)


def _trained(run: SingleRun, progress: bool) -> Run:
    fewest = fewest_episodes(vars(run.config.values))
    display = Progress(run.config.steps, fewest_episodes=fewest) if progress else Progress.silent()
    try:
        run.train(display)
    finally:
        display.end_line()
        run.release()
    return Run(run.folder, run.trial)


def named_tasks(tasks: Any | Sequence[Any]) -> list[str]:
    """One task or several, as names."""
    given = [tasks] if isinstance(tasks, str | type) or callable(tasks) else list(tasks)
    return [catalogue.name_of(task) for task in given]


def expression_text(bonus: Expression) -> str:
    """A bonus as text."""
    return "none" if bonus is None else str(bonus)
