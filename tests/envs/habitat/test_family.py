"""The Habitat family: names and settings."""

from __future__ import annotations

from typing import Any

import pytest

from bonuslab.envs.catalogue import canonical_name, check_settings, find, make_vector_env
from bonuslab.envs.errors import InvalidInput


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("Apartments", "Apartments-128"),
        ("apartments-64", "Apartments-64"),
        (" Apartments-256 ", "Apartments-256"),
        ("HM3D", "HM3D-256"),
        ("hm3d-128", "HM3D-128"),
    ],
)
def test_names(name: str, full: str) -> None:
    assert find(name).name == "habitat"
    assert canonical_name(name) == full
    assert canonical_name(full) == full


def test_image_size_is_in_the_name() -> None:
    envs = make_vector_env("Apartments-64", 1, contexts="2", seed=0, held_out=True, stream=1, max_steps=5)
    assert envs.observation_space["rgb"].shape == (64, 64, 3)
    envs.reset()
    assert 800 <= envs.contexts[0] % 1000 < 900


@pytest.mark.parametrize("bad", ["Apartments-", "Apartments-big", "Apartments-8", "apartmentsx", "HM3D-1e2"])
def test_unknown_names_are_rejected(bad: str) -> None:
    with pytest.raises(InvalidInput, match="environment"):
        canonical_name(bad)


def test_valid_settings_pass() -> None:
    check_settings("Apartments", contexts="inf")
    check_settings("Apartments", contexts="100", max_steps=20, split="test", stop_ends_episode=True)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"contexts": "0"}, "contexts '0'"),
        ({"max_steps": 0}, "max_steps 0"),
        ({"split": "vall"}, "unknown split of apartments 'vall'; did you mean val"),
        ({"stop_ends_episode": "yes"}, "stop_ends_episode 'yes' cannot be used; allowed: true, false"),
        ({"data_path": "/data"}, "is for HM3D"),
        ({"size": 64}, "unknown environment setting 'size'"),
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        check_settings("Apartments", **settings)


def test_make_env() -> None:
    env = find("Apartments").make_env("Apartments-32", contexts="2", seed=0, stream=(7, 1), max_steps=3)
    envs = make_vector_env("Apartments-32", 1, contexts="2", seed=0, stream=0, max_steps=3)
    observation, info = env.reset(options={"context": None})
    assert observation["rgb"].shape == (32, 32, 3)
    envs.reset()
    assert {info["context"], envs.contexts[0]} <= set(env.contexts.ids)
    assert find("Apartments").action_names("Apartments-32") == ["stop", "forward", "left", "right"]
    with pytest.raises(InvalidInput, match="did you mean max_steps"):
        find("Apartments").make_env("Apartments", max_step=3)


def test_unknown_settings_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="did you mean max_steps"):
        make_vector_env("Apartments", 1, max_step=5)
    with pytest.raises(InvalidInput, match="is for HM3D"):
        make_vector_env("Apartments", 1, data_path="/data")


def test_hm3d_without_habitat_sim_is_rejected_in_one_line() -> None:
    with pytest.raises(InvalidInput, match=r"HM3D needs habitat-sim 0\.3\.3.*docs/habitat\.md") as caught:
        check_settings("HM3D", contexts="inf")
    assert "\n" not in str(caught.value)
