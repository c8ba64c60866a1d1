"""The scripted explorer sees far more than the random one."""

from __future__ import annotations

import numpy as np

from bonuslab.envs.habitat import HabitatEnv
from bonuslab.envs.habitat.explorer import frontier_policy, random_policy, walk


def test_frontier_explorer_beats_random() -> None:
    env = HabitatEnv(contexts=2, held_out=True, size=16, max_steps=300)
    found = {}
    for name, policy in (("random", random_policy(0)), ("frontier", frontier_policy())):
        walks = [walk(env, policy, context) for context in env.contexts.ids or ()]
        assert all(len(each.coverage) == 301 == len(each.path) for each in walks)
        assert all(np.all(np.diff(each.coverage) >= 0) for each in walks)
        found[name] = float(np.mean([each.coverage[-1] for each in walks]))
    assert found["frontier"] > 0.5
    assert found["frontier"] > 1.5 * found["random"]


def test_random_policy_has_short_episodes_if_stop_ends_them() -> None:
    env = HabitatEnv(contexts=1, size=16, stop_ends_episode=True)
    lengths = [len(walk(env, random_policy(seed)).path) - 1 for seed in range(40)]
    assert 2 < np.mean(lengths) < 7


def test_walks_are_deterministic() -> None:
    env = HabitatEnv(size=16, max_steps=40)
    one, other = (walk(env, frontier_policy(), context=5_000_003) for _ in range(2))
    assert one == other
