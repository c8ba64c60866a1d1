"""Montezuma's bonuses: whitened last frames, RND with separate networks, E3B with a fixed random encoder."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import PRESETS, IntrinsicModel, Setting, parse
from bonuslab.algorithms.bonuses.features.state_features import feature_of, fragment_keys
from bonuslab.algorithms.bonuses.models.frame_distillation import FrameDistillation, frame_distillation
from bonuslab.algorithms.bonuses.models.frame_encoder import frame_encoder
from bonuslab.algorithms.bonuses.models.pixel_moments import PixelMoments
from bonuslab.algorithms.bonuses.models.visited import RandomSubset
from bonuslab.algorithms.bonuses.models.whitened_frames import whitened_frames
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import OBSERVATION_SPACE, next_state_at
from bonuslab.algorithms.learning.collectives import Collectives
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.spaces import observation_space
from bonuslab.envs.errors import InvalidInput

T, N = 5, 2
ON_MONTEZUMA = [name for name in PRESETS if name.endswith("_montezuma")]


def montezuma() -> gym.spaces.Dict:
    return observation_space(find_game("MontezumaRevenge"))


def setting(seed: int = 0) -> Setting:
    return Setting(montezuma(), 18, network="atari", seed=seed)


def fragments(number: int, seed: int = 0) -> list[Fragment]:
    """Synthetic play of two envs; in each fragment an episode of one env ends."""
    random = np.random.default_rng(seed)

    def look(*lead: int) -> dict[str, np.ndarray]:
        frames = random.integers(0, 60, (*lead, 4, 84, 84), dtype=np.uint8)
        frames[..., 40:, :] = 77  # most of a room never changes
        return {
            "frames": frames,
            "room": random.integers(0, 3, (*lead, 1), dtype=np.uint8),
            "position": random.integers(0, 4, (*lead, 2), dtype=np.uint8),
        }

    rows = look(number * T + 1, N)
    ends = np.zeros((number * T, N), bool)
    ends[2::T, 0] = True
    first = np.concatenate([np.ones((1, N), bool), ends])
    made = []
    for index in range(number):
        begin, end = index * T, (index + 1) * T
        made.append(
            Fragment(
                observations={key: part[begin : end + 1] for key, part in rows.items()},
                action=random.integers(0, 18, (T, N)),
                behaviour_logits=np.zeros((T, N, 18), np.float32),
                reward=np.zeros((T, N), np.float32),
                first=first[begin : end + 1],
                terminated=ends[begin:end],
                truncated=np.zeros((T, N), bool),
                episode=np.cumsum(first, 0)[begin : end + 1],
                context=np.zeros((T + 1, N), np.int64),
                env_index=np.arange(N),
                sequence=np.full(N, index),
                finals=look(1),
                final_index=np.array([[2, 0]]),
            )
        )
    return made


def visited(fragment: Fragment) -> np.ndarray:
    """[visits, 84, 84]: the last frame of each episode's first state and of every true next state."""
    starts = [fragment.observations["frames"][t, n, -1] for t in range(T) for n in range(N) if fragment.first[t, n]]
    after = [next_state_at(fragment, t, n)["frames"][-1] for t in range(T) for n in range(N)]
    return np.stack([*starts, *after])


