"""The answer of a grid in sentences: the leading bonus against the best of every other scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bonuslab.platform.report.statistics import FEWEST_RUNS, Estimate
from bonuslab.platform.report.tables import number

Results = Mapping[str, Mapping[str, Estimate]]
"""By task and bonus."""


@dataclass(frozen=True)
class Verdict:
    """One comparison. `left` and `right` are bonuses; the sentence is `left text right rest`."""

    left: str
    text: str
    right: str
    rest: str
    is_sure: bool
    """Whether no interval of the two overlaps."""


def verdicts(results: Results, scopes: Mapping[str, str], lower_is_better: bool) -> list[Verdict]:
    """Sentences on the bonuses in `scopes`, which all have a value on every task of `results`."""
    ranked = sorted(scopes, key=lambda name: _mean(results, name), reverse=not lower_is_better)
    if not results or len(ranked) < 2:
        return []
    leader, others = ranked[0], ranked[1:]
    rivals = [others[0], *({scopes[name]: name for name in reversed(others)}.values())]
    return [_verdict(results, leader, name, lower_is_better) for name in others if name in rivals]


def _mean(results: Results, name: str) -> float:
    return sum(task[name].value for task in results.values()) / len(results)


def _verdict(results: Results, left: str, right: str, lower_is_better: bool) -> Verdict:
    sign = -1 if lower_is_better else 1
    pairs = [(task[left], task[right]) for task in results.values()]
    better = [(one, other) for one, other in pairs if sign * one.value > sign * other.value]
    means = f"{number(_mean(results, left))} against {number(_mean(results, right))}"
    if not better:
        return Verdict(left, "and", right, f"do not differ ({means})", False)
    where = f"on {len(better)} of {len(pairs)} tasks" if len(pairs) > 1 else ""
    evidence, is_sure = _evidence(better, len(better) == len(pairs))
    verb = "beats" if is_sure else "is ahead of"
    over = ", mean over tasks" if len(pairs) > 1 else ""
    return Verdict(left, verb, right, f"{where} ({means}{over}); {evidence}".lstrip(), is_sure)


def _evidence(pairs: Sequence[tuple[Estimate, Estimate]], everywhere: bool) -> tuple[str, bool]:
    """What the intervals say, and whether they settle it."""
    known = [(one, other) for one, other in pairs if one.low is not None and other.low is not None]
    if len(known) < len(pairs):
        return f"no intervals with fewer than {FEWEST_RUNS} runs", False
    apart = sum(not one.overlaps(other) for one, other in known)
    if apart == len(pairs):
        return "intervals do not overlap" + ("" if everywhere else " there"), everywhere
    return "intervals overlap" if not apart else f"intervals overlap on {len(pairs) - apart} of them", False
