"""The bonus of RLlib's episode chunks, against slow ground truth and against our own fragments."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ray import cloudpickle
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from bonuslab.algorithms import extensions
from bonuslab.algorithms.bonuses import IntrinsicModel, Setting, parse
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.extensions import kinds, shipping
from bonuslab.algorithms.rllib.stock import IntrinsicReward
from bonuslab.algorithms.rllib.stock_bonus import Batch, BonusOptions, ChunkBonus, SharedChunkBonus
from bonuslab.algorithms.rllib.stock_chunks import Chunk, ChunkReader
from bonuslab.algorithms.rllib.stock_fragments import EpisodePlaces, runs_of
from bonuslab.envs.errors import InvalidInput

CELLS = 5
BOX = gym.spaces.Box(0, CELLS, (2,), np.float32)
RAW = {"normalise": "none", "updates": 0}
"""Neither σ nor networks change: a bonus depends on its own episode alone."""


def walk(name: str, length: int, seed: int, **changes: Any) -> SingleAgentEpisode:
    """A random walk on a small grid, with logits."""
    random = np.random.default_rng(seed)
    cells = random.integers(CELLS, size=(length + 1, 2)).astype(np.float32)
    arguments: dict[str, Any] = {
        "id_": name,
        "observation_space": BOX,
        "action_space": gym.spaces.Discrete(3),
        "observations": list(cells),
        "infos": [{} for _ in cells],
        "actions": list(random.integers(3, size=length)),
        "rewards": list(random.random(length)),
        "extra_model_outputs": {Columns.ACTION_DIST_INPUTS: list(random.normal(size=(length, 3)).astype(np.float32))},
        "len_lookback_buffer": 0,
        "terminated": True,
    }
    return SingleAgentEpisode(**arguments | changes).to_numpy()


def chunks_of(episodes: Sequence[SingleAgentEpisode], step_added: bool = False) -> list[Chunk]:
    if step_added:
        AddOneTsToEpisodesAndTruncate()(rl_module=None, batch={}, episodes=list(episodes), shared_data={})
    reader = ChunkReader(episodes[0])
    return [reader.read(episode, step_added) for episode in episodes]


def batch_of(episodes: Sequence[SingleAgentEpisode], step_added: bool = False, replayed: bool = False) -> Batch:
    return Batch(ChunkReader(episodes[0]).spaces, chunks_of(episodes, step_added), replayed)


def bonus_of(expression: str, **model: Any) -> ChunkBonus:
    return ChunkBonus(BonusOptions(expression, "auto", 0, "cpu", model))


def cut(episode: SingleAgentEpisode, *places: int) -> list[SingleAgentEpisode]:
    borders = [0, *places, len(episode)]
    return [episode[start:stop] for start, stop in pairwise(borders)]


def whole_fragment(episodes: Sequence[SingleAgentEpisode]) -> Fragment:
    """Whole episodes of equal length as one fragment, written down literally."""
    T, N = len(episodes[0]), len(episodes)
    observations = np.stack([episode.get_observations() for episode in episodes], 1)  # [T + 1, N, 2]
    ends = np.zeros((T, N), bool)
    ends[-1] = True
    logits = np.stack([episode.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS) for episode in episodes], 1)
    return Fragment(
        observations={"obs": observations},
        action=np.stack([episode.get_actions() for episode in episodes], 1),
        behaviour_logits=logits,
        reward=np.stack([episode.get_rewards() for episode in episodes], 1).astype(np.float32),
        first=np.array([[True] * N, *[[False] * N] * (T - 1), [True] * N]),
        terminated=ends,
        truncated=np.zeros((T, N), bool),
        episode=np.zeros((T + 1, N), np.int64),
        context=np.zeros((T + 1, N), np.int64),
        env_index=np.arange(N),
        sequence=np.zeros(N, np.int64),
        finals={"obs": observations[-1]},
        final_index=np.array([(T - 1, n) for n in range(N)]),
    )


@pytest.mark.parametrize("expression", ["e3b * rnd", "ride", "noveld(feature=observation)", "agac + icm"])
def test_equals_the_intrinsic_model_while_it_learns(expression: str) -> None:
    model = IntrinsicModel(parse(expression), Setting(gym.spaces.Dict({"obs": BOX}), 3, "auto"), coefficient=0.5)
    ours = bonus_of(expression, coefficient=0.5)
    for update in range(3):
        episodes = [walk(f"{update}-{n}", 16, 10 * update + n) for n in range(4)]  # [16, 4]: a single fragment
        expected = model.process(whole_fragment(episodes))
        found, metrics = ours.process(batch_of(episodes))
        np.testing.assert_allclose(np.stack(found, 1), expected.bonus, rtol=1e-6)
        assert metrics == pytest.approx(expected.metrics)


def test_counts_equal_a_dictionary() -> None:
    episodes = [walk(str(n), length, n) for n, length in enumerate([1, 7, 37, 64, 20])]
    episodic, _ = bonus_of("count.episodic(observation)", **RAW).process(batch_of(episodes, step_added=False))
    overall, _ = bonus_of("count.global(observation)", **RAW).process(batch_of(episodes))
    visits: Counter[tuple[float, ...]] = Counter()
    for episode, flags in zip(episodes, episodic, strict=True):
        cells = [tuple(row) for row in episode.get_observations().tolist()]
        assert flags.tolist() == [float(cell not in cells[:t]) for t, cell in enumerate(cells) if t]
        visits.update(cells)
    # In whatever order: each cell was given 1, 1/√2, … except where it was the first of an episode.
    given = Counter(round(float(1 / value**2)) for values in overall for value in values)
    possible = Counter(count for most in visits.values() for count in range(1, most + 1))
    assert not given - possible
    assert given.total() == possible.total() - len(episodes)


@pytest.mark.parametrize("expression", ["count.episodic(observation)", "e3b"])
@pytest.mark.parametrize("step_added", [False, True])
def test_cuts_leave_episodic_bonuses_unchanged(expression: str, step_added: bool) -> None:
    lengths = [37, 20, 6]
    (expected, _) = bonus_of(expression, **RAW).process(batch_of([walk(str(n), T, n) for n, T in enumerate(lengths)]))
    first, second, third = (walk(str(n), T, n) for n, T in enumerate(lengths))
    a, b, c, d = cut(first, 3, 4, 30)
    e, f = cut(second, 13)
    ours = bonus_of(expression, **RAW)
    batches = [[a, e], [c, b, third], [f, d]]  # two chunks of one episode in one batch, out of order
    (a_, e_), (c_, b_, third_), (f_, d_) = (ours.process(batch_of(part, step_added))[0] for part in batches)
    for whole, parts in zip(expected, ([a_, b_, c_, d_], [e_, f_], [third_]), strict=True):
        np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-6)


def test_lost_chunks_start_afresh_and_ended_episodes_leave_nothing() -> None:
    ours = bonus_of("count.episodic(observation)", **RAW)
    start, _, late = cut(walk("a", 60, 0), 20, 30)
    ours.process(batch_of([start]))
    after_gap, _ = ours.process(batch_of([late]))
    alone, _ = bonus_of("count.episodic(observation)", **RAW).process(batch_of([late]))
    np.testing.assert_array_equal(after_gap[0], alone[0])
    whole = walk("b", 16, 1)
    for name in ("b", "c"):  # the same walk as another episode, with the same env index
        found, _ = ours.process(batch_of([walk(name, 16, 1)]))
        fresh, _ = bonus_of("count.episodic(observation)", **RAW).process(batch_of([whole]))
        np.testing.assert_array_equal(found[0], fresh[0])


def test_env_indices_are_used_again() -> None:
    places = EpisodePlaces()
    for batch in range(300):
        places.begin_batch()
        truncated = cut(walk(f"truncated {batch}", 4, batch), 2)[0]  # looks like a cut: never continued
        runs = chunks_of([walk(f"ended {batch}", 3, batch), truncated])
        assert len({places.find(run).env_index for run in runs}) == 2
    assert len(places) == EpisodePlaces.IDLE_BATCHES + 1
    assert max(place.env_index for place in places._places.values()) < 2 * EpisodePlaces.IDLE_BATCHES


def test_runs_follow_the_order_of_episodes() -> None:
    a, b, c = cut(walk("x", 9, 0), 3, 6)
    gap = cut(walk("y", 9, 0), 3, 6)
    chunks = chunks_of([gap[2], c, a, b, gap[0]])
    assert list(runs_of(chunks)) == [[4], [0], [2, 3, 1]]


def test_several_learners_get_what_one_gets() -> None:
    episodes = [walk(str(n), length, n) for n, length in enumerate([37, 20, 16])]
    expected, metrics = bonus_of("e3b * rnd").process(batch_of(episodes))
    head, tail = cut(episodes[0], 17)  # RLlib cuts an episode to give every learner equally many steps
    shared = SharedChunkBonus(BonusOptions("e3b * rnd", "auto", 0, "cpu", {}), num_learners=2)

    async def both() -> Any:
        learners = (shared.process(0, batch_of([head, episodes[1]])), shared.process(1, batch_of([tail, episodes[2]])))
        return await asyncio.gather(*learners)

    ((head_, second), metrics_0), ((tail_, third), metrics_1) = asyncio.run(both())
    for found, whole in zip((np.concatenate([head_, tail_]), second, third), expected, strict=True):
        np.testing.assert_array_equal(found, whole)
    assert metrics == metrics_0 == metrics_1


def test_an_error_reaches_every_learner() -> None:
    shared = SharedChunkBonus(BonusOptions("count.global(position)", "auto", 0, "cpu", {}), num_learners=2)

    async def both() -> Any:
        learners = (shared.process(rank, batch_of([walk(str(rank), 4, rank)])) for rank in range(2))
        return await asyncio.gather(*learners, return_exceptions=True)

    first, second = asyncio.run(both())
    assert isinstance(first, InvalidInput)
    assert str(first) == str(second)


def test_state_gives_the_same_next_bonus() -> None:
    head, tail = cut(walk("a", 37, 0), 21)
    ours, other = bonus_of("e3b * rnd"), bonus_of("e3b * rnd")
    ours.process(batch_of([head, walk("b", 12, 1)]))
    state = ours.state_dict()
    other.load_state_dict(state)  # before its spaces are known
    assert other.state_dict() is state
    expected, _ = ours.process(batch_of([tail]))
    np.testing.assert_array_equal(other.process(batch_of([tail]))[0][0], expected[0])
    ours.load_state_dict(state)
    np.testing.assert_array_equal(ours.process(batch_of([tail]))[0][0], expected[0])


def test_replayed_transitions_are_no_trajectory() -> None:
    steps = [walk("a", 8, 0)[t : t + 1] for t in (3, 4, 4, 0)]
    ours = bonus_of("count.global(observation)", **RAW)
    found, _ = ours.process(batch_of(steps, replayed=True))
    assert len(ours._places) == 0
    assert [len(values) for values in found] == [1, 1, 1, 1]
    assert found[2][0] < found[1][0] == 1.0  # the second sample of one transition


def test_replayed_episodes_refuse_an_episodic_bonus() -> None:
    replayed = walk("a", 1, 0, extra_model_outputs={"n_step": [1]})
    with pytest.raises(InvalidInput, match="use global terms only"):
        IntrinsicReward("e3b")(batch={}, episodes=[replayed])


def test_spaces_that_rllib_users_have() -> None:
    length = 6
    cells = gym.spaces.Dict({"cell": gym.spaces.Discrete(4, start=2), "seen": gym.spaces.MultiBinary(3)})
    several = gym.spaces.MultiDiscrete([2, 3], start=[1, 0])
    cells.seed(0)
    several.seed(0)
    episode = walk(
        "a",
        length,
        0,
        observation_space=cells,
        observations=[cells.sample() for _ in range(length + 1)],
        action_space=several,
        actions=[np.array([1 + t // 3, t % 3]) for t in range(length)],
        infos=[{"agent_position": (t, -t)} for t in range(length + 1)],
        extra_model_outputs={},
    )
    (chunk,) = chunks_of([episode])
    assert chunk.action.tolist() == list(range(length))
    assert chunk.observations["agent_position"][3].tolist() == [3, -3]
    assert chunk.observations["cell"].shape == (length + 1, 1)
    found, _ = bonus_of("e3b * count.episodic(agent_position)").process(batch_of([episode]))
    assert found[0].shape == (length,)
    with pytest.raises(InvalidInput, match="needs the policy's logits"):
        bonus_of("agac").process(batch_of([episode]))


def test_a_users_bonus_reaches_other_processes(fresh_registries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    @extensions.bonus("pay", scope="global")
    def pay(step: extensions.Step) -> Any:
        """r_t"""
        return step.reward

    config = IntrinsicReward.add_to(PPOConfig(), "pay", normalise="none", updates=0)
    pickled = cloudpickle.dumps(config._learner_connector)
    kinds.restore({})
    monkeypatch.setattr(shipping, "_captured", set())  # as in a process that has not defined it
    (piece,) = cloudpickle.loads(pickled)(None, None)
    episode = walk("a", 4, 0)
    (rewards,) = piece(batch={}, episodes=[episode])[Columns.REWARDS]["a",]
    np.testing.assert_allclose(rewards, 2 * episode.get_rewards(), rtol=1e-6)


def test_continuous_actions_need_a_bonus_without_actions() -> None:
    force = gym.spaces.Box(-1, 1, (1,), np.float32)
    episode = walk("a", 4, 0, action_space=force, actions=[np.zeros(1, np.float32)] * 4)
    found, _ = bonus_of("rnd").process(batch_of([episode]))
    assert np.isfinite(found[0]).all()
    with pytest.raises(InvalidInput, match=r"'e3b' learns from actions.*Discrete"):
        bonus_of("e3b").process(batch_of([episode]))
