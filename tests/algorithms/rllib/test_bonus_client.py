"""The shared bonus: the actor computes what the local object computes, even if it is killed."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import ray

from bonuslab.algorithms.acting.rollout import EPISODES_PER_INCARNATION
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.algorithms.rllib import bonus_client
from bonuslab.algorithms.rllib.bonus_client import LocalBonus, RemoteBonus

BONUS = "count.global(position) + count.episodic(position, form=root)"
SPACES = (OBSERVATION_SPACE, gym.spaces.Discrete(NUM_ACTIONS))
STEPS = 5
PLUGIN = """
import torch
from bonuslab.algorithms.bonuses import Bonus, register

@register("{name}")
class Spoilt(Bonus):
    at: int = 2
    scope = "global"
    equation = "1"
    when = "in tests"

    def compute(self, fragment):
        if fragment.sequence[0] < self.at:
            return torch.ones(fragment.action.shape)
        {then}
"""


def fragments(number: int, seed: int = 3) -> list[Fragment]:
    return Trajectory(num_envs=3, num_steps=STEPS * number, seed=seed, mean_episode=9).cut([STEPS] * number)


def counts(state: Any) -> int:
    """Total visits in all count tables of a bonus's state."""
    if isinstance(state, dict):
        if state.keys() == {"keys", "counts"}:
            return int(state["counts"].sum())
        return sum(counts(value) for key, value in state.items() if key != "envs")
    return 0


@pytest.fixture
def expected(make_config):
    """Results of one uninterrupted process on the same fragments."""

    def process(given: list[Fragment], column: str = "bonus", of: str = BONUS) -> tuple[list[np.ndarray], dict]:
        local = LocalBonus(make_config(of).run_serially(), *SPACES)
        for fragment in given:
            local.submit([replace(fragment, extra={})])  # columns are added in place
        return [item.parts[-1].columns[column] for item in local.take(0)], local.get_state()

    return process


@pytest.fixture(scope="module")
def shared_remote(cluster, make_config):
    client = RemoteBonus(make_config(BONUS), *SPACES)
    yield client
    client.close()


@pytest.fixture
def remote(shared_remote, expected, monkeypatch):
    """A client without counts; it keeps its actor from test to test, since each start takes seconds."""
    monkeypatch.setattr(bonus_client, "SNAPSHOT_INTERVAL", 4)
    shared_remote.set_state(expected([])[1])
    return shared_remote


