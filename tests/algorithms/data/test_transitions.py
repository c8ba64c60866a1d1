"""Transitions with reset steps among them become fragments whose every step leads to its own next state."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.algorithms.data.transitions import Transitions, join, rectangle


def random_steps(T: int, N: int, share: float, seed: int) -> Transitions:
    """Every state has a number of its own; s_{t+1} is the next row's s_t unless an episode ended or was reset."""
    rng = np.random.default_rng(seed)
    valid = rng.random((T, N)) < share
    done = valid & (rng.random((T, N)) < 0.2)
    states = np.arange((T + 1) * N).reshape(T + 1, N)
    following = np.where(done, 1000 + states[1:], states[1:])
    return Transitions(
        observations={"id": states[:-1]},
        following={"id": following},
        extra={},
        action=states[:-1] % 5,
        first=np.concatenate([np.ones((1, N), bool), done[:-1]]),
        terminated=done,
        truncated=np.zeros_like(done),
        episode=np.cumsum(done, axis=0) - done,
        valid=valid,
    )


@pytest.mark.parametrize("share", [1.0, 0.9, 0.4])
@pytest.mark.parametrize("num_envs", [1, 4])
def test_no_transition_is_lost_or_led_astray(share: float, num_envs: int) -> None:
    seen, wanted, left = [], [], []
    for seed in range(20):
        steps = random_steps(12, num_envs, share, seed).map(lambda array: array)
        steps.observations["id"][...] += 10_000 * seed
        steps.following["id"][...] += 10_000 * seed
        wanted += list(zip(steps.observations["id"][steps.valid], steps.following["id"][steps.valid], strict=True))
        chosen, linked, rest = rectangle(join([*left, steps]))
        left = [] if rest is None else [rest]
        assert sum(part.valid.sum() for part in left) < num_envs
        if share == 1:
            assert rest is None
            np.testing.assert_array_equal(chosen.action, steps.action)
        fragment = chosen.fragment(np.arange(num_envs), np.zeros(num_envs, np.int64), linked=linked)
        after = fragment.states()["id"][fragment.next_state_index()]
        np.testing.assert_array_equal(after, chosen.following["id"])
        seen += list(zip(fragment.observations["id"][:-1].ravel(), after.ravel(), strict=True))
        if share == 1:
            assert len(fragment.final_index) == chosen.done.sum()
    for part in left:
        seen += list(zip(part.observations["id"][part.valid], part.following["id"][part.valid], strict=True))
    assert sorted(seen) == sorted(wanted)
