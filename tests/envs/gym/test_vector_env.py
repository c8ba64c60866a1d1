"""N environments give what each gives alone; contexts, endings and resuming."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym import GymVectorEnv
from bonuslab.envs.gym.stateless_cartpole import StatelessCartPole

from .sample_envs import EverythingEnv, LateLuckEnv, UnseededEnv, VectorEnv

NUM_ENVS = 3
SOME = ["CartPole-v1", "MiniGrid-DoorKey-5x5-v0", EverythingEnv, StatelessCartPole]


def make(name: Any, num_envs: int = NUM_ENVS, **settings: Any) -> GymVectorEnv:
    envs = catalogue.make_vector_env(name, num_envs, **settings)
    assert isinstance(envs, GymVectorEnv)
    return envs


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key])


def random_actions(envs: GymVectorEnv, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(envs.action_space.n, size=(steps, envs.num_envs))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("contexts", [2, "inf"])
def test_envs_give_what_an_environment_gives_alone(name: Any, contexts: int | str) -> None:
    settings = {"contexts": contexts, "seed": 3, "max_episode_steps": 7, "stagger": False}
    envs = make(name, stream=5, **settings)
    family = catalogue.find(name)
    alone = [family.make_env(name, stream=(5, index), **settings) for index in range(NUM_ENVS)]
    batch = envs.reset()
    for index, env in enumerate(alone):
        assert_equal({key: array[index] for key, array in batch.items()}, env.reset()[0])
    returns, lengths, finished = np.zeros(NUM_ENVS), np.zeros(NUM_ENVS, int), 0
    for actions in random_actions(envs, 40):
        step = envs.step(actions)
        ended = {episode.env_index: episode for episode in step.finished}
        for index, env in enumerate(alone):
            observation, reward, terminated, truncated, info = env.step(int(actions[index]))
            returns[index], lengths[index] = returns[index] + reward, lengths[index] + 1
            assert step.reward[index] == np.float32(reward)
            assert (step.terminated[index], step.truncated[index]) == (terminated, truncated)
            assert (index in ended) == (terminated or truncated)
            if index in ended:
                episode = ended[index]
                assert_equal(episode.final_observation, observation)
                assert (episode.context, episode.end_status) == (info["context"], info["end_status"])
                assert (episode.length, episode.total_reward) == (lengths[index], returns[index])
                returns[index], lengths[index], finished = 0, 0, finished + 1
                observation, info = env.reset()
            assert envs.contexts[index] == info["context"]
            assert_equal({key: array[index] for key, array in step.observations.items()}, observation)
    assert finished >= NUM_ENVS
    for env in (*alone, envs):
        env.close()


def test_it_is_gymnasiums_own_cartpole() -> None:
    envs, plain = make("CartPole-v1", 1, contexts=1), gym.make("CartPole-v1")
    shown = envs.reset()
    expected, _ = plain.reset(seed=int(envs.contexts[0]))
    for actions in random_actions(envs, 100):
        np.testing.assert_array_equal(shown["obs"][0], expected)
        shown = envs.step(actions).observations
        expected, _, terminated, truncated, _ = plain.step(int(actions[0]))
        if terminated or truncated:
            expected, _ = plain.reset(seed=int(envs.contexts[0]))


def test_the_callers_arrays_are_written_and_final_observations_are_kept() -> None:
    envs = make("CartPole-v1")
    rows = np.full((40, NUM_ENVS, 4), 9, np.float32)
    kept = []
    envs.reset(out={"obs": rows[0]})
    for t, actions in enumerate(random_actions(envs, 39)):
        step = envs.step(actions, out={"obs": rows[t + 1]})
        assert step.observations["obs"] is rows[t + 1] or np.shares_memory(step.observations["obs"], rows)
        kept += [(episode, episode.final_observation["obs"].copy(), t) for episode in step.finished]
    assert len(kept) >= NUM_ENVS
    assert (np.abs(rows) < 9).all()
    for episode, final, t in kept:
        np.testing.assert_array_equal(episode.final_observation["obs"], final)
        assert abs(final[2]) > 0.2095 or abs(final[0]) > 2.4  # where CartPole ends, not where the next one begins
        assert np.abs(rows[t + 1, episode.env_index]).max() <= 0.05


def test_stateless_cartpole_is_rllibs() -> None:
    from ray.rllib.examples.envs.classes.stateless_cartpole import StatelessCartPole as RLlibs

    ours, theirs = StatelessCartPole(), RLlibs()
    assert ours.observation_space == theirs.observation_space
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for action in (0, 1, 1, 1, 0):
        (one, *rest), (other, *others) = ours.step(action), theirs.step(action)
        np.testing.assert_array_equal(one, other)
        assert rest == others
    envs = make("StatelessCartPole", 1)
    assert envs._episodes[0].env.spec.max_episode_steps == 500


MINIGRID = ["MiniGrid-MultiRoom-N6-v0", "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-ObstructedMaze-2Dlhb-v1"]


@pytest.mark.parametrize("name", MINIGRID)
def test_minigrids_benchmarks_tell_where_the_agent_is(name: str) -> None:
    envs = make(name, seed=3)
    shown, places = envs.reset(), set()
    assert sorted(shown) == ["agent_position", "direction", "image", "mission"]
    for actions in random_actions(envs, 60):
        shown = envs.step(actions).observations
        for index, episode in enumerate(envs._episodes):
            assert tuple(shown["agent_position"][index]) == tuple(episode.env.unwrapped.agent_pos)
            places.add((index, *shown["agent_position"][index]))
    assert len(places) > NUM_ENVS, "the agents have moved"


@pytest.mark.parametrize("name", ["MiniGrid-MultiRoom-N2-S4-v0", "CartPole-v1"])
def test_contexts_are_seeds_and_held_out_ones_are_others(name: str) -> None:
    def meet(held_out: bool, **settings: Any) -> set[int]:
        envs = make(name, 4, held_out=held_out, max_episode_steps=2, **settings)
        seen = set()
        for _ in range(12):
            envs.reset()
            seen |= set(envs.contexts.tolist())
        envs.close()
        return seen

    three = meet(False, contexts=3, seed=1)
    assert len(three) == 3
    assert meet(False, contexts=3, seed=1, stream=7) == three
    assert meet(False, contexts=3, seed=2).isdisjoint(three)
    assert len(meet(False, contexts=1, seed=1) & three) == 1
    trained, held_out = meet(False), meet(True)
    assert len(trained) == len(held_out) == 48
    assert max(trained) < 2**30 <= min(held_out)
    assert max(held_out) < 2**31


def test_a_context_decides_all_that_follows() -> None:
    """Randomness in the steps too, whatever was played before."""
    envs = make(EverythingEnv, 2, contexts=1)
    one = envs.reset()
    actions = np.array([[1, 1], [4, 4], [0, 0]])
    seen = []
    for _ in range(2):
        episode = [{key: array.copy() for key, array in one.items()}]
        episode += [{key: array.copy() for key, array in envs.step(each).observations.items()} for each in actions]
        seen.append(episode)
        one = envs.reset()
    for before, after in zip(*seen, strict=True):
        assert_equal(before, after)
        assert_equal({key: array[0] for key, array in before.items()}, {key: array[1] for key, array in before.items()})
    assert not np.array_equal(seen[0][0]["vector"], seen[0][1]["vector"])


@pytest.mark.parametrize("name", SOME)
def test_restored_envs_resume_exactly(name: Any) -> None:
    original, restored = make(name, contexts=4, seed=8), make(name, contexts=4, seed=8)
    original.reset()
    actions = random_actions(original, 50, seed=2)
    for each in actions[:15]:
        now = original.step(each)
    state = pickle.loads(pickle.dumps(original.get_state()))
    assert_equal(restored.set_state(state), now.observations)
    np.testing.assert_array_equal(restored.contexts, original.contexts)
    for each in actions[15:]:
        one, other = original.step(each), restored.step(each)
        assert_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.reward, other.reward)
        assert [episode.total_reward for episode in one.finished] == [
            episode.total_reward for episode in other.finished
        ]
    assert restored.resumes_exactly
    assert not restored.restarted.any()
    with pytest.raises(InvalidInput, match="does not fit"):
        make("CartPole-v1", 1).set_state(state)


def test_an_environment_that_ignores_seeds_warns_and_begins_anew() -> None:
    with pytest.warns(UserWarning, match=r"UnseededEnv ignores its seed: .* begins its episodes anew") as caught:
        original = make(UnseededEnv, max_episode_steps=9)
    assert len(caught) == 1
    assert not original.resumes_exactly
    original.reset()
    for each in random_actions(original, 4):
        original.step(each)
    restored = make(UnseededEnv, max_episode_steps=9)
    restored.set_state(original.get_state())
    assert restored.restarted.all()
    assert restored.step([0] * NUM_ENVS).truncated.tolist() == [False] * NUM_ENVS
    for _ in range(8):
        last = restored.step([0] * NUM_ENVS)
    assert last.truncated.all(), "nine steps after a beginning"


def test_a_replay_that_differs_is_noticed() -> None:
    original, restored = make(LateLuckEnv), make(LateLuckEnv)
    assert original.resumes_exactly
    original.reset()
    early = original.get_state()
    for each in random_actions(original, 9):
        original.step(each)
    restored.set_state(early)
    assert restored.resumes_exactly
    shown = restored.set_state(original.get_state())
    assert not restored.resumes_exactly
    assert restored.restarted.all()
    np.testing.assert_array_equal(shown["obs"], 0)


@pytest.mark.parametrize(
    ("terminated", "truncated", "info", "won", "expected"),
    [
        (True, False, {}, "auto", ("terminated", True, False)),
        (True, False, {"is_success": True}, "auto", ("won", True, False)),
        (True, False, {"success": np.True_}, "success", ("won", True, False)),
        (True, False, {"is_success": False}, "auto", ("terminated", True, False)),
        (True, False, {"is_success": True}, "never", ("terminated", True, False)),
        (True, False, {}, "reward", ("won", True, False)),
        (False, True, {}, "reward", ("step_limit", False, True)),
        (False, True, {"is_success": True}, "auto", ("won", False, True)),
        (True, True, {}, "auto", ("terminated", True, False)),
    ],
)
def test_endings(terminated: bool, truncated: bool, info: Any, won: str, expected: tuple[str, bool, bool]) -> None:
    class EndingEnv(VectorEnv):
        def step(self, action: Any) -> Any:
            return self.observation(), 0.5, terminated, truncated, info

    envs = make(EndingEnv, 1, won=won)
    envs.reset()
    step = envs.step([0])
    assert (step.finished[0].end_status, step.terminated[0], step.truncated[0]) == expected


def test_minigrid_is_won_by_its_reward() -> None:
    envs = make("MiniGrid-Empty-5x5-v0", 1)
    right, forward = 1, 2
    envs.reset()
    for action in (forward, forward, right, forward, forward):
        step = envs.step([action])
    assert step.finished[0].end_status == "won"
    assert step.finished[0].total_reward > 0.9
    np.testing.assert_array_equal(step.finished[0].final_observation["agent_position"], [3, 3])
    np.testing.assert_array_equal(step.observations["agent_position"], [[1, 1]])


@pytest.mark.parametrize("bad", [[0, 1], [0, 1, 2], [0, -1, 1], [0.5, 1.0, 0.0]])
def test_bad_actions_are_refused_before_any_env_steps(bad: Any) -> None:
    envs = make("CartPole-v1")
    before = envs.reset()["obs"].copy()
    with pytest.raises(InvalidInput, match="actions"):
        envs.step(bad)
    np.testing.assert_array_equal(envs._observations["obs"], before)


def test_step_needs_reset_and_envs_are_counted() -> None:
    with pytest.raises(InvalidInput, match="before reset"):
        make("CartPole-v1").step([0] * NUM_ENVS)
    with pytest.raises(InvalidInput, match="num_envs 0"):
        make("CartPole-v1", 0)


def played(envs: Any, steps: range, ends: dict[int, list[tuple[int, str]]]) -> None:
    """Turn left, which never wins, and note when episodes end."""
    for step in steps:
        for ended in envs.step(np.zeros(4, int)).finished:
            ends[ended.env_index].append((step, ended.end_status))


def test_only_shortened_first_episodes_had_less_time() -> None:
    envs = make("MiniGrid-MultiRoom-N6-v0", 2, max_steps=4)
    envs.reset()
    found = [(ended.env_index, ended.had_less_time) for _ in range(8) for ended in envs.step(np.zeros(2, int)).finished]
    assert found == [(0, True), (1, False), (0, False), (1, False)]


def test_minigrids_first_episodes_are_staggered_and_resume() -> None:
    first: dict[int, list[tuple[int, str]]] = {n: [] for n in range(4)}
    envs = make("MiniGrid-MultiRoom-N6-v0", 4, max_steps=20)
    envs.reset()
    played(envs, range(1, 13), first)
    copy = make("MiniGrid-MultiRoom-N6-v0", 4, max_steps=20)
    copy.set_state(envs.get_state())
    assert first == {0: [(5, "shortened")], 1: [(10, "shortened")], 2: [], 3: []}
    for which in (envs, copy):
        ends: dict[int, list[tuple[int, str]]] = {n: [] for n in range(4)}
        played(which, range(13, 27), ends)
        assert ends == {0: [(25, "step_limit")], 1: [], 2: [(15, "shortened")], 3: [(20, "step_limit")]}


@pytest.mark.parametrize(
    ("name", "settings", "ends_together"),
    [
        ("MiniGrid-MultiRoom-N6-v0", {"max_steps": 8, "held_out": True}, True),
        ("MiniGrid-MultiRoom-N6-v0", {"max_steps": 8, "stagger": False}, True),
        ("Acrobot-v1", {"max_episode_steps": 8}, True),
        ("Acrobot-v1", {"max_episode_steps": 8, "stagger": True}, False),
    ],
)
def test_other_environments_are_staggered_on_request(name: str, settings: Any, ends_together: bool) -> None:
    ends: dict[int, list[tuple[int, str]]] = {n: [] for n in range(4)}
    envs = make(name, 4, **settings)
    envs.reset()
    played(envs, range(1, 9), ends)
    statuses = ["step_limit" if ends_together else "shortened"] * 3
    steps = [8, 8, 8] if ends_together else [2, 4, 6]
    assert [ends[n] for n in range(4)] == [[end] for end in zip(steps, statuses, strict=True)] + [[(8, "step_limit")]]
