"""MiniHack's contexts: ids below 2**48, the upper half held out for evaluation."""

from __future__ import annotations

from functools import cache
from typing import Any

from bonuslab.envs.contexts import ContextCount, SeedContexts, parse_count
from bonuslab.envs.errors import InvalidInput, check_integer
from bonuslab.envs.minihack.randomness import CONTEXT_LIMIT
from bonuslab.envs.minihack.tasks import Task


class MiniHackContexts(SeedContexts):
    """Samples context ids."""

    limit = CONTEXT_LIMIT


class WinnableContexts(MiniHackContexts):
    """A finite set of maps that the scripted explorer wins: some corridors end at a door that nobody finds in time."""

    def __init__(self, task: Task, within: int, *arguments: Any, **options: Any) -> None:
        self._task, self._within = task, within
        super().__init__(*arguments, **options)

    def _belongs(self, context: int) -> bool:
        return _explorer_wins(self._task, context, self._within)


def make_contexts(
    task: Task, contexts: ContextCount, seed: int, winnable_within: int | None, **options: Any
) -> MiniHackContexts:
    """Contexts of a task: all, or those that the scripted explorer wins within some steps; held out are always all."""
    if not options.get("held_out"):
        check_winnable_within(winnable_within, contexts)
    if winnable_within is None or options.get("held_out"):
        return MiniHackContexts(contexts, seed, **options)
    return WinnableContexts(task, winnable_within, contexts, seed, **options)


def check_winnable_within(winnable_within: object, contexts: ContextCount) -> None:
    """Refuse what is no number of steps, and infinitely many contexts."""
    if winnable_within is None:
        return
    check_integer("winnable_within", winnable_within, 1)
    if parse_count(contexts) is None:
        raise InvalidInput("winnable_within needs a finite number of contexts: each is tried before training")


@cache
def _explorer_wins(task: Task, context: int, within: int) -> bool:
    from bonuslab.envs.minihack.episode import MiniHackEpisode
    from bonuslab.envs.minihack.explorer import Explorer

    episode, explorer = MiniHackEpisode(task, within), Explorer(task.actions, seed=0)
    try:
        episode.begin(context)
        while episode.status == "running":
            episode.step(explorer.act(dict(episode.observation)))
        return episode.status == "won"
    finally:
        episode.close()
