"""Hyperparameters: ranges, types, parsing and presets."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from bonuslab.algorithms import catalogue
from bonuslab.algorithms.ddppo.hyperparameters import PRESETS as DDPPO_PRESETS
from bonuslab.algorithms.ddppo.hyperparameters import DDPPOHyperparameters
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import PRESETS as IMPALA_PRESETS
from bonuslab.algorithms.impala.hyperparameters import IMPALAHyperparameters
from bonuslab.algorithms.rllib.hyperparameters import parse_value, specs_of, types_of
from bonuslab.envs.errors import InvalidInput

KINDS = (IMPALAHyperparameters, DDPPOHyperparameters)
ALL = [(kind, name) for kind in KINDS for name in specs_of(kind)]
PRESETS = [*IMPALA_PRESETS.values(), *DDPPO_PRESETS.values()]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=lambda value: getattr(value, "__name__", value))
def test_printed_values_parse_to_themselves(kind: Any, name: str) -> None:
    value = getattr(kind(), name)
    assert parse_value(kind, name, str(value)) == value
    spec = specs_of(kind)[name]
    assert spec.meaning
    assert spec.source


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_names_the_source_of_every_difference(preset: Any) -> None:
    defaults = type(preset.values)()
    changed = {name for name in specs_of(type(defaults)) if getattr(preset.values, name) != getattr(defaults, name)}
    preset.values.check()
    if preset.name != "paper":
        assert changed
    assert changed <= set(preset.sources)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("lr", 0.0, "more than 0"),
        ("lr", float("inf"), "more than 0"),
        ("lr", float("nan"), "more than 0"),
        ("gamma", 1.01, "from 0 to 1"),
        ("num_epochs", 0, "1 or more"),
        ("num_epochs", 1.5, "1 or more"),
        ("num_epochs", True, "1 or more"),
        ("rollout_fragment_length", 2**32, "from 1 to"),
        ("evaluation_duration", 0, "1 or more"),
        ("entropy_coeff", -1e-9, "0 or more"),
        ("clip_param", 0, "more than 0"),
        ("recurrent", 1, "bool"),
        ("network", 3, "str"),
        ("normalise", "mean", "unknown normalise 'mean'"),
    ],
)
def test_values_out_of_range_are_named(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(InvalidInput, match=name) as found:
        IMPALAHyperparameters(**{name: value}).check()
    assert allowed in str(found.value)
    with pytest.raises(InvalidInput, match=name):
        IMPALAConfig().environment("MultiRoom-N2").training(**{name: value}).validate()


def test_names_of_other_libraries_are_translated() -> None:
    with pytest.raises(InvalidInput, match="it is called lr here"):
        IMPALAHyperparameters().changed(learning_rate=1e-3)
    with pytest.raises(InvalidInput, match="it is called num_epochs here"):
        parse_value(IMPALAHyperparameters, "epochs", "3")


@pytest.mark.parametrize(
    ("name", "text"), [("lr", "fast"), ("num_epochs", "1.5"), ("recurrent", "yes"), ("normalise_at", "everywhere")]
)
def test_invalid_text_is_rejected(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        parse_value(IMPALAHyperparameters, name, text)


def test_none_is_valid_only_for_optional_types() -> None:
    assert parse_value(IMPALAHyperparameters, "clip_param", "none") is None
    with pytest.raises(InvalidInput, match="lr"):
        parse_value(IMPALAHyperparameters, "lr", "none")
    assert type(None) in get_args(types_of(IMPALAHyperparameters)["reward_clip"])


def test_the_bonus_uses_the_policys_network_by_default() -> None:
    config = IMPALAConfig().environment("MultiRoom-N2").training(network="small").bonus("e3b")
    from gymnasium.spaces import Discrete

    from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
    from bonuslab.algorithms.rllib.intrinsic_reward import IntrinsicReward

    def network() -> str:
        pipeline = config.build_learner_connector(OBSERVATION_SPACE, Discrete(NUM_ACTIONS))
        return next(piece for piece in pipeline.connectors if isinstance(piece, IntrinsicReward)).model.setting.network

    assert network() == "small"
    config.training(bonus_network="paper")
    assert network() == "paper"


@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("cpus", [4, 8, 12, 16, 64])
@pytest.mark.parametrize("layout", ["workstation", "cluster"])
@pytest.mark.parametrize("algorithm", catalogue.ALGORITHMS)
def test_resources_fit_the_machine(algorithm: str, layout: str, cpus: int, gpus: float) -> None:
    entry = catalogue.find(algorithm)
    config = entry.choose_resources(layout, cpus, gpus).configure(entry.config())
    needed = config.algo_class.default_resource_request(config.to_dict()).required_resources
    assert needed["CPU"] <= cpus
    assert needed.get("GPU", 0) <= gpus
