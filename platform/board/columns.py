"""What a column of progress.csv is called on the page, and among which others it stands."""

from __future__ import annotations

import re
from typing import NamedTuple

GROUPS = ("Results", "Evaluation", "Bonus", "Learning", "Speed", "Further numbers")
NOT_DRAWN = {"env_steps", "iteration", "wall_seconds"}
"""Columns that only count."""


class Column(NamedTuple):
    """One curve."""

    name: str
    """As in progress.csv."""
    group: str
    """One of `GROUPS`."""
    label: str


_RULES: tuple[tuple[str, str, str], ...] = (
    (r"win_rate", "Results", "win rate"),
    (r"episode_return", "Results", "return"),
    (r"episode_length", "Results", "episode length"),
    (r"episodes", "Results", "episodes"),
    (r"evaluation/(\w+)/win_rate", "Evaluation", r"win rate, \1"),
    (r"evaluation/(\w+)/episode_return_mean", "Evaluation", r"return, \1"),
    (r"evaluation/(\w+)/episode_return_std", "Evaluation", r"std of the return, \1"),
    (r"evaluation/(\w+)/episode_len_mean", "Evaluation", r"episode length, \1"),
    (r"evaluation/(\w+)/num_episodes", "Evaluation", r"episodes, \1"),
    (r"evaluation/(\w+)/(.+)", "Evaluation", r"\2, \1"),
    (r"bonus/mean", "Bonus", "bonus"),
    (r"bonus/(.+)", "Bonus", r"bonus, \1"),
    (r"bonus_episodic/mean", "Bonus", "episodic part"),
    (r"bonus_global/mean", "Bonus", "global part"),
    (r"bonus_raw/mean", "Bonus", "bonus, not normalised"),
    (r"term/(.+)/raw_mean", "Bonus", r"\1"),
    (r"(?:term|bonus\w*)/(.+)", "Bonus", r"\1"),
    (r"learn/([^/]+)/(.+)", "Learning", r"\1: \2"),
    (r"policy_loss|baseline_loss|entropy_loss|entropy|gradient_norm", "Learning", r"\g<0>"),
    (r"importance_weight|kl_to_behaviour", "Learning", r"\g<0>"),
    (r"env_steps_per_second", "Speed", "steps a second"),
    (r"learnt_steps_per_second", "Speed", "steps learnt a second"),
    (r"policy_lag_updates", "Speed", "policy lag in updates"),
    (r"queue_depth", "Speed", "queue depth"),
    (r".+", GROUPS[-1], r"\g<0>"),
)
"""Pattern of the whole name, group, label; the first that fits counts."""


def describe(name: str) -> Column:
    """Group and label of a column; one nobody thought of is shown under its own name."""
    for pattern, group, label in _RULES:
        found = re.fullmatch(pattern, name, re.DOTALL)
        if found:
            return Column(name, group, found.expand(label).replace("_", " ").replace("/", " · "))
    return Column(name, GROUPS[-1], name)


def arranged(names: list[str], metric: str) -> list[Column]:
    """All columns that are drawn: the grid's metric first, then by group."""
    columns = [describe(name) for name in dict.fromkeys(names) if name and name not in NOT_DRAWN]
    first = [column._replace(group=GROUPS[0]) for column in columns if column.name == metric]
    others = [column for column in columns if column.name != metric]
    return first + sorted(others, key=lambda column: (GROUPS.index(column.group), _rank(column.name)))


def _rank(name: str) -> int:
    return next(place for place, (pattern, _, _) in enumerate(_RULES) if re.fullmatch(pattern, name, re.DOTALL))
