"""The paper's results as data: the numbers of its tables, and its figures that come without numbers.

Henaff, Jiang and Raileanu, "A Study of Global and Episodic Bonuses for Exploration in Contextual MDPs", ICML 2023. Only
numbers printed in the paper; none is read off a figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

PAPER_STEPS = 50_000_000
"""Appendix "RL Hyperparameters": all algorithms on MiniHack were trained for 50 million environment steps."""
PAPER_SEEDS = 5

Feature = Literal["position", "message"]

_COUNTS = "section 3.2, Table 1 (tab:count-results)"
_COMBINED = "section 3.4, Table 2 (tab:combined-results)"
_EXTRA = "appendix Additional MiniHack Results (tab:extra-minihack-envs)"
_MULTIROOM, _CORRIDOR, _KEYROOM = "MultiRoom-N6-Lava", "Corridor-R5", "KeyRoom-S10"
"""The captions of the paper's maps give the sizes of "MultiRoom", "Corridors" and "KeyRoom"."""


@dataclass(frozen=True)
class PaperResult:
    """One cell of a table: episode return with a count bonus, mean ± standard deviation over 5 seeds."""

    place: str
    task: str
    """Our name."""
    contexts: str
    feature: Feature
    scope: str
    mean: float
    std: float


def _both(place: str, task: str, contexts: str, feature: Feature, *cells: tuple[float, float]) -> Iterator[PaperResult]:
    """The global and the episodic cell of one row."""
    for scope, cell in zip(("global", "episodic"), cells, strict=True):
        yield PaperResult(place, task, contexts, feature, scope, *cell)


RESULTS: tuple[PaperResult, ...] = (
    *_both(_COUNTS, _MULTIROOM, "1", "position", (0.99, 0.00), (0.83, 0.23)),
    *_both(_COUNTS, _MULTIROOM, "3", "position", (0.59, 0.32), (0.92, 0.13)),
    *_both(_COUNTS, _MULTIROOM, "5", "position", (0.23, 0.39), (0.98, 0.02)),
    *_both(_COUNTS, _MULTIROOM, "10", "position", (0.02, 0.06), (0.78, 0.17)),
    *_both(_COUNTS, _MULTIROOM, "inf", "position", (0.00, 0.00), (0.87, 0.10)),
    *_both(_COUNTS, _CORRIDOR, "1", "position", (0.96, 0.03), (0.10, 0.68)),
    *_both(_COUNTS, _KEYROOM, "inf", "message", (0.97, 0.00), (0.89, 0.01)),
    *_both(_COUNTS, _MULTIROOM, "inf", "message", (0.99, 0.01), (0.59, 0.49)),
    PaperResult(_COMBINED, _MULTIROOM, "inf", "position", "combined", 0.83, 0.04),
    PaperResult(_COMBINED, _CORRIDOR, "1", "position", "combined", 0.91, 0.01),
    PaperResult(_COMBINED, _KEYROOM, "inf", "message", "combined", 0.99, 0.00),
    PaperResult(_COMBINED, _MULTIROOM, "inf", "message", "combined", 0.97, 0.00),
    *_both(_EXTRA, "MultiRoom-N4-Locked", "1", "position", (0.722, 0.446), (0.948, 0.01)),
    *_both(_EXTRA, "MultiRoom-N4-Locked", "inf", "position", (-0.230, 0.039), (0.925, 0.01)),
    *_both(_EXTRA, "MultiRoom-N6-LavaMonsters", "1", "position", (0.994, 0.001), (0.76, 0.38)),
    *_both(_EXTRA, "MultiRoom-N6-LavaMonsters", "inf", "position", (0.00, 0.00), (0.75, 0.21)),
)


@dataclass(frozen=True)
class PaperFigure:
    """A figure without printed numbers, with what the text says about it."""

    place: str
    shows: str
    says: tuple[str, ...]
    """The paper's own words."""


AGGREGATE_FIGURE = PaperFigure(
    "section 4.2 (fig:global-bonus-effect)",
    "median, IQM and mean on its 16 MiniHack tasks for E3B and its sums and products with RND, NovelD and AGAC",
    (
        "additively combining any of the global bonuses with the elliptical episodic bonus does not provide a "
        "meaningful improvement over E3B for any metric",
        "multiplicatively combining E3B with either RND or NovelD bonuses produces a large and statistically "
        "significant improvement in both median and IQM performance over E3B",
    ),
)
NGU_FIGURE = PaperFigure(
    "appendix Results with NGU episodic bonus (fig:aggregate-ngu)",
    "the same with NGU's episodic bonus",
    (
        "Although this approach performs better than not including an exploration bonus (which gives average return "
        "of 0), it performs considerably worse than the variants which use E3B",
    ),
)
EVOLUTION_FIGURE = PaperFigure(
    "appendix Evolution of Global and Episodic bonuses (fig:bonus-evolution)",
    "inverse-dynamics loss, episodic bonus, global bonus and extrinsic reward of E3B × NovelD on four tasks",
    (
        "the global bonus spans a much larger range of values than the episodic bonus does, initially starting at a "
        "high value, exhibiting a first rapid decay, and then further decaying at a slower rate",
        "the episodic bonus increases, indicating that the agent's policy is learning to maximize the episodic bonus",
    ),
)
HABITAT_FIGURE = PaperFigure(
    "section 3.5 (fig:habitat-results)",
    "exploration coverage on Habitat, 3 seeds",
    ("the global bonuses (ICM and RND) perform poorly whereas the episodic bonus (E3B) performs well",),
)
MONTEZUMA_FIGURE = PaperFigure(
    "section 3.5 (fig:montezuma-results)",
    "E3B, RND and their product on Montezuma's Revenge, 3 seeds",
    ("the global bonus (RND) performs well, whereas the episodic bonus (E3B) performs poorly",),
)

_COUNT_TERM = re.compile(r"count\.(?:global|episodic)(?:\(([^)]*)\))?")


def count_feature(bonus: str) -> str | None:
    """What a bonus of the paper's tables counts; None for all others: sums, other forms, other terms."""
    rest = _COUNT_TERM.sub("", bonus)
    if rest == bonus or "+" in rest or re.search(r"[a-z]", rest) or "form=root" in bonus:
        return None
    features = {
        found[1] if (found := re.search(r"feature=(\w+)", settings)) else "position"
        for settings in _COUNT_TERM.findall(bonus)
    }
    return features.pop() if len(features) == 1 else None


def paper_result(task: str, contexts: str, bonus: str, scope: str) -> PaperResult | None:
    """The paper's cell for one task, number of contexts and bonus, if it has one."""
    return paper_cell(task, contexts, count_feature(bonus), scope)


def paper_cell(task: str, contexts: str, feature: str | None, scope: str) -> PaperResult | None:
    """The same for a counted feature."""
    wanted = (task, contexts, feature, scope)
    return next((one for one in RESULTS if (one.task, one.contexts, one.feature, one.scope) == wanted), None)
