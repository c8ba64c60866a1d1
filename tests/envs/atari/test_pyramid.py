"""The map of a level's rooms."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.envs.atari.pyramid import draw_pyramid, place
from bonuslab.envs.errors import InvalidInput


def test_rooms_are_laid_out_as_in_the_game() -> None:
    assert place(1) == (0, 4)
    assert place(2) == (0, 5)
    assert place(6) == (1, 5)  # below room 2, where its ladder leads
    assert [place(room) for room in (15, 23)] == [(3, 0), (3, 8)]
    assert len({place(room) for room in range(24)}) == 24
    with pytest.raises(InvalidInput, match="room 24"):
        place(24)


def test_visited_rooms_are_lit() -> None:
    none, some = draw_pyramid([], title="x"), draw_pyramid([1, 6], title="x")
    assert none.shape == some.shape
    changed = np.argwhere((none != some).any(-1))
    rows, columns = np.unique(changed[:, 0] // 94), np.unique(changed[:, 1] // 118)
    assert len(rows) <= 3
    assert set(columns) <= {4, 5, 6}
    fractions = draw_pyramid({1: 1.0, 6: 0.2, 7: 0.0}, title="x")
    assert not np.array_equal(fractions, some)
    assert np.array_equal(draw_pyramid({7: 0.0}, title="x"), none)
    picture = np.full((210, 160, 3), (10, 250, 10), np.uint8)
    shown = draw_pyramid([1], {1: picture, 3: picture}, title="x")
    assert 8000 < (shown == (10, 250, 10)).all(-1).sum() < 112 * 88  # room 3 was not visited
