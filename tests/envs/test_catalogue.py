"""Environments are found by name, family by family."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput, Unavailable
from bonuslab.envs.gym import USER_ENVIRONMENTS, UserEnvironment
from bonuslab.envs.listing import KINDS, Kind, names_of
from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.family import FAMILY as MINIHACK


def test_minihack_names() -> None:
    assert catalogue.find("multiroom-n6") is MINIHACK
    assert catalogue.canonical_name("multiroom-n6") == "MiniHack-MultiRoom-N6-v0"
    envs = catalogue.make_vector_env("MultiRoom-N2-S4", 2, contexts="3", seed=1, stream=0)
    try:
        assert envs.num_envs == 2
        assert sorted(envs.reset()) == ["blstats", "glyphs", "message"]
    finally:
        envs.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MultiRum-N6", "did you mean MultiRoom-N6"),
        ("CartPol-v1", "did you mean CartPole-v1"),
        ("MiniGrid-MultiRom-N6-v0", "did you mean MiniGrid-MultiRoom-N6-v0"),
        ("Apartmens", "did you mean Apartments"),
        ("Breakot", "did you mean Breakout"),
        ("ALE/Pon-v5", "did you mean ALE/Pong-v5"),
        ("Snail-of-this-tst", "did you mean Snail-of-this-test"),
        ("MultiRoom-N4S5", r"did you mean MultiRoom-N4-S5\?$"),
        ("multiroom_n4_s5_lava", r"did you mean MultiRoom-N4-S5-Lava\?$"),
        ("MultiRom-N7S4", "did you mean MultiRoom-N7-S4 or"),
        ("KeyRoomS7", r"did you mean KeyRoom-S7\?$"),
        ("Apartments64", r"did you mean Apartments-64\?$"),
        ("HM3D128", r"did you mean HM3D-128\?$"),
        ("CartPolev1", r"did you mean CartPole-v1\?$"),
        ("", "use a Gymnasium id such as CartPole-v1"),
    ],
)
def test_unknown_names_get_near_ones_of_all_families(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(USER_ENVIRONMENTS, "Snail-of-this-test", UserEnvironment(object))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=f"unknown environment '{name}'; .*{message}"):
        catalogue.canonical_name(name)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("MiniHack-MultiRoom-N6-v0", "minihack"),
        ("MultiRoom-N7-S5-Lava", "minihack"),
        ("MiniGrid-MultiRoom-N6-v0", "gym"),
        ("CartPole-v1", "gym"),
        ("ALE/MontezumaRevenge-v5", "atari"),
        ("ALE/Pong-v5", "atari"),
        ("pong", "atari"),
        ("ale_py:ALE/Pong-v5", "gym"),
        ("Blackjack", "gym"),
        ("ALE/Blackjack-v5", "atari"),
        ("bonuslab/MiniHack-KeyRoom-S5-v0", "gym"),
        ("gymnasium.envs.classic_control:CartPoleEnv", "gym"),
    ],
)
def test_each_name_belongs_to_one_family(name: str, family: str) -> None:
    assert catalogue.find(name).name == family


def test_gymnasium_works_without_minihack(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(module: str) -> None:
        raise ModuleNotFoundError("No module named 'nle'", name="nle")

    monkeypatch.setattr(catalogue, "import_module", fail)
    assert catalogue.canonical_name("CartPole-v1") == "CartPole-v1"
    with pytest.raises(InvalidInput, match=r"unknown environment 'MultiRoom-N66'.*needs the Python package 'nle'"):
        catalogue.find("MultiRoom-N66")


def test_held_out_envs_ask_for_all_contexts_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = catalogue.make_held_out_vector_env("MultiRoom-N2-S4", 1, contexts="3", seed=1)
    envs.reset()
    training = MiniHackContexts("inf", 1)._range
    assert not training[0] <= envs.contexts[0] < training[1]
    envs.close()

    class One:
        many_contexts = False

        def make_vector_env(self, name: str, num_envs: int, **settings: object) -> dict[str, object]:
            return settings

    monkeypatch.setattr(catalogue, "find", lambda name: One())
    assert catalogue.make_held_out_vector_env("Game", 1, contexts="1", seed=2) == {
        "contexts": "1",
        "held_out": True,
        "seed": 2,
    }


def test_bad_contexts_and_settings_are_refused() -> None:
    catalogue.check_settings("MultiRoom-N6", contexts="3", max_steps=5)
    with pytest.raises(InvalidInput, match="contexts"):
        catalogue.check_settings("MultiRoom-N6", contexts="many")
    with pytest.raises(InvalidInput, match="max_steps 'few'"):
        catalogue.check_settings("MultiRoom-N6", contexts="3", max_steps="few")
    with pytest.raises(InvalidInput, match="unknown environment setting 'max_step'; did you mean max_steps"):
        catalogue.make_vector_env("MultiRoom-N6", 1, max_step=3)


@pytest.mark.parametrize(
    ("name", "family"),
    [("Apartments-64", "habitat"), ("HM3D", "habitat"), ("montezumarevenge", "atari"), ("ale/pong-v5", "atari")],
)
def test_other_families_are_found_by_how_the_name_begins(
    name: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = object()
    monkeypatch.setitem(sys.modules, f"bonuslab.envs.{family}", SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, f"bonuslab.envs.{family}.family", SimpleNamespace(FAMILY=expected))
    assert catalogue.find(name) is expected


def test_a_family_that_is_not_there_is_missed_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bonuslab.envs.atari", None)
    monkeypatch.delitem(sys.modules, "bonuslab.envs.atari.family", raising=False)
    with pytest.raises(InvalidInput, match="'MontezumaRevenge' is a atari environment"):
        catalogue.find("MontezumaRevenge")
    assert catalogue.find("KeyRoom-S5") is MINIHACK


def test_a_missing_package_of_a_family_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(module: str) -> None:
        raise ModuleNotFoundError("No module named 'ale_py'", name="ale_py")

    monkeypatch.setattr(catalogue, "import_module", fail)
    for name in ("MontezumaRevenge", "ALE/Pong-v5", "Kaboom"):
        with pytest.raises(InvalidInput, match=f"'{name}'.* needs the Python package 'ale_py'"):
            catalogue.find(name)


def test_a_plan_collects_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="HM3D needs habitat-sim"):
        catalogue.check_settings("HM3D", contexts="inf")
    with catalogue.collecting_missing() as missing:
        for _ in range(2):
            catalogue.check_settings("HM3D", contexts="inf")
        with pytest.raises(InvalidInput, match="gpu_device 'x'"):
            catalogue.check_settings("HM3D", contexts="inf", gpu_device="x")
    assert [text.startswith("HM3D needs habitat-sim 0.3.3") for text in missing] == [True]
    with pytest.raises(Unavailable):
        catalogue.check_settings("HM3D", contexts="inf")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_an_example_that_is_found(kind: Kind) -> None:
    assert catalogue.canonical_name(kind.example)
    assert kind.installed == (kind.name != "HM3D")
    names = names_of(kind)
    assert len(set(names)) == len(names) >= 3
    assert {catalogue.find(name).name for name in names[:3]} == {catalogue.find(kind.example).name}
