"""Names of games."""

from __future__ import annotations

import re

import gymnasium as gym
import pytest
from ale_py import roms

from bonuslab.envs import catalogue
from bonuslab.envs.atari import AtariEnv
from bonuslab.envs.atari.games import all_games, find_game, is_game
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import TASKS


@pytest.mark.parametrize(
    ("names", "rom"),
    [
        (["MontezumaRevenge", "montezuma", "montezuma_revenge", "ALE/MontezumaRevenge-v5"], "montezuma_revenge"),
        (["Pong", "pong", " PONG ", "ALE/Pong-v5", "ale/pong"], "pong"),
        (["TicTacToe3D", "tic_tac_toe_3d"], "tic_tac_toe_3d"),
        (["ALE/Blackjack-v5", "ale/blackjack"], "blackjack"),
    ],
)
def test_names_of_a_game(names: list[str], rom: str) -> None:
    assert {find_game(name).rom for name in names} == {rom}
    assert {catalogue.canonical_name(name) for name in names} == {find_game(names[0]).name} == {names[0]}


def test_all_single_player_games_have_a_name_that_leads_back_to_them() -> None:
    games = all_games()
    assert {game.rom for game in games} == set(roms.get_all_rom_ids()) - {"combat", "joust", "maze_craze", "warlords"}
    assert all(find_game(game.name) == find_game(game.id) == game for game in games)
    ids = [known for known, spec in gym.registry.items() if not str(spec.entry_point).startswith("ale_py")]
    others = [*TASKS, *(task.removeprefix("MiniHack-").removesuffix("-v0") for task in TASKS), *ids]
    assert not [name for name in others if is_game(re.sub(r"-v\d+$", "", name))]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MontezumasRevenge", "unknown environment 'MontezumasRevenge'; did you mean MontezumaRevenge"),
        ("Combat", "unknown environment 'Combat'; allowed: ALE/Blackjack-v5, Adventure"),  # for two players
        ("ALE/Spaceinvader-v5", "did you mean ALE/SpaceInvaders-v5"),
    ],
)
def test_unknown_games_are_rejected(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        find_game(name)


def test_games_are_registered_with_gymnasium() -> None:
    env = gym.make("bonuslab/Atari", name="Freeway", max_steps=3)
    assert isinstance(env.unwrapped, AtariEnv)
    assert env.action_space == gym.spaces.Discrete(3)
    env.reset(seed=1)
    assert [env.step(1)[3] for _ in range(3)] == [False, False, True]
    assert gym.spec("bonuslab/MontezumaRevenge").kwargs == {"name": "MontezumaRevenge"}
