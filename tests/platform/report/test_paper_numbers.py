"""The paper's tables as data, and which of our bonuses they match."""

from __future__ import annotations

import pytest

from bonuslab.platform.report.paper_numbers import RESULTS, count_feature, paper_result


def test_every_cell_occurs_once() -> None:
    places = [(one.task, one.contexts, one.feature, one.scope) for one in RESULTS]
    # 8 rows of global and episodic, 4 combined, 4 rows of global and episodic.
    assert len(places) == len(set(places)) == 8 * 2 + 4 + 4 * 2


@pytest.mark.parametrize(
    ("bonus", "feature"),
    [
        ("count.global", "position"),
        ("0.1 * count.global(feature=message)", "message"),
        ("count.episodic * count.global", "position"),
        ("count.episodic(feature=message) * count.global(feature=message)", "message"),
        ("count.episodic(feature=message) * count.global", None),
        ("count.episodic + count.global", None),
        ("count.episodic(form=root)", None),
        ("e3b * count.global", None),
        ("e3b", None),
        ("none", None),
    ],
)
def test_feature_that_a_bonus_counts(bonus: str, feature: str | None) -> None:
    assert count_feature(bonus) == feature


def test_result_is_found_by_task_contexts_and_bonus() -> None:
    found = paper_result("MultiRoom-N6-Lava", "3", "count.global", "global")
    assert found is not None
    assert (found.mean, found.std) == (0.59, 0.32)
    found = paper_result("KeyRoom-S10", "inf", "count.episodic(feature=message)", "episodic")
    assert found is not None
    assert (found.mean, found.std) == (0.89, 0.01)
    assert paper_result("MultiRoom-N6-Lava", "inf", "e3b", "episodic") is None
    assert paper_result("MultiRoom-N6-S5", "inf", "count.global", "global") is None  # not the paper's task
