"""Environments are found by name, family by family."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.contexts import Contexts
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


@pytest.mark.parametrize("name", ["MultiRum-N6", "Atari", ""])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="unknown task"):
        catalogue.canonical_name(name)


def test_held_out_envs_ask_for_all_contexts_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = catalogue.make_held_out_vector_env("MultiRoom-N2-S4", 1, contexts="3", seed=1)
    envs.reset()
    training = Contexts("inf", 1)._range
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
    ("name", "family"), [("Apartments-64", "habitat"), ("HM3D", "habitat"), ("montezumarevenge", "montezuma")]
)
def test_other_families_are_found_by_how_the_name_begins(
    name: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = object()
    monkeypatch.setitem(sys.modules, f"bonuslab.envs.{family}", SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, f"bonuslab.envs.{family}.family", SimpleNamespace(FAMILY=expected))
    assert catalogue.find(name) is expected


def test_a_family_that_is_not_there_is_missed_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bonuslab.envs.montezuma", None)
    monkeypatch.delitem(sys.modules, "bonuslab.envs.montezuma.family", raising=False)
    with pytest.raises(InvalidInput, match="'MontezumaRevenge' is a montezuma environment"):
        catalogue.find("MontezumaRevenge")
    assert catalogue.find("KeyRoom-S5") is MINIHACK


def test_a_missing_package_of_a_family_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(module: str) -> None:
        raise ModuleNotFoundError("No module named 'ale_py'", name="ale_py")

    monkeypatch.setattr(catalogue, "import_module", fail)
    with pytest.raises(InvalidInput, match="needs the Python package 'ale_py'"):
        catalogue.find("MontezumaRevenge")
