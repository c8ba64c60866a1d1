"""Experiments as data: ids, labels, selections, and what is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.arguments import parse_seeds, selected_scale
from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.names import LONGEST_SLUG, slug

SCALE = Scale(
    "small",
    tasks=["MultiRoom-N2-S4", "MiniHack-KeyRoom-S5-v0"],
    bonuses=["none", "e3b*rnd"],
    seeds=[0, 3],
    settings={"preset": "laptop", "total_env_steps": 5_000, "num_minibatches": 2},
)
EXPERIMENT = Experiment("demo", "", {"small": SCALE}, "small", "win_rate", suites=lambda: {"keys": ["KeyRoom-S5"]})


def ids(scale: Scale) -> list[str]:
    return [trial.id for trial in scale.trials()]


def test_ids_are_stable_and_labels_say_what_a_trial_is() -> None:
    trials = SCALE.trials()
    assert len(trials) == 8
    assert trials[1].id == "MultiRoom-N2-S4__e3b-x-rnd__cinf__s0"
    assert trials[1].labels == {
        "task": "MultiRoom-N2-S4",
        "contexts": "inf",
        "bonus": "e3b * rnd",
        "scope": "combined",
        "seed": "0",
        "variant": "",
    }
    assert [trial.labels["seed"] for trial in trials] == ["0"] * 4 + ["3"] * 4
    assert trials[-1].id == "KeyRoom-S5__e3b-x-rnd__cinf__s3"
    config = Config.from_dict(trials[1].config)
    assert (config.bonus, config.steps, config.serial) == ("e3b * rnd", 5_000, True)
    assert config.hyperparameters == {"total_env_steps": 5_000, "num_minibatches": 2}
    assert trials[1].hyperparameters == vars(config.values)


def test_two_names_of_the_same_trial_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two trials have the name MultiRoom-N2-S4__none__cinf__s0"):
        EXPERIMENT.selected("small", tasks=["MultiRoom-N2-S4", "MiniHack-MultiRoom-N2-S4-v0"]).trials()
    with pytest.raises(InvalidInput, match="two trials have the name"):
        EXPERIMENT.selected("small", bonuses=["e3b*rnd", "e3b  *  rnd"]).trials()


def test_the_length_of_a_preset_is_written_down() -> None:
    trial = EXPERIMENT.selected("small", settings={"total_env_steps": None}).trials()[0]
    assert (trial.total_env_steps, trial.hyperparameters["lr"]) == (300_000, 2e-3)


def test_variants_and_adjustments() -> None:
    def adjust(point: Any) -> dict[str, Any] | None:
        return None if point.bonus == "none" and point.variant else {"total_env_steps": 100 * (point.seed + 1)}

    axes = {"variants": {"": {}, "coefficient 1": {"coefficient": 1.0}}, "adjust": adjust, "tasks": ["KeyRoom-S5"]}
    trials = EXPERIMENT.selected("small", **axes).trials()
    assert [trial.id for trial in trials] == [
        "KeyRoom-S5__none__cinf__s0",
        "KeyRoom-S5__e3b-x-rnd__cinf__s0",
        "KeyRoom-S5__e3b-x-rnd__cinf__s0__coefficient-1",
        "KeyRoom-S5__none__cinf__s3",
        "KeyRoom-S5__e3b-x-rnd__cinf__s3",
        "KeyRoom-S5__e3b-x-rnd__cinf__s3__coefficient-1",
    ]
    assert Config.from_dict(trials[-1].config).values.coefficient == 1.0
    assert trials[-1].total_env_steps == 400
    assert trials[-1].labels["variant"] == "coefficient 1"


def test_the_command_line_selects() -> None:
    given = {"suite": "keys", "bonuses": ["e3b"], "seeds": ["1-3"], "contexts": ["1", "10"], "steps": 77}
    trials = selected_scale({**given, "set": ["lr=0.5"], "env": ["max_steps=9"]}, EXPERIMENT).trials()
    assert [trial.id for trial in trials] == [f"KeyRoom-S5__e3b__c{c}__s{s}" for s in (1, 2, 3) for c in (1, 10)]
    config = Config.from_dict(trials[0].config)
    assert config.steps == 77
    assert config.env == {"max_steps": 9}
    assert (config.values.lr, config.values.num_minibatches) == (0.5, 2)
    assert trials[0].labels["suite"] == "keys"


def test_one_cpu_is_one_process_and_more_are_not() -> None:
    assert selected_scale({"cpus_per_trial": 1}, EXPERIMENT).resources == TrialResources(1, 0.0)
    scale = selected_scale({"cpus_per_trial": 4, "gpus_per_trial": 0.5}, EXPERIMENT)
    assert scale.resources == TrialResources(4, 0.5)
    assert scale.trials()[0].config["serial"] is False
    with pytest.raises(InvalidInput, match="give it more CPUs"):
        selected_scale({"gpus_per_trial": 1.0}, EXPERIMENT)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": "smal"}, "did you mean small"),
        ({"suite": "keyz"}, "did you mean keys"),
        ({"suite": "keys", "tasks": ["KeyRoom-S5"]}, "cannot be given together"),
        ({"seeds": ["one"]}, "--seeds 'one'"),
        ({"seeds": ["3-1"]}, "must ascend"),
        ({"tasks": ["KeyRum-S5"]}, "KeyRoom"),
        ({"bonuses": ["e3c"]}, "e3b"),
        ({"steps": 0}, "total_env_steps=0"),
        ({"set": ["lr=fast"]}, "invalid lr='fast'"),
        ({"set": ["learning_rate=1"]}, "it is called lr here"),
        ({"contexts": ["-1"]}, "-1"),
        ({"env": ["max_step=9"]}, "did you mean max_steps"),
    ],
)
def test_bad_input_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        selected_scale(given, EXPERIMENT).trials()


@pytest.mark.parametrize("option", ["--seeds", "--contexts"])
def test_endless_numbers_are_refused_in_a_short_sentence(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ExperimentCommand()
    command.experiment = EXPERIMENT
    assert command.main([option, "1" * 5_000]) == 2
    told = capsys.readouterr().err
    assert "111…" in told
    assert len(told.splitlines()) == 1
    assert len(told) < 300


def test_seeds() -> None:
    assert parse_seeds(["0", "4-6", "2"]) == [0, 4, 5, 6, 2]


def test_long_expressions_keep_their_own_names() -> None:
    long = " + ".join(["e3b(ridge=0.25)"] * 9)
    assert slug(long) != slug(f"{long} + rnd")
    assert len(slug(long)) <= LONGEST_SLUG + 9
    assert slug("e3b + 100 * noveld(c=0.1)") == "e3b-plus-100-x-noveld-c-0.1"
