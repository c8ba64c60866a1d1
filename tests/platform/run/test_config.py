"""A run's configuration: every hyperparameter can be set, bad values are named before anything starts."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from bonuslab.algorithms.catalogue import ALGORITHMS, find
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.rllib.hyperparameters import types_of
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.config import Config, parse_env_setting, parse_setting

ALL = [(algorithm, name) for algorithm in ALGORITHMS for name in types_of(find(algorithm).hyperparameters)]
OTHER_TEXTS = {
    "network": "mlp",
    "bonus_network": "small",
    "num_minibatches": "2",
    "num_values": "2",
    "longest_rollout": "1.5",
}


def other_text(algorithm: str, name: str) -> str:
    """A value that the preset `laptop` does not have, as a user would write it."""
    if name in OTHER_TEXTS:
        return OTHER_TEXTS[name]
    entry = find(algorithm)
    before, kind = getattr(entry.preset("laptop").values, name), types_of(entry.hyperparameters)[name]
    if get_origin(kind) is Literal:
        return next(choice for choice in get_args(kind) if choice != before)
    if isinstance(before, bool):
        return str(not before)
    return {int: str(before + 1) if isinstance(before, int) else ""}.get(kind) or "0.375"


@pytest.mark.parametrize(("algorithm", "name"), ALL)
def test_every_hyperparameter_can_be_set_and_reaches_rllib(algorithm: str, name: str) -> None:
    text = other_text(algorithm, name)
    _, value = parse_setting(f"{name}={text}", algorithm)
    config = Config.of("MultiRoom-N2-S4", algorithm=algorithm, serial=True, **{name: value})
    assert str(value).lower() == text.lower()
    assert getattr(config.rllib(), name) == value != getattr(find(algorithm).preset("laptop").values, name)
    assert Config.from_dict(json.loads(json.dumps(config.as_dict()))) == config


def test_the_hyperparameters_that_could_not_be_reached_are_there() -> None:
    assert {"normalise_at", "bonus_updates", "adam_epsilon"} <= {name for _, name in ALL}


def test_a_configuration_survives_json() -> None:
    config = Config.of(
        "MultiRoom-N2-S4",
        bonus="e3b*rnd",
        contexts=3,
        seed=7,
        steps=1000,
        lr=3e-4,
        clip_param=None,
        evaluate_every_steps=0,
        env={"max_steps": 40},
        hyperparameters={"gamma": 0.9},
    )
    assert (config.bonus, config.contexts, config.steps) == ("e3b * rnd", "3", 1000)
    assert config.hyperparameters == {"gamma": 0.9, "lr": 3e-4, "clip_param": None, "total_env_steps": 1000}
    plain = config.as_dict()
    assert list(plain) == [item.name for item in fields(Config)]
    assert Config.from_dict(json.loads(json.dumps(plain))) == config


def test_rllib_gets_what_the_configuration_says() -> None:
    config = Config.of("MultiRoom-N2-S4", bonus="rnd", contexts="5", seed=3, lr=2e-4, serial=True, env={"max_steps": 9})
    rllib = config.rllib()
    assert (rllib.env, rllib.env_config) == ("MiniHack-MultiRoom-N2-S4-v0", {"contexts": "5", "max_steps": 9})
    assert (rllib.seed, rllib.lr, rllib.bonus_expression) == (3, 2e-4, "rnd")
    assert (rllib.serial, rllib.num_env_runners) == (True, 0)
    assert rllib.hyperparameters == config.values


def test_steps_are_the_presets_unless_given() -> None:
    assert Config("MultiRoom-N6", preset="paper").steps == 50_000_000
    assert Config("MultiRoom-N6", hyperparameters={"total_env_steps": 500}).steps == 500
    assert Config.of("MultiRoom-N6", steps=70).steps == 70
    assert Config.of("MultiRoom-N6", steps=None).steps == 300_000
    assert Config.of("MultiRoom-N6", steps=None, total_env_steps=70).steps == 70


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_environment_chooses_the_preset(algorithm: str) -> None:
    tasks = ("MultiRoom-N6", "CartPole-v1", "MiniGrid-Empty-5x5-v0")
    assert [Config(task, algorithm=algorithm).preset for task in tasks] == ["laptop", "classic", "minigrid"]
    assert Config("CartPole-v1", algorithm=algorithm, preset="laptop").values.reward_clip == 1.0
    assert Config("CartPole-v1", algorithm=algorithm).values.reward_clip is None


@pytest.mark.parametrize(("task", "contexts"), [("MultiRoom-N2-S4", "inf"), ("CartPole-v1", "inf"), ("Pong", "1")])
def test_there_are_as_many_contexts_as_the_environment_has(task: str, contexts: str) -> None:
    assert Config.of(task, algorithm="ddppo").contexts == contexts


@pytest.mark.parametrize(
    ("algorithm", "preset"), [(algorithm, preset) for algorithm in ALGORITHMS for preset in find(algorithm).presets]
)
def test_every_preset_can_be_used_and_is_sourced(algorithm: str, preset: str) -> None:
    task = {"habitat": "Apartments-64", "laptop-pixels": "Apartments-64", "montezuma": "ALE/MontezumaRevenge-v5"}
    contexts = "1" if preset == "montezuma" else "inf"
    config = Config(
        task.get(preset, "MultiRoom-N2-S4"), algorithm=algorithm, preset=preset, contexts=contexts, serial=True
    )
    assert Config.from_dict(json.loads(json.dumps(config.as_dict()))) == config
    found, defaults = find(algorithm).preset(preset), find(algorithm).hyperparameters()
    changed = {name for name, value in vars(found.values).items() if value != getattr(defaults, name)}
    assert changed <= set(found.sources)  # a value that differs is not given the source of the default


def test_fresh_configurations_of_rllib_are_the_papers() -> None:
    assert IMPALAConfig().hyperparameters == find("impala").preset("paper").values
    assert DDPPOConfig().hyperparameters == find("ddppo").preset("habitat").values


def test_ddppo_trains_on_apartments_with_its_own_defaults() -> None:
    config = DDPPOConfig().environment("Apartments-64").bonus("e3b").run_serially()
    config.validate()
    config.training(num_envs_per_env_runner=2, rollout_fragment_length=4)
    algorithm = config.build_algo()
    try:
        algorithm.train()
        assert algorithm.env_steps == 8
    finally:
        algorithm.stop()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"task": "MultiRom-N6"}, "MultiRoom-N6"),
        ({"bonus": "e3c"}, "e3b"),
        ({"preset": "lap-top"}, "laptop"),
        ({"algorithm": "ddpo"}, "ddppo"),
        ({"algorithm": "ddppo", "preset": "paper"}, "habitat"),
        ({"algorithm": "ddppo", "vtrace_clip_rho_threshold": 1.0}, "unknown setting 'vtrace_clip_rho_threshold'"),
        ({"contexts": "0"}, "'0'"),
        ({"contxts": "3"}, "did you mean contexts"),
        ({"seed": -1}, "seed -1"),
        ({"seed": 2**31}, "2147483647"),
        ({"seed": True}, "seed True"),
        ({"steps": 0}, "total_env_steps=0"),
        ({"resources": "lapto"}, "laptop"),
        ({"plugins": ("missing.py",)}, "missing.py"),
        ({"learning_rate": 1.0}, "it is called lr here"),
        ({"lr": 0.0}, "invalid lr=0.0; allowed: more than 0"),
        ({"lr": float("nan")}, "lr=nan"),
        ({"lr": "fast"}, "'fast'"),
        ({"gamma": 1.5}, "from 0 to 1"),
        ({"coefficient": float("inf")}, "coefficient=inf"),
        ({"num_epochs": 2.5}, "num_epochs=2.5"),
        ({"recurrent": 1}, "recurrent=1"),
        ({"network": "smal"}, "small"),
        ({"num_minibatches": 65}, "a batch has 64"),
        ({"hyperparameters": {"lr": 0.0}}, "lr=0.0"),
        ({"checkpoint_every_steps": 0}, "checkpoint_every_steps 0"),
        ({"evaluate_every_steps": -1}, "evaluate_every_steps -1"),
        ({"env": {"seed": 3}}, "'seed' is set by the run"),
    ],
)
def test_a_bad_value_is_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        Config.of(**{"task": "MultiRoom-N6", **settings})
    assert named in str(raised.value)


@pytest.mark.parametrize("values", [{}, {"task": "MultiRoom-N6", "colour": "red"}])
def test_a_dictionary_that_is_no_configuration_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Config.from_dict(values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr=3e-4", 3e-4),
        ("num_envs_per_env_runner=1_024", 1024),
        ("recurrent=False", False),
        ("optimiser=adam", "adam"),
        ("clip_param=none", None),
        ("clip_param=0.1", 0.1),
        ("network=small", "small"),
    ],
)
def test_a_setting_has_the_type_of_its_hyperparameter(text: str, expected: object) -> None:
    assert parse_setting(text) == (text.split("=")[0], expected)
    assert type(parse_setting(text)[1]) is type(expected)


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
        ("lr", "name=value"),
        ("lrr=1", "did you mean lr"),
        ("num_rollout_workers=3", "--resources decides how many processes"),
        ("seed=3", "an option of its own: --seed"),
        ("max_steps=3", "--env max_steps=N"),
        ("nonsense=3", "allowed: adam_epsilon, "),
        ("discount=1", "it is called gamma here"),
        ("ent_coef=1", "it is called entropy_coeff here"),
        ("train_batch_size=1", "rollout_fragment_length × num_envs_per_env_runner"),
        ("num_epochs=2.5", "int"),
        ("recurrent=maybe", "true, false"),
        ("optimiser=sgd", "rmsprop"),
        ("gamma=", "float"),
    ],
)
def test_a_bad_setting_is_named(text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_setting(text)
    assert named in str(raised.value)


@pytest.mark.usefixtures("fresh_registries")
def test_a_plugin_is_loaded_before_the_bonus_is_read(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("import bonuslab as bl\n\n@bl.bonus('still', scope='global')\ndef still(step):\n    return 0\n")
    assert Config("MultiRoom-N6", bonus="2*still", plugins=(str(plugin),)).bonus == "2 * still"