def kill(client: RemoteBonus) -> None:
    os.kill(ray.get(client._actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)


def take_all(client: RemoteBonus) -> list[np.ndarray]:
    taken = []
    while client.depth:
        taken += [ray.get(item.parts[-1]).columns["bonus"] for item in client.take(1)]
    return taken


def is_lost(reference: ray.ObjectRef) -> bool:
    try:
        ray.get(reference, timeout=1)
    except ray.exceptions.ObjectLostError:
        return True
    except ray.exceptions.GetTimeoutError:
        pass
    return False


@pytest.mark.cluster
def test_nothing_is_lost_or_counted_twice_when_the_actor_is_killed(remote, expected):
    given = fragments(19)
    references = [ray.put(fragment) for fragment in given]
    taken = []
    for number, reference in enumerate(references):
        remote.submit([reference])
        if number < 10:
            taken += take_all(remote)
        if number == 9:  # a snapshot has the first eight
            assert [item.number for item in remote._journal] == [8, 9]
            kill(remote)
        if number == 12:
            taken += take_all(remote)
        if number == 15:
            kill(remote)  # with three batches in flight
    taken += take_all(remote)
    bonuses, state = expected(given)
    assert remote.restarts == 2
    assert len(taken) == len(bonuses) == 19
    for ours, theirs in zip(taken, bonuses, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert counts(remote.get_state()) == counts(state) == 3 * STEPS * 19 + sum(int(f.first[:-1].sum()) for f in given)
    assert len(remote._journal) < 8

    # Killed once more while idle: its state is still available and loads into another client.
    kill(remote)
    assert counts(remote.get_state()) == counts(state)
    remote.set_state(expected(given[:4])[1])
    remote.submit([references[4]])
    np.testing.assert_array_equal(take_all(remote)[0], bonuses[4])


@pytest.mark.cluster
def test_a_fragment_that_died_with_its_runner_is_skipped(remote, expected, wait_until):
    """Its envs start over: nothing before the gap is remembered."""

    @ray.remote(num_cpus=0)
    class Owner:
        def put(self, fragment: Fragment) -> list[ray.ObjectRef]:
            return [ray.put(fragment)]

    given = fragments(3)
    owner = Owner.remote()
    lost = ray.get(owner.put.remote(given[1]))
    ray.kill(owner)
    wait_until(lambda: is_lost(lost[0]))
    for references in ([ray.put(given[0])], lost, [ray.put(given[2])]):
        remote.submit(references)
    taken = take_all(remote)
    assert remote.lost_batches == 1
    bonuses, state = expected([given[0], given[2]])
    np.testing.assert_array_equal(taken[1], bonuses[1])
    assert counts(remote.get_state()) == counts(state)
    assert not np.array_equal(bonuses[1], expected(given)[0][2])  # the gap matters


@pytest.mark.cluster
def test_an_actor_that_cannot_start_is_an_error(remote, expected):
    """The last test that uses the shared client."""
    remote._snapshot = ray.put(expected(fragments(1), of="count.global(position)")[1])
    kill(remote)
    remote.submit([ray.put(fragments(1)[0])])
    with pytest.raises(RuntimeError, match=r"cannot be restarted(.|\n)*the state was saved with bonus"):
        take_all(remote)


SPOILT = {
    "raises": ("raise LookupError('no such star: Sirius')", LookupError, "^no such star: Sirius$"),
    "nan": (
        "return torch.full(fragment.action.shape, float('nan'))",
        NonFinite,
        "^bonus 'spoilt.here.nan' is not finite: 15 of 15",
    ),
    "huge": (
        "return torch.full(fragment.action.shape, 1e39, dtype=torch.float64)",
        NonFinite,
        "^bonus_raw is not finite: 15 of 15",
    ),
}


@pytest.mark.parametrize(
    ("place", "how"),
    [("here", "raises"), ("here", "nan"), ("here", "huge"), pytest.param("actor", "huge", marks=pytest.mark.cluster)],
)
def test_the_error_of_a_failing_bonus_is_raised(request, make_config, fresh_registries, tmp_path, place, how):
    then, error, message = SPOILT[how]
    if place == "actor":
        request.getfixturevalue("cluster")
    file = tmp_path / "spoilt.py"
    file.write_text(PLUGIN.format(name=f"spoilt.{place}.{how}", then=then))
    load_plugin(file)
    config = make_config(f"spoilt.{place}.{how}")
    client = LocalBonus(config.run_serially(), *SPACES) if place == "here" else RemoteBonus(config, *SPACES)

    def process() -> None:
        for fragment in fragments(4):
            client.submit([fragment if place == "here" else ray.put(fragment)])
            while client.depth:
                client.take(1)

    with pytest.raises(error, match=message):
        process()
    client.close()


def test_a_restarted_runner_does_not_continue_old_episodes(expected):
    """Even if its first fragment, which marks the new episodes, was lost."""
    old, new = Trajectory(num_envs=3, num_steps=20, seed=5, mean_episode=10**9).cut([10, 10])
    alone = expected([new], "bonus_episodic")[0][0]
    mistaken = expected([old, new], "bonus_episodic")[0][1]
    new.episode = new.episode + 7 * EPISODES_PER_INCARNATION
    after = expected([old, new], "bonus_episodic")[0][1]
    np.testing.assert_array_equal(after, alone)
    assert not np.array_equal(mistaken, alone)  # with the same episode numbers it would leak
