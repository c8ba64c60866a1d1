"""`bl.search`: the scale of every bonus, searched with equal effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from bonuslab.algorithms.bonuses import parse
from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.api.training import Expression, expression_text, named_tasks
from bonuslab.platform.grid.search_request import requested
from bonuslab.platform.grid.search_results import FILE, Winners
from bonuslab.platform.grid.search_space import Search, Space
from bonuslab.platform.report.search_records import read_search
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.names import short_task
from bonuslab.platform.run.ray_session import silence_notices


@dataclass(frozen=True)
class SearchResult:
    """A search, finished or not, read from its folder."""

    path: Path

    @property
    def winners(self) -> Winners:
        """The best settings of every bonus on every task, as in winners.json."""
        return Winners.of(read_search(GridFolder.open(self.path)))

    @property
    def samples(self) -> pd.DataFrame:
        """Everything that was tried: a row per sample and seed."""
        return pd.read_csv(StringIO(read_search(GridFolder.open(self.path)).csv()))

    def settings(self, task: Any, bonus: Expression, contexts: int | str = "inf") -> dict[str, Any]:
        """What to train a bonus with: `bl.train(task, **found.settings(task, "e3b"))`."""
        name, text = short_task(catalogue.name_of(task)), str(parse(expression_text(bonus)))
        winner = self.winners.find(name, str(contexts), text)
        if winner is None:
            raise InvalidInput(f"the search in {self.path} has no winner for {text} on {name} with {contexts} contexts")
        return {"bonus": winner.expression, **winner.settings}

    def __repr__(self) -> str:
        return f"<SearchResult: {len(self.winners.winners)} winners, {self.path / FILE}>"


def search(
    tasks: Any | Sequence[Any],
    bonuses: Sequence[Expression],
    *,
    samples: int = Search.samples,
    steps: int | None = None,
    seeds: Sequence[int] = (101, 102),
    study_seeds: Sequence[int] = (),
    contexts: Sequence[int | str] = ("inf",),
    normalise: Sequence[str] = Space.normalise,
    coefficient: tuple[float, float] = Space.coefficient,
    beta: tuple[float, float] = Space.beta,
    scheduler: str = Search.scheduler,
    searcher: str = Search.searcher,
    grace: float = Search.grace,
    metric: str = Search.metric,
    out: str | Path = Path("runs") / "search",
    concurrent: int | None = None,
    **settings: Any,
) -> SearchResult:
    """Search normalisation, coefficient and β on Ray Tune; call it again to resume.

    Every bonus has the same space, number of samples, seeds and steps. `settings` are as for `train`.
    """
    silence_notices()
    wanted = Search(
        tuple(seeds), samples, steps, Space(tuple(normalise), coefficient, beta), scheduler, searcher, grace, metric
    )
    texts, numbers = [expression_text(bonus) for bonus in bonuses], [str(count) for count in contexts]
    if steps is not None:
        settings = {**settings, "total_env_steps": steps}
    path = Path(out)
    session = requested(
        wanted, named_tasks(tasks), texts, numbers, settings, study_seeds, path, {"concurrent": concurrent}
    )
    session.run()
    return SearchResult(path)