def literal_moments(batches: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation by pairwise merging of batches, from a prior of 1e-4 frames with mean 0 and variance 1."""
    count, mean, variance = 1e-4, np.zeros((84, 84)), np.ones((84, 84))
    for batch in batches:
        new_mean, new_variance, new = batch.mean(0), batch.var(0), len(batch)
        delta, total = new_mean - mean, count + new
        squares = variance * count + new_variance * new + delta**2 * count * new / total
        mean, variance, count = mean + delta * new / total, squares / total, total
    return mean, np.sqrt(variance)


def whiten(frame: np.ndarray, moments: tuple[np.ndarray, np.ndarray]) -> torch.Tensor:
    white = np.clip((frame - moments[0]) / moments[1], -5, 5)
    return torch.from_numpy(white).float()[None, None]


def test_moments_equal_merged_ones_in_any_order() -> None:
    batches = [visited(fragment) for fragment in fragments(3)]
    one, other = PixelMoments(84, 84), PixelMoments(84, 84)
    for batch in batches:
        one.merge(PixelMoments.sums(torch.from_numpy(batch)))
    other.merge(sum(PixelMoments.sums(torch.from_numpy(batch)) for batch in reversed(batches)))  # type: ignore[arg-type]
    mean, deviation = literal_moments(batches)
    np.testing.assert_allclose(one.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(one.deviation, deviation, rtol=1e-9)
    assert one.count == other.count == sum(map(len, batches))
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.deviation, other.deviation)
    frame = np.random.default_rng(3).integers(0, 256, (2, 84, 84), dtype=np.uint8)
    white = one.whiten(torch.from_numpy(frame))
    assert white.shape == (2, 1, 84, 84)
    assert white.abs().max() == 5
    np.testing.assert_allclose(white[0, 0], whiten(frame[0], (mean, deviation))[0, 0], rtol=1e-4, atol=1e-4)


def test_whitening_is_finite_before_the_first_frame() -> None:
    white = PixelMoments(84, 84).whiten(torch.full((1, 84, 84), 200, dtype=torch.uint8))
    assert (white == 5).all()
    assert PixelMoments.sums(torch.zeros(0, 84, 84, dtype=torch.uint8)).abs().sum() == 0


@pytest.mark.parametrize("convention", ["reference", "paper"])
def test_rnd_equals_the_equation_on_whitened_last_frames(convention: str) -> None:
    first, second = fragments(2)
    place = setting()
    model = IntrinsicModel(parse(f"rnd(networks=atari, convention={convention})"), place, normalise="none")
    source = frame_distillation(place, convention, 1e-4, 1.0)
    model.warm_up(first)
    known = [visited(first)]
    for fragment in (first, second):
        moments = literal_moments(known)
        expected = np.zeros((T, N))
        with torch.no_grad():
            for t in range(T):
                for n in range(N):
                    state = next_state_at(fragment, t, n)["frames"] if convention == "reference" else None
                    frame = fragment.observations["frames"][t, n, -1] if state is None else state[-1]
                    white = whiten(frame, moments)
                    square = float((source._predictor(white) - source._target(white)).square().sum())
                    expected[t, n] = square if convention == "paper" else 0.5 * square
        np.testing.assert_allclose(model.process(fragment).bonus_raw, expected, rtol=1e-3)
        known.append(visited(fragment))


def test_only_the_last_frame_matters() -> None:
    fragment = fragments(1)[0]
    changed = pickle.loads(pickle.dumps(fragment))
    for rows in (changed.observations["frames"], changed.finals["frames"]):
        rows[..., :3, :, :] = 0
    one = IntrinsicModel(parse("e3b_x_rnd_montezuma"), setting()).process(fragment)
    other = IntrinsicModel(parse("e3b_x_rnd_montezuma"), setting()).process(changed)
    assert np.array_equal(one.bonus_raw, other.bonus_raw)
    assert one.bonus_raw.max() > 0


def test_the_predictor_trains_on_a_random_subset_with_the_new_moments() -> None:
    fragment = fragments(1)[0]
    place = setting(seed=4)
    source = frame_distillation(place, "reference", 1e-4, 0.25)
    before = [weight.clone() for weight in source._predictor.parameters()]
    target = [weight.clone() for weight in source._target.parameters()]
    frames = visited(fragment)
    kept = torch.rand(len(frames), generator=torch.Generator().manual_seed(4)) < 0.25
    assert 0 < kept.sum() < len(frames)
    moments = literal_moments([frames])
    with torch.no_grad():
        white = torch.cat([whiten(frame, moments) for frame in frames[kept.numpy()]])
        expected = float((source._predictor(white) - source._target(white)).square().mean())
    assert source.learn(fragment)["predictor_loss"] == pytest.approx(expected, rel=1e-3)
    assert any(not torch.equal(one, other) for one, other in zip(before, source._predictor.parameters(), strict=True))
    assert all(torch.equal(one, other) for one, other in zip(target, source._target.parameters(), strict=True))


def test_a_random_subset_keeps_its_fraction_and_at_least_one_row() -> None:
    rows = torch.arange(20_000)
    subset = RandomSubset(0.25, 0)
    state = subset.state_dict()
    kept = subset.of(rows)
    assert len(kept) / len(rows) == pytest.approx(0.25, abs=0.01)
    assert not torch.equal(subset.of(rows), kept)
    subset.load_state_dict(state)
    assert torch.equal(subset.of(rows), kept)
    assert torch.equal(RandomSubset(1.0, 0).of(rows), rows)
    assert len(RandomSubset(1e-9, 0).of(rows)) == 1
    with pytest.raises(InvalidInput, match="keep must be above 0 and at most 1"):
        parse("rnd(keep=0)")


def test_novelty_decreases_and_frames_are_counted_once() -> None:
    fragment = fragments(1)[0]
    place = setting()
    model = IntrinsicModel(parse("rnd_montezuma"), place, updates=8)
    model.warm_up(fragment)
    model.process(fragment)
    assert whitened_frames(place)._moments.count == 2 * len(visited(fragment))
    novelty = [float(model.process(fragment).bonus_raw.mean()) for _ in range(3)]
    assert novelty[2] < 0.8 * novelty[0]


class Twice(Collectives):
    """As if another replica had seen the same frames."""

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.mul_(2)


def test_moments_include_all_replicas() -> None:
    fragment = fragments(1)[0]
    place = setting()
    place.collectives = Twice()
    IntrinsicModel(parse("e3b_montezuma"), place).process(fragment)
    moments = whitened_frames(place)._moments
    assert moments.count == 2 * len(visited(fragment))
    mean, _ = literal_moments([visited(fragment)] * 2)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12)


def test_e3b_is_elliptical_in_the_fixed_encoder() -> None:
    made = fragments(2)
    place = setting()
    model = IntrinsicModel(parse("e3b(encoder=atari, ridge=1, convention=paper)"), place, normalise="none")
    source = frame_encoder(place)
    weights = [weight.clone() for weight in source._network.parameters()]
    known: list[np.ndarray] = []
    inverse = [np.eye(512), np.eye(512)]
    for fragment in made:
        moments = literal_moments(known)
        expected = np.zeros((T, N))
        for t in range(T):
            for n in range(N):
                if fragment.first[t, n]:
                    inverse[n] = np.eye(512)
                with torch.no_grad():
                    phi = (
                        source._network(whiten(fragment.observations["frames"][t, n, -1], moments))[0].double().numpy()
                    )
                expected[t, n] = phi @ inverse[n] @ phi
                inverse[n] = np.linalg.inv(np.linalg.inv(inverse[n]) + np.outer(phi, phi))
        np.testing.assert_allclose(model.process(fragment).bonus_raw, expected, rtol=2e-3)
        known.append(visited(fragment))
    assert all(torch.equal(one, other) for one, other in zip(weights, source._network.parameters(), strict=True))


@pytest.mark.parametrize("text", [*ON_MONTEZUMA, "noveld(networks=atari)"])
def test_state_round_trips_exactly(text: str) -> None:
    made = fragments(3)
    model = IntrinsicModel(parse(text), setting())
    for fragment in made[:2]:
        model.process(fragment)
    restored = IntrinsicModel(parse(text), setting(seed=77))
    restored.load_state_dict(pickle.loads(pickle.dumps(model.state_dict())))
    one, two = model.process(made[2]), restored.process(made[2])
    for name, column in one.columns().items():
        assert np.array_equal(column, two.columns()[name]), name
    assert one.metrics == two.metrics


def test_the_terms_of_a_product_share_the_frames() -> None:
    place = setting()
    IntrinsicModel(parse("e3b_x_rnd_montezuma"), place)
    assert sorted(type(model).__name__ for model in place.models.values()) == [
        "FrameDistillation",
        "FrameEncoder",
        "WhitenedFrames",
    ]
    assert isinstance(place.models["frame_distillation(reference, 0.0001, 0.0625)"], FrameDistillation)


def test_environments_without_frames_are_rejected() -> None:
    for text in ("rnd_montezuma", "e3b_montezuma"):
        with pytest.raises(InvalidInput, match=r"need the observation 'frames' of 84 × 84 grey pixels; .* glyphs"):
            IntrinsicModel(parse(text), Setting(OBSERVATION_SPACE, 8, network="small"))


def test_rooms_and_positions_are_counted() -> None:
    fragment = fragments(1)[0]
    rows = fragment.states()
    for name, columns in (("room", ["room"]), ("position", ["room", "position"])):
        keys = fragment_keys(feature_of(name, montezuma()), fragment)
        literal = [tuple(np.concatenate([rows[column][row] for column in columns])) for row in range(len(keys))]
        assert len(set(keys.tolist())) == len(set(literal)) > 1
        assert all((keys[i] == keys[j]) == (literal[i] == literal[j]) for i in range(len(keys)) for j in range(i))
    bonus = IntrinsicModel(parse("count.episodic(room)"), setting(), normalise="none").process(fragment)
    assert 0 < bonus.bonus_raw.sum() <= 2 * N * 3


def test_games_without_rooms_refuse_their_features_and_have_pixels() -> None:
    pong = observation_space(find_game("Pong"))
    for name in ("room", "position"):
        with pytest.raises(InvalidInput, match=f"'{name}' needs the observation .*; this environment shows frames"):
            feature_of(name, pong)
    rows = fragments(1)[0].states()["frames"]
    for space in (pong, montezuma()):
        keys = feature_of("pixels", space).keys({"frames": rows})
        np.testing.assert_array_equal(keys, feature_of("pixels", pong).keys({"frames": rows[:, -1:]}))


def test_a_glimpse_is_a_thousandth_of_the_images_with_the_pose() -> None:
    random = np.random.default_rng(0)
    rows = {
        "rgb": random.integers(0, 256, (4, 64, 64, 3), dtype=np.uint8),
        "depth": random.random((4, 64, 64, 1), np.float32),
        "gps": random.random((4, 2), np.float32),
        "compass": random.random((4, 1), np.float32),
    }
    space = gym.spaces.Dict({key: gym.spaces.Box(0, 255, part.shape[1:], part.dtype) for key, part in rows.items()})
    glimpse = feature_of("glimpse", space)
    keys = glimpse.keys(rows)
    assert len(set(keys.tolist())) == 4
    hidden = {**rows, "rgb": rows["rgb"].copy()}
    hidden["rgb"].reshape(4, -1)[:, 1:1000] += 1
    assert np.array_equal(glimpse.keys(hidden), keys)
    hidden["rgb"].reshape(4, -1)[0, 1000] += 1
    hidden["gps"] = rows["gps"] + np.array([[0], [1], [0], [0]], np.float32)
    assert (glimpse.keys(hidden) == keys).tolist() == [False, False, True, True]
