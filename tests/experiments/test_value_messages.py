"""Values of messages from playing the real game, and of games without a plan."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import make, task
from bonuslab.experiments.value_functions.driven_play import Sightings, drive, fewest_actions
from bonuslab.experiments.value_functions.estimates import DOORS_COUNT, Estimates
from bonuslab.experiments.value_functions.floor_plan import plan_of_level
from bonuslab.experiments.value_functions.game_states import PUSH_OPENS, GameStates
from bonuslab.experiments.value_functions.optimal_values import solve
from bonuslab.experiments.value_functions.played_values import PlayedGame, play
from bonuslab.experiments.value_functions.sampling import JOINED, Effort, joined_messages, message_table

SMALL = Effort(known_contexts=20, solved_contexts=6, played_contexts=4, steps=1000)


def test_messages_get_the_lowest_value_of_their_states() -> None:
    of_task = task("MultiRoom-N2-S4")
    plan = plan_of_level(of_task.levels.build(6))
    solution = solve(GameStates(plan, of_task))
    env = make(of_task)
    try:
        seen = drive(env, solution, 6, steps=2000, seed=0)
        assert seen == drive(env, solution, 6, steps=2000, seed=0)
    finally:
        env.close()
    (door,) = plan.obstacles
    beside = [state for state in solution.values if max(abs(np.subtract(state.cell, door.cell))) == 1]
    assert seen.tried > 0.95
    assert seen.late_share == 0
    # The blank message comes up everywhere, resistance of the door beside it while it is shut, its opening afterwards.
    assert seen.lowest[""] == pytest.approx(min(solution.values.values()))
    assert seen.lowest["It's a wall."] == pytest.approx(min(solution.values.values()))
    shut = [solution.values[state] for state in beside if not state.removed]
    opened = [solution.values[state] for state in beside if state.removed]
    assert seen.lowest["The door resists!"] in shut
    assert seen.lowest["The door opens."] in opened
    assert seen.lowest["The door opens."] > seen.lowest["The door resists!"]


def test_fewest_actions() -> None:
    of_task = task("MultiRoom-N2-S4")
    solution = solve(GameStates(plan_of_level(of_task.levels.build(6)), of_task))
    push = PUSH_OPENS * 0.9 / (1 - (1 - PUSH_OPENS) * 0.9)
    steps = fewest_actions(solution) - 1
    assert solution.values[solution.states.start] == pytest.approx(0.9**steps * push)


def test_tables_of_messages() -> None:
    first = Sightings({"f - a key": 0.5, "Be careful!  New moon tonight.": 0.1, "": 0.2})
    second = Sightings({"h - a key": 0.4, "Hello Agent, welcome to NetHack!": 0.3, "": 0.1})
    names, values = message_table([first, second])
    assert names == sorted(names)
    assert values.shape == (2, 5)
    assert values[0, names.index("f - a key")] == 0.5
    assert values[1, names.index("f - a key")] == 0
    np.testing.assert_allclose(joined_messages([first, second]), [[0.2, 0.5, 0.1], [0.1, 0.4, 0.3]])


def observed(place: int, message: str = "") -> dict[str, np.ndarray]:
    """A screen that tells places apart by one glyph."""
    glyphs = np.full((21, 79), 2359, np.int16)
    glyphs[3, place] = 2378
    blstats = np.zeros(27, np.int64)
    blstats[:2] = place, 3
    text = np.zeros(256, np.uint8)
    text[: len(message)] = list(message.encode())
    return {"glyphs": glyphs, "blstats": blstats, "message": text}


def test_values_of_what_was_seen() -> None:
    """Three places in a row: action 0 advances three times in four, action 1 is fatal; by hand, γ = 0.9."""
    game = PlayedGame(num_actions=2)
    game.begin()
    first, second = game.read(observed(1)), game.read(observed(2, "half-way"))
    won = game.read(observed(3, "You win."), won=True)
    elsewhere = game.read(observed(9))
    for _ in range(3):
        game.add(first, 0, second)
    game.add(first, 0, first)
    game.add(second, 0, won)
    game.add(second, 1, None)
    values = game.values(0.9)
    beyond = 0.9
    assert values[won] == 1
    assert values[second] == pytest.approx(beyond)
    assert values[first] == pytest.approx(0.75 * 0.9 * beyond / (1 - 0.25 * 0.9), abs=1e-7)
    assert values[elsewhere] == 0
    assert game.well_known(values) == [second, won]  # nobody tried action 1 in the first
    assert game.messages[second] == {"half-way"}
    assert game.tried == 0.75
    game.begin()
    assert game.read(observed(2)) == second
    assert game.read(observed(2, "In what direction?")) not in (first, second, won, elsewhere)
    assert game.read(observed(3)) != won  # the same screen, but not won


def test_playing_a_task_without_a_plan() -> None:
    env = make("Levitate-Potion-Restricted")
    try:
        positions, seen = play(env, 2, steps=4000, seed=0)
    finally:
        env.close()
    assert 0 < positions.max() < 1  # quaffing takes two actions at least
    assert seen.lowest["You start to float in the air!"] == 1
    assert seen.lowest[""] < seen.lowest["You start to float in the air!"]
    assert 4000 <= seen.steps < 4000 + env.max_steps


def test_estimates_are_sampled_once_and_name_how() -> None:
    lines: list[str] = []
    estimates = Estimates(SMALL, log=lines.append)
    positions = estimates.sample("MultiRoom-N4-S5", "position")
    assert positions is estimates.sample("MiniHack-MultiRoom-N4-S5-v0", "position")
    assert positions.values.shape == (20, 21 * 79)
    assert positions.coverage is None
    assert DOORS_COUNT in positions.readings
    messages = estimates.sample("MultiRoom-N4-S5", "message")
    assert messages.values.shape == (4, len(messages.names))
    assert messages.coverage is not None
    assert messages.coverage.steps >= 4000
    assert JOINED in messages.readings
    assert lines == [
        "MultiRoom-N4-S5: value functions over positions",
        "MultiRoom-N4-S5: value functions over messages",
    ]
    positional, textual = (estimates.similarity("MultiRoom-N4-S5", name, None) for name in ("position", "message"))
    assert positional.value < 0.4 < textual.value
    with pytest.raises(InvalidInput, match="glyphs"):
        estimates.sample("MultiRoom-N4-S5", "glyphs")


def test_the_key_rooms_positions_need_the_key() -> None:
    sample = Estimates(SMALL).sample("KeyRoom-S5", "position")
    assert "with key and door" in sample.how
    assert not sample.readings
    for values, plan in zip(sample.values, sample.plans, strict=True):
        (door,) = plan.obstacles
        grid = values.reshape(21, 79)
        assert plan.key is not None
        assert grid[door.cell] > grid[plan.key]
        assert grid[plan.goal] == 1
