"""The configuration of a run: everything that decides what happens, checked before anything starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.algorithms.rllib.catalogue import AlgorithmEntry
from bonuslab.algorithms.rllib.catalogue import find as find_algorithm
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.hyperparameters import parse_value, require_known, specs_of
from bonuslab.envs import catalogue as environments
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.family import COMMON_SETTINGS

MOST_STEPS = 2**53
"""Environment steps a run may have, and intervals between its checkpoints and evaluations."""


@dataclass(frozen=True)
class Config:
    """A run. The same configuration gives the same run, bit for bit in serial mode."""

    task: str
    """Name of an environment."""
    bonus: str = "none"
    """Bonus expression, such as `e3b * rnd`."""
    algorithm: str = "impala"
    """`impala` or `ddppo`."""
    preset: str = "laptop"
    """Named set of hyperparameters, one of the algorithm's (`bonuslab presets`)."""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the preset, by name: `{"lr": 3e-4}`."""
    contexts: str = "inf"
    """How many contexts the run meets: a number or `inf`."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the environment, those of its family: `max_steps`, `sticky`, `data_path`, …"""
    seed: int = 0
    serial: bool = False
    """All pieces in one process."""
    resources: str = "auto"
    """Processes and devices: `auto`, `laptop`, `workstation` or `cluster`."""
    plugins: Sequence[str | Mapping[str, str]] = ()
    """Python files that register further bonuses, features, networks or environments; in a run's folder, its copies."""
    checkpoint_every_steps: int | None = None
    """Environment steps between checkpoints; None: every five minutes. There is always one at the end."""
    evaluate_every_steps: int | None = None
    """Environment steps between evaluations on held-out contexts; None: only at the end; 0: never."""

    def __post_init__(self) -> None:
        for plugin in self.plugins:
            if isinstance(plugin, str):  # of copies, the folder's owner or the sender has registered the content
                load_plugin(plugin)
        object.__setattr__(self, "plugins", tuple(self.plugins))
        object.__setattr__(self, "contexts", str(self.contexts))
        object.__setattr__(self, "bonus", str(parse("none" if self.bonus is None else str(self.bonus))))
        environments.canonical_name(self.task)
        self._check_env()
        _check_whole("seed", self.seed, 0, 2**31 - 1)
        for name, low in (("checkpoint_every_steps", 1), ("evaluate_every_steps", 0)):
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name), low, MOST_STEPS)
        self.values.check()
        self._algorithm.choose_resources(self.resources)
        self.rllib().validate()

    @classmethod
    def of(cls, task: str, **settings: Any) -> Config:
        """A configuration from fields and hyperparameters side by side: `Config.of("KeyRoom-S5", seed=1, lr=3e-4)`.

        `steps` is short for `total_env_steps`.
        """
        if "steps" in settings:
            settings["total_env_steps"] = settings.pop("steps")
        settings = {name: value for name, value in settings.items() if name != "total_env_steps" or value is not None}
        kind = find_algorithm(settings.get("algorithm", cls.algorithm)).hyperparameters
        known = {item.name for item in dataclasses.fields(cls)}
        values = {name: settings.pop(name) for name in list(settings) if name in specs_of(kind)}
        for name in settings:
            if name not in known:
                require_known(kind, name, besides=known)
        values = {**settings.pop("hyperparameters", {}), **values}
        return cls(task, **settings, hyperparameters=values)

    @property
    def values(self) -> Any:
        """All hyperparameters: the preset with this run's changes."""
        preset = self._algorithm.preset(self.preset)
        return preset.values.changed(**self.hyperparameters)

    @property
    def steps(self) -> int:
        """Environment steps after which the run ends."""
        return self.values.total_env_steps

    def rllib(self) -> FragmentConfig:
        """RLlib's configuration of this run; `resources="auto"` looks at the machine, or at the cluster if Ray runs."""
        name = environments.canonical_name(self.task)
        config = self._algorithm.config().environment(name, env_config={"contexts": self.contexts, **self.env})
        config.apply(self.values).bonus(self.bonus).debugging(seed=self.seed, log_level="ERROR")
        return (
            config.run_serially() if self.serial else self._algorithm.choose_resources(self.resources).configure(config)
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        plain = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return plain | {
            "hyperparameters": dict(self.hyperparameters),
            "env": dict(self.env),
            "plugins": list(self.plugins),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """The inverse of `as_dict`."""
        known = {item.name for item in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise unknown("setting", name, known)
        if "task" not in values:
            raise InvalidInput("the configuration of a run must name its task")
        return cls(**values)

    def _check_env(self) -> None:
        for name in self.env:
            if name in COMMON_SETTINGS:
                raise InvalidInput(f"environment setting {name!r} is decided by the run; set it there")
        environments.check_settings(self.task, contexts=self.contexts, **self.env)

    @property
    def _algorithm(self) -> AlgorithmEntry:
        return find_algorithm(self.algorithm)


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not low <= value <= high:  # type: ignore[operator]
        raise InvalidInput(f"invalid {name} {value!r}; allowed: whole numbers from {low} to {high}")


def parse_setting(text: str, algorithm: str = "impala") -> tuple[str, Any]:
    """`name=value` for a hyperparameter, converted to its type."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"invalid --set {text!r}; write name=value, for example lr=0.0003")
    return name, parse_value(find_algorithm(algorithm).hyperparameters, name, value)


def parse_env_setting(text: str) -> tuple[str, Any]:
    """`name=value` for a setting of an environment: a number, true, false or a text, as its family will check."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"invalid --env {text!r}; write name=value, for example max_steps=200")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value
