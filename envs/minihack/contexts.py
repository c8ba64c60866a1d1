"""MiniHack's contexts: ids below 2**48, the upper half held out for evaluation."""

from __future__ import annotations

from bonuslab.envs.contexts import SeedContexts
from bonuslab.envs.minihack.randomness import CONTEXT_LIMIT


class MiniHackContexts(SeedContexts):
    """Samples context ids."""

    limit = CONTEXT_LIMIT
