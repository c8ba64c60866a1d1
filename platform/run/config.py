"""The configuration of a run, validated before anything starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.catalogue import AlgorithmEntry
from bonuslab.algorithms.catalogue import find as find_algorithm
from bonuslab.algorithms.extensions import load_plugin
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.hyperparameters import parse_value, require_known, specs_of
from bonuslab.envs import catalogue as environments
from bonuslab.envs.errors import InvalidInput, check_integer, unknown
from bonuslab.envs.family import COMMON_SETTINGS
from bonuslab.platform.run.rows import MAX_STEPS


@dataclass(frozen=True)
class Config:
    """A run. In serial mode, the same configuration reproduces the run bit for bit."""

    task: str
    """Name of an environment."""
    bonus: str = "none"
    """Bonus expression, such as `e3b * rnd`."""
    algorithm: str = "impala"
    """`impala` or `ddppo`."""
    preset: str = "auto"
    """Hyperparameter preset of the algorithm (`bonuslab presets`); `auto` is replaced by what suits the environment."""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the preset, by name: `{"lr": 3e-4}`."""
    contexts: str = "auto"
    """Number of training contexts, or `inf`; `auto` is replaced by `inf`, or by 1 where there is only one."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Environment settings: `max_steps`, `sticky`, `data_path`, …"""
    seed: int = 0
    serial: bool = False
    """Run everything in one process."""
    resources: str = "auto"
    """Processes and devices: `auto`, `laptop`, `workstation` or `cluster`."""
    plugins: Sequence[str | Mapping[str, str]] = ()
    """Python files that register bonuses, features, networks or environments; in a run's folder, its copies."""
    checkpoint_every_steps: int | None = None
    """Environment steps between checkpoints; None: every five minutes. The last step always has one."""
    evaluate_every_steps: int | None = None
    """Environment steps between evaluations on held-out contexts; None: only at the end; 0: never."""

    def __post_init__(self) -> None:
        for plugin in self.plugins:
            if isinstance(plugin, str):  # copies are registered by whoever opens the folder or sends the config
                load_plugin(plugin)
        object.__setattr__(self, "plugins", tuple(self.plugins))
        object.__setattr__(self, "contexts", str(self.contexts))
        object.__setattr__(self, "bonus", str(parse("none" if self.bonus is None else str(self.bonus))))
        environments.canonical_name(self.task)
        if self.preset == "auto":
            object.__setattr__(self, "preset", environments.default_preset(self.task))
        if self.contexts == "auto":
            object.__setattr__(self, "contexts", "inf" if environments.find(self.task).many_contexts else "1")
        self._check_env()
        check_integer("seed", self.seed, 0, 2**31 - 1)
        for name, low in (("checkpoint_every_steps", 1), ("evaluate_every_steps", 0)):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low, MAX_STEPS)
        self.values.check()
        self._algorithm.choose_resources(self.resources)
        self.rllib().validate()

    @classmethod
    def of(cls, task: str, **settings: Any) -> Config:
        """A configuration from fields and hyperparameters alike: `Config.of("KeyRoom-S5", seed=1, lr=3e-4)`.

        `steps` is short for `total_env_steps`.
        """
        if (steps := settings.pop("steps", None)) is not None:
            settings["total_env_steps"] = steps
        if settings.get("total_env_steps", 0) is None:  # the preset's
            del settings["total_env_steps"]
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
        """All hyperparameters: the preset's, with this run's changes."""
        preset = self._algorithm.preset(self.preset)
        return preset.values.changed(**self.hyperparameters)

    @property
    def steps(self) -> int:
        """Total environment steps."""
        return self.values.total_env_steps

    def rllib(self) -> FragmentConfig:
        """The RLlib configuration; `resources="auto"` inspects the machine, or the cluster if Ray is running."""
        name = environments.canonical_name(self.task)
        config = self._algorithm.config().environment(name, env_config={"contexts": self.contexts, **self.env})
        config.apply(self.values).bonus(self.bonus).debugging(seed=self.seed, log_level="ERROR")
        return (
            config.run_serially() if self.serial else self._algorithm.choose_resources(self.resources).configure(config)
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON-serialisable values."""
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
            raise InvalidInput("a run's configuration needs a task")
        return cls(**values)

    def _check_env(self) -> None:
        for name in self.env:
            if name in COMMON_SETTINGS:
                raise InvalidInput(f"environment setting {name!r} is set by the run")
        environments.check_settings(self.task, contexts=self.contexts, **self.env)

    @property
    def _algorithm(self) -> AlgorithmEntry:
        return find_algorithm(self.algorithm)


def parse_setting(text: str, algorithm: str = "impala") -> tuple[str, Any]:
    """`name=value` of a hyperparameter, converted to its type."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"invalid --set {text!r}; write name=value, for example lr=0.0003")
    return name, parse_value(find_algorithm(algorithm).hyperparameters, name, value)


def parse_env_setting(text: str) -> tuple[str, Any]:
    """`name=value` of an environment setting, as a number, bool or string."""
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
