"""The bonus that the paper's framework predicts from a similarity, and how that compares with training results.

According to the framework, a global bonus works if value functions vary little between contexts and fails if they vary
much. It gives no threshold; ours are half-way between the settings where the verdict of the paper's tables changes:

    similarity   global      episodic                                 verdict
    0.951–1      0.96–0.99   0.10–0.89   global better                global
    0.465        0.59 ± 0.32  0.92       global works on some seeds   neither is safe: combined
    0.198–0.358  0.00–0.23   0.78–0.98   global fails                 episodic

These are the settings of section 3. One in the appendix contradicts them: on a single map of MultiRoom-N4-Locked
(similarity 1) the global bonus reached 0.72 ± 0.45 and the episodic one 0.95. The product was measured only at both
ends, where it did well (0.83 to 0.99), so it is the prediction in between and whenever the interval of the similarity
contains a threshold.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack import task as find_task
from bonuslab.experiments.value_functions.sampling import FEATURES
from bonuslab.experiments.value_functions.similarity import Similarity
from bonuslab.platform.cli.tasks import short_name
from bonuslab.platform.report.paper_numbers import RESULTS, count_feature

Scope = Literal["global", "episodic", "combined"]
SCOPES: Final[tuple[Scope, ...]] = ("global", "episodic", "combined")
GLOBAL_FROM: Final = (0.951 + 0.465) / 2
EPISODIC_BELOW: Final = (0.465 + 0.358) / 2
RATES: Final = ("win_rate", "evaluation/win_rate", "episode_return", "evaluation/episode_return")
"""Columns with a trial's result; the first one present is used."""
TRIALS_OF_A_GRID: Final = Path("report", "tables", "trials.csv")
TOLERANCE: Final = 0.1
"""Smaller differences in win rate are ignored."""
_ROUNDING: Final = 1e-9


def predict(similarity: Similarity) -> Scope:
    """The scope predicted to work best."""
    if similarity.low >= GLOBAL_FROM:
        return "global"
    return "episodic" if similarity.high < EPISODIC_BELOW else "combined"


@dataclass(frozen=True)
class Outcome:
    """The result of one kind of bonus in one setting."""

    task: str
    contexts: int | None
    feature: str
    """The counted feature; empty without a bonus, which applies to every feature."""
    scope: str
    win_rate: float


@dataclass(frozen=True)
class Comparison:
    """Prediction and outcome in one setting."""

    task: str
    contexts: int | None
    feature: str
    similarity: Similarity
    predicted: Scope
    win_rates: Mapping[str, float]
    """Means over trials of each trained scope; `none` is training without a bonus."""
    best: str
    """The scope with the highest win rate."""
    agrees: bool | None
    """Whether the predicted scope came within `TOLERANCE` of the best; None if it was not trained or all tie."""


SimilarityOf = Callable[[str, str, int | None], Similarity]
"""(task, feature, contexts) -> similarity."""


def prediction_against_outcome(outcomes: Iterable[Outcome], similarity_of: SimilarityOf) -> list[Comparison]:
    """One row per setting, in order of first appearance."""
    trained: dict[tuple[str, int | None, str], dict[str, list[float]]] = {}
    without_bonus: dict[tuple[str, int | None], list[float]] = {}
    for outcome in outcomes:
        if outcome.scope == "none":
            without_bonus.setdefault((outcome.task, outcome.contexts), []).append(outcome.win_rate)
        else:
            setting = (outcome.task, outcome.contexts, outcome.feature)
            trained.setdefault(setting, {}).setdefault(outcome.scope, []).append(outcome.win_rate)
    rows = []
    for (task, contexts, feature), trials in trained.items():
        rates = {scope: fmean(found) for scope, found in trials.items()}
        similarity = similarity_of(task, feature, contexts)
        predicted = predict(similarity)
        best, agrees = max(rates, key=lambda scope: rates[scope]), _agrees(predicted, rates)
        if (task, contexts) in without_bonus:
            rates["none"] = fmean(without_bonus[task, contexts])
        rows.append(Comparison(task, contexts, feature, similarity, predicted, rates, best, agrees))
    return rows


def _agrees(predicted: Scope, rates: Mapping[str, float]) -> bool | None:
    """From the bonuses alone, without `none`: if all do equally well, nothing is decided between them."""
    if predicted not in rates or _alike(min(rates.values()), max(rates.values())):
        return None
    return _alike(rates[predicted], max(rates.values()))


def _alike(low: float, high: float) -> bool:
    return high - low < TOLERANCE - _ROUNDING


def paper_outcomes() -> list[Outcome]:
    """The paper's tables of count bonuses, which report mean returns (at most 1, for a win)."""
    return [
        Outcome(result.task, parse_count(result.contexts), result.feature, result.scope, result.mean)
        for result in RESULTS
    ]


def read_outcomes(path: Path) -> list[Outcome]:
    """The trials of a count study, from a CSV or from the folder of a grid that has a report.

    The CSV has one row per trial and the columns task, contexts, bonus (or scope and feature), and one of `RATES`.
    """
    file = path / TRIALS_OF_A_GRID if path.is_dir() else path
    try:
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"results {file} cannot be read: {error}") from error
    columns = set(rows[0]) if rows else set()
    missing = [
        " or ".join(names) for names in (("task",), ("contexts",), ("bonus", "scope"), RATES) if not columns & {*names}
    ]
    if missing:
        raise InvalidInput(f"results {file} cannot be used: it has no column {', '.join(missing)}")
    rate = next(name for name in RATES if name in columns)
    try:
        found = [_outcome(row, float(row[rate])) for row in rows if row[rate]]
    except ValueError as error:
        raise InvalidInput(f"results {file} cannot be used: {error}") from error
    return [outcome for outcome in found if outcome is not None]


def _outcome(row: Mapping[str, str], rate: float) -> Outcome | None:
    """One trial; None for bonuses without a prediction: those that count nothing or adapt their scope."""
    from bonuslab.algorithms.bonuses import parse  # loads PyTorch, which `bonuslab --help` does not need

    bonus = parse(row.get("bonus") or "none")
    scope = row.get("scope") or str(bonus.scope)
    feature = "" if scope == "none" else row.get("feature") or count_feature(str(bonus))
    if feature is None or str(bonus).startswith("adaptive("):
        return None
    if feature not in ("", *FEATURES):
        raise unknown("feature", feature, FEATURES)
    return Outcome(short_name(find_task(row["task"])), parse_count(row["contexts"]), feature, scope, rate)
