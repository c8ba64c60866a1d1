"""Frames against ALE's vector env and a slow reference implementation; rooms on a known route."""

from __future__ import annotations

import numpy as np
import pytest
from ale_py import AtariVectorEnv as AleVectorEnv

from bonuslab.envs.atari import AtariEnv
from bonuslab.envs.atari.frames import FRAME, shrink
from bonuslab.envs.atari.game import AtariGame, game_actions
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.sticky import StickyActions
from bonuslab.envs.errors import InvalidInput

# Found by a random search without sticky actions: the key of the first room (100 points), its right door (300), down.
ROUTE = (
    "11x1 3x2 2x11 3x3 11x2 5x14 4x14 12x5 4x1 12x7 4x16 2x9 4x8 3x4 12x1 3x7 5x9 3x1 11x9 4x1 11x5 3x2 11x1 4x4 12x1 "
    "3x9 11x3 2x16 12x2 2x6 12x2 4x5 2x9 3x3 12x1 4x2 2x6 11x2 2x6 11x3 3x11 5x2 11x1 3x23 4x2 5x24"
)


def route() -> list[int]:
    """The actions, one per step."""
    pairs = [part.split("x") for part in ROUTE.split()]
    return [int(action) for action, times in pairs for _ in range(int(times))]


# Pong has 6 actions; Carnival and King Kong have screens of 214 and 250 rows; Backgammon has no action NOOP.
@pytest.mark.parametrize("rom", ["montezuma_revenge", "pong", "carnival", "king_kong", "backgammon"])
def test_frames_equal_those_of_ales_vector_env(rom: str) -> None:
    theirs = AleVectorEnv(rom, 1, num_threads=1, noop_max=0, use_fire_reset=False, reward_clipping=False)
    frames = np.zeros((4, FRAME, FRAME), np.uint8)
    game = AtariGame(find_game(rom), frames)
    actions = list(game_actions(find_game(rom)).values())
    assert len(actions) == theirs.single_action_space.n
    game.start()
    expected, _ = theirs.reset(seed=3)
    np.testing.assert_array_equal(frames, np.broadcast_to(expected[0, -1], frames.shape))
    random = np.random.default_rng(0)
    for step, action in enumerate(random.integers(len(actions), size=150)):
        expected, reward, terminated, _, info = theirs.step(np.array([action]))
        assert game.play([actions[action]] * 4) == reward[0]
        assert (game.is_over, game.lives) == (terminated[0], info["lives"][0])
        assert not terminated[0]
        known = min(step + 1, 4)  # earlier ones are black in ALE, where ours repeat the first
        np.testing.assert_array_equal(frames[-known:], expected[0, -known:])
    theirs.close()


def test_a_frame_is_the_mean_of_the_pixelwise_maximum() -> None:
    random = np.random.default_rng(1)
    before, last = random.integers(256, size=(2, 210, 160), dtype=np.uint8)
    frame = np.empty((FRAME, FRAME), np.uint8)
    shrink(before, last, frame)
    bright = np.maximum(before, last).astype(float)
    # Each pixel split into 84 × 84 parts, so that each cell of the frame is a whole number of parts.
    fine = np.kron(bright[:10], np.ones((FRAME, FRAME)))
    means = fine.reshape(4, 210, FRAME, 160).mean((1, 3))  # the first 10 rows are 4 rows of cells
    assert np.abs(frame[:4] - means).max() <= 0.5 + 1e-3


def test_rooms_points_and_position_on_a_known_route() -> None:
    env = AtariEnv("MontezumaRevenge", sticky_probability=0.0, render_mode="rgb_array")
    observation, info = env.reset()
    assert observation["room"].tolist() == [1]
    assert info["rooms"] == {1}
    rewards, rooms, positions = [], [], []
    for action in route():
        observation, reward, terminated, truncated, info = env.step(action)
        assert not terminated
        assert not truncated
        rewards.append(reward)
        rooms.append(int(observation["room"][0]))
        positions.append(observation["position"].tolist())
    assert [reward for reward in rewards if reward] == [100.0, 300.0]
    assert [room for room, before in zip(rooms, [0, *rooms], strict=False) if room != before] == [1, 2, 6]
    assert info["rooms"] == {1, 2, 6}
    assert info["points"] == 400
    assert info["lives"] == 6
    entered = rooms.index(2)
    assert positions[entered - 1][0] > 140 > 20 > positions[entered][0]  # leaves on the right, enters on the left
    picture = env.render()
    assert picture.shape == (210, 160, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 4


def test_sticky_actions_by_frame_and_by_step() -> None:
    random = np.random.default_rng(5)
    wanted = random.integers(1, 18, size=4000)
    for kind, draws in (("frame", 4), ("step", 1)):
        sticky = StickyActions(kind, 0.25, (7,))
        played = np.array([sticky.actions(int(action)) for action in wanted])
        uniform = np.random.Generator(np.random.PCG64((7,))).random((len(wanted), draws))
        last, literal = 0, []
        for action, numbers in zip(wanted, uniform, strict=True):
            row = []
            for number in numbers:
                last = last if number < 0.25 else int(action)
                row += [last] * (4 // draws)
            literal.append(row)
        np.testing.assert_array_equal(played, literal)
        kept = (played[1:, 0] == played[:-1, -1])[wanted[1:] != played[:-1, -1]].mean()
        assert abs(kept - 0.25) < 0.03


def test_sticky_actions_do_not_carry_over_between_episodes() -> None:
    sticky = StickyActions("frame", 0.9, (0,))
    sticky.actions(5)
    sticky.start()
    assert set(sticky.actions(5)) <= {0, 5}
    with pytest.raises(InvalidInput, match="kind of sticky actions 'frames'; did you mean frame"):
        StickyActions("frames", 0.25, (0,))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="sticky_probability"):
        StickyActions("frame", 1.0, (0,))


def test_actions_are_those_that_have_an_effect() -> None:
    montezuma = game_actions(find_game("montezuma"))
    assert list(montezuma.values()) == list(range(18))
    assert list(montezuma)[:6] == ["NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN"]
    assert game_actions(find_game("Freeway")) == {"NOOP": 0, "UP": 2, "DOWN": 5}
    assert game_actions(find_game("Backgammon")) == {"FIRE": 1, "RIGHT": 3, "LEFT": 4}


# ALE's saved states omit something in Qbert and Tetris; its reset leaves traces of the last game in Solaris.
@pytest.mark.parametrize("name", ["Qbert", "Tetris", "Solaris"])
def test_every_game_starts_alike_and_resumes_in_a_new_emulator(name: str) -> None:
    game = find_game(name)
    actions = list(game_actions(game).values())
    moves = [actions[index] for index in np.random.default_rng(0).integers(len(actions), size=60)]

    def play(played: AtariGame, moves: list[int]) -> list[bytes]:
        shown = []
        for move in moves:
            played.play([move] * 4)
            shown.append(played.frames.tobytes() + played.memory.tobytes())
        return shown

    ours, other = (AtariGame(game, np.zeros((4, FRAME, FRAME), np.uint8)) for _ in range(2))
    ours.start()
    first = play(ours, moves[:40])
    state = ours.get_state()
    rest = play(ours, moves[40:])
    ours.start()
    assert play(ours, moves[:40]) == first
    other.set_state(state)
    assert play(other, moves[40:]) == rest
    other.start()
    assert play(other, moves[:40]) == first
