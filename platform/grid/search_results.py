"""The winners of a search in a small JSON file, which a study reads its settings from."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonuslab.algorithms.data.small_files import fits, read_json, typed
from bonuslab.envs.errors import InvalidInput

if TYPE_CHECKING:
    from bonuslab.platform.report.search_records import SearchRecord

FORMAT = 1
"""Version of the file; others are rejected."""
FILE = "winners.json"
"""In the folder of a search."""


@dataclass(frozen=True)
class Winner:
    """The best settings of one bonus on one task and number of contexts."""

    task: str
    contexts: str
    bonus: str
    """As searched."""
    expression: str
    """With the best β; otherwise the same."""
    settings: dict[str, Any]
    """Hyperparameters: `normalise` and `coefficient`."""
    objective: float
    episode_return: float | None
    """None if no episode has ended."""
    sample: int
    ended: dict[str, int]
    """Samples by how they ended: finished, stopped by the scheduler, failed, unfinished."""
    env: dict[str, Any]
    """Environment settings of the search."""


@dataclass(frozen=True)
class Winners:
    """The content of the file."""

    winners: list[Winner]
    search: dict[str, Any]
    """`Search.as_dict()`: seeds, samples, space, …"""
    objective: str
    cost: dict[str, float]
    """CPU seconds and environment steps of the whole search."""
    commands: list[dict[str, Any]]
    """That ran it, with commit and versions."""

    @classmethod
    def of(cls, record: SearchRecord) -> Winners:
        """The winners so far."""
        found = []
        for place, best in record.winners.items():
            measured = best.measured
            ways = [sample.ended for sample in record.places[place]]
            settings = {name: best.settings[name] for name in ("normalise", "coefficient")}
            returned = measured["episode_return"]
            found.append(
                Winner(
                    *place,
                    best.expression,
                    settings,
                    objective=round(measured["objective"], 4),
                    episode_return=None if math.isnan(returned) else round(returned, 4),
                    sample=best.number,
                    ended={way: ways.count(way) for way in sorted(set(ways))},
                    env=best.env,
                )
            )
        return cls(found, record.search, record.objective, record.cost, record.description.commands)

    @classmethod
    def read(cls, path: str | Path) -> Winners:
        """Read a file, or a search's folder; anything else is refused in one sentence."""
        file = Path(expanduser(path))
        file = file / FILE if file.is_dir() else file
        try:
            values = read_json(file)
            if values.pop("format") != FORMAT:
                raise ValueError("its format is another version's")
            winners = [typed(Winner, one, file) for one in values["winners"]]
            found = typed(cls, {**values, "winners": winners}, file)
            found._check()
        except FileNotFoundError as error:
            raise InvalidInput(f"cannot read the winners of a search from {file}: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = str(error).removeprefix(f"{file} cannot be read: ")
            raise InvalidInput(f"{file} is not an intact file of a search's winners: {reason}") from error
        return found

    def text(self) -> str:
        """JSON with a line per entry where possible."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    def find(self, task: str, contexts: str, bonus: str) -> Winner | None:
        """The winner of a bonus (in the canonical form of `parse`) on a task (by its short name), if there is one."""
        wanted = (task, str(contexts), bonus)
        return next((one for one in self.winners if (one.task, one.contexts, one.bonus) == wanted), None)

    def require_fresh(self, study_seeds: Sequence[int]) -> None:
        """Reject a study on seeds that its settings were chosen on."""
        shared = sorted(set(self.search["seeds"]) & set(study_seeds))
        if shared:
            words = ", ".join(map(str, shared))
            raise InvalidInput(
                f"the settings were chosen on seeds {words}, so a study that uses them needs other seeds"
            )

    def _check(self) -> None:
        for one in self.winners:
            if set(one.settings) != {"normalise", "coefficient"}:
                raise ValueError(f"the settings of {one.bonus} are {', '.join(one.settings) or 'empty'}")
            coefficient = one.settings["coefficient"]
            if isinstance(coefficient, bool) or not isinstance(coefficient, int | float) or not 0 < coefficient < 1e300:
                raise ValueError(f"the coefficient of {one.bonus} is {coefficient!r}")
            if not isinstance(one.settings["normalise"], str):
                raise ValueError(f"the normalisation of {one.bonus} is {one.settings['normalise']!r}")
        if not fits(self.search["seeds"], list[int]):
            raise ValueError("its search has no seeds")
        places = [(one.task, one.contexts, one.bonus) for one in self.winners]
        if len(set(places)) < len(places):
            raise ValueError("a bonus has two winners on one task")
