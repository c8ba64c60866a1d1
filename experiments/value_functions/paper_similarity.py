"""The paper's average cosine similarities, and the returns of its count bonuses in the same settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bonuslab.platform.report.paper_numbers import paper_cell

_EXAMPLES: Final = "appendix, tab:avg-similarity-examples"
_CONTEXTS: Final = "appendix, tab:cosine-sim-vs-perf"
_MULTIROOM, _KEYROOM = "MultiRoom-N6-Lava", "KeyRoom-S10"


@dataclass(frozen=True)
class PaperSimilarity:
    """One row of the paper's tables."""

    place: str
    task: str
    """Our name."""
    feature: str
    contexts: str
    similarity: float

    def mean_return(self, scope: str) -> float | None:
        """The paper's mean return of the count bonus with this scope in this setting, if reported."""
        found = paper_cell(self.task, self.contexts, self.feature, scope)
        return None if found is None else found.mean


PAPER: Final = (
    PaperSimilarity(_CONTEXTS, _MULTIROOM, "position", "1", 1.000),
    PaperSimilarity(_EXAMPLES, _KEYROOM, "message", "inf", 0.991),
    PaperSimilarity(_EXAMPLES, _MULTIROOM, "message", "inf", 0.951),
    PaperSimilarity(_CONTEXTS, _MULTIROOM, "position", "3", 0.465),
    PaperSimilarity(_CONTEXTS, _MULTIROOM, "position", "5", 0.358),
    PaperSimilarity(_CONTEXTS, _MULTIROOM, "position", "10", 0.278),
    PaperSimilarity(_CONTEXTS, _MULTIROOM, "position", "inf", 0.198),
)
"""From the most shared structure to the least."""


def paper_similarity(task: str, feature: str, contexts: str) -> float | None:
    """The paper's similarity for a setting, if reported; the task without `MiniHack-` and `-v0`."""
    wanted = (task, feature, contexts)
    return next((row.similarity for row in PAPER if (row.task, row.feature, row.contexts) == wanted), None)


def nearest(similarity: float) -> PaperSimilarity:
    """The paper's setting with the nearest similarity."""
    return min(PAPER, key=lambda row: abs(row.similarity - similarity))
