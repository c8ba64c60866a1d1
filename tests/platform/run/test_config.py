"""Settings of a run are checked before anything starts, and survive a way through JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bonuslab.algorithms.bonuses.algebra import registry
from bonuslab.algorithms.rllib.catalogue import ALGORITHMS, find
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.config import RunSettings, check_numbers, parse_env_setting, parse_override


def test_a_run_survives_json() -> None:
    settings = RunSettings(
        "MultiRoom-N2-S4",
        bonus="e3b * rnd",
        contexts="3",
        seed=7,
        total_env_steps=1000,
        overrides=(("learning_rate", 3e-4), ("surrogate_clip", None)),
        evaluate_every_steps=0,
        env=(("max_steps", 40),),
    )
    assert RunSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_the_configuration_says_what_the_settings_say() -> None:
    settings = RunSettings(
        "MultiRoom-N2-S4",
        bonus="rnd",
        contexts="5",
        seed=3,
        overrides=(("learning_rate", 2e-4),),
        serial=True,
        env=(("max_steps", 40),),
    )
    config = settings.config()
    assert (config.env, config.env_config) == ("MiniHack-MultiRoom-N2-S4-v0", {"contexts": "5", "max_steps": 40})
    assert (config.seed, config.lr, config.bonus_config.expression) == (3, 2e-4, "rnd")
    assert config.serial
    assert config.num_env_runners == 0


def test_steps_are_the_presets_unless_given() -> None:
    assert RunSettings("MultiRoom-N6", preset="paper").steps == 50_000_000
    assert RunSettings("MultiRoom-N6", overrides=(("total_env_steps", 500),)).steps == 500
    assert RunSettings("MultiRoom-N6", overrides=(("total_env_steps", 500),), total_env_steps=70).steps == 70


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_preset_can_be_used(algorithm: str) -> None:
    for name in find(algorithm).presets:
        settings = RunSettings("MultiRoom-N2-S4", algorithm=algorithm, preset=name, serial=True)
        check_numbers(settings.numbers)
        assert settings.steps == settings.numbers.total_env_steps
        assert RunSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_the_algorithm_decides_presets_numbers_and_configuration() -> None:
    settings = RunSettings(
        "MultiRoom-N2-S4", "rnd", algorithm="ddppo", preset="habitat", overrides=(("policy_clip", 0.1),)
    )
    config = settings.config()
    assert type(config).__name__ == "DDPPOConfig"
    assert (config.policy_clip, config.bonus_config.updates) == (0.1, 3)
    assert RunSettings.from_dict({"task": "MultiRoom-N2-S4"}).algorithm == "impala"  # runs of before
    assert parse_override("value_clip=none", "ddppo") == ("value_clip", None)
    with pytest.raises(InvalidInput, match="unknown setting of ddppo"):
        RunSettings("MultiRoom-N2-S4", algorithm="ddppo", overrides=(("clip_rho", 1.0),))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"task": "MultiRom-N6"}, "MultiRoom-N6"),
        ({"bonus": "e3c"}, "e3b"),
        ({"preset": "lap-top"}, "laptop"),
        ({"algorithm": "ddpo"}, "ddppo"),
        ({"algorithm": "ddppo", "preset": "paper"}, "habitat"),
        ({"contexts": "0"}, "'0'"),
        ({"seed": -1}, "seed -1"),
        ({"seed": 2**31}, "2147483647"),
        ({"seed": True}, "seed True"),
        ({"total_env_steps": 0}, "total_env_steps 0"),
        ({"plan": "lapto"}, "laptop"),
        ({"plugins": ("missing.py",)}, "missing.py"),
        ({"overrides": (("learning_rat", 1.0),)}, "learning_rate"),
        ({"overrides": (("learning_rate", 0.0),)}, "more than 0"),
        ({"overrides": (("learning_rate", float("nan")),)}, "learning_rate=nan"),
        ({"overrides": (("learning_rate", "fast"),)}, "'fast'"),
        ({"overrides": (("discount", 1.5),)}, "from 0 to 1"),
        ({"overrides": (("coefficient", float("inf")),)}, "coefficient=inf"),
        ({"overrides": (("network", "smal"),)}, "small"),
        ({"overrides": (("minibatches", 65),)}, "64 environments"),
        ({"checkpoint_every_steps": 0}, "checkpoint_every_steps 0"),
        ({"evaluate_every_steps": -1}, "evaluate_every_steps -1"),
    ],
)
def test_a_bad_value_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        RunSettings(**{"task": "MultiRoom-N6", **changes})
    assert named in str(raised.value)


@pytest.mark.parametrize("values", [{}, {"task": "MultiRoom-N6", "colour": "red"}])
def test_a_dictionary_that_is_no_run_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        RunSettings.from_dict(values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("learning_rate=3e-4", 3e-4),
        ("envs_per_batch=1_024", 1024),
        ("recurrent=False", False),
        ("optimiser=adam", "adam"),
        ("surrogate_clip=none", None),
        ("surrogate_clip=0.1", 0.1),
        ("network=small", "small"),
    ],
)
def test_override_has_the_type_of_its_number(text: str, expected: object) -> None:
    name, value = parse_override(text)
    assert name == text.split("=")[0]
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_steps=40", 40),
        ("sticky_probability=0.5", 0.5),
        ("stop_ends_episode=True", True),
        ("data_path=/data=1", "/data=1"),
    ],
)
def test_settings_of_environments_have_types_by_their_looks(text: str, expected: object) -> None:
    assert parse_env_setting(text) == (text.split("=")[0], expected)
    assert type(parse_env_setting(text)[1]) is type(expected)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("learning_rate", "name=value"),
        ("learning_rat=1", "learning_rate"),
        ("passes=2.5", "int"),
        ("recurrent=maybe", "true, false"),
        ("optimiser=sgd", "rmsprop"),
        ("discount=", "float"),
    ],
)
def test_bad_override_is_named(text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_override(text)
    assert named in str(raised.value)


def test_plugin_is_loaded_before_the_bonus_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_BONUSES", dict(registry._BONUSES))
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from bonuslab.algorithms.bonuses import Bonus, register\n"
        "@register('settings_plugin')\n"
        "class Mine(Bonus):\n"
        "    scope, equation, when = 'global', '0', 'never'\n"
    )
    settings = RunSettings("MultiRoom-N6", bonus="2 * settings_plugin", plugins=(str(plugin),))
    assert settings.config().bonus_config.plugins == (str(plugin),)
