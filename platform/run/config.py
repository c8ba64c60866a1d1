"""One training run as data: everything that decides what happens, checked before anything starts."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from bonuslab.algorithms.bonuses import load_plugin, parse
from bonuslab.algorithms.rllib.catalogue import LearningAlgorithm, Numbers
from bonuslab.algorithms.rllib.catalogue import find as find_algorithm
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs import catalogue as environments
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.family import COMMON_SETTINGS


@dataclass(frozen=True)
class RunSettings:
    """A run: the same settings give the same run, serially on one machine to the last bit."""

    task: str
    """Name of an environment: a MiniHack task, a parametric one included, or one of another family."""
    bonus: str = "none"
    """Bonus expression."""
    preset: str = "laptop"
    """Named set of numbers to start from, one of the algorithm's."""
    contexts: str = "inf"
    """How many contexts the run meets: a number or `inf`."""
    seed: int = 0
    total_env_steps: int | None = None
    """None: the preset's."""
    serial: bool = False
    """All pieces in one process."""
    plan: str = "auto"
    """Resource plan: `auto`, `laptop`, `workstation` or `cluster`."""
    plugins: tuple[str, ...] = ()
    """Python files that register further bonuses."""
    overrides: tuple[tuple[str, Any], ...] = ()
    """Numbers of the preset that this run changes."""
    checkpoint_every_steps: int | None = None
    """Environment steps between checkpoints; None: every ten minutes. There is always one at the end."""
    evaluate_every_steps: int | None = None
    """Environment steps between evaluations on held-out contexts; None: at the end alone; 0: never."""
    algorithm: str = "impala"
    """`impala` or `ddppo`."""
    env: tuple[tuple[str, Any], ...] = ()
    """Settings of the environment, those of its family: `max_steps`, Montezuma's `sticky`, HM3D's `data_path`, …"""

    def __post_init__(self) -> None:
        for path in self.plugins:
            load_plugin(path)
        environments.canonical_name(self.task)
        parse(self.bonus)
        self._check_env()
        _check_whole("seed", self.seed, 0, 2**31 - 1)
        if self.total_env_steps is not None:
            _check_whole("total_env_steps", self.total_env_steps, 1)
        if self.checkpoint_every_steps is not None:
            _check_whole("checkpoint_every_steps", self.checkpoint_every_steps, 1)
        if self.evaluate_every_steps is not None:
            _check_whole("evaluate_every_steps", self.evaluate_every_steps, 0)
        check_numbers(self.numbers)
        self._algorithm.choose_plan(self.plan)
        self.config().validate()

    @property
    def numbers(self) -> Numbers:
        """The preset with this run's changes."""
        return self._algorithm.preset(self.preset, dict(self.overrides))

    @property
    def steps(self) -> int:
        """Environment steps after which the run ends."""
        return self.numbers.total_env_steps if self.total_env_steps is None else self.total_env_steps

    def config(self) -> FragmentConfig:
        """RLlib's configuration of this run; the plan `auto` looks at the machine, or at the cluster if Ray runs."""
        name = environments.canonical_name(self.task)
        config = self._algorithm.config().environment(name, env_config={"contexts": self.contexts, **dict(self.env)})
        self.numbers.configure(config)
        config.bonus(self.bonus, plugins=self.plugins).debugging(seed=self.seed, log_level="ERROR")
        return config.run_serially() if self.serial else self._algorithm.choose_plan(self.plan).configure(config)

    def _check_env(self) -> None:
        for name, _ in self.env:
            if name in COMMON_SETTINGS:
                raise InvalidInput(f"environment setting {name!r} cannot be used; the run decides it")
        environments.check_settings(self.task, contexts=self.contexts, **dict(self.env))

    @property
    def _algorithm(self) -> LearningAlgorithm:
        return find_algorithm(self.algorithm)

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values that JSON can hold."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunSettings:
        """The inverse of `as_dict`, also after a way through JSON."""
        known = {item.name for item in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise unknown("setting", name, known)
        if "task" not in values:
            raise InvalidInput("the settings of a run must name its task")
        plugins = tuple(values.get("plugins", ()))
        pairs = {field: tuple((name, value) for name, value in values.get(field, ())) for field in ("overrides", "env")}
        return cls(**{**values, "plugins": plugins, **pairs})


_POSITIVE = (math.ulp(0.0), math.inf)
_FROM_ONE = (1, math.inf)
_RANGES: dict[str, tuple[float, float]] = {
    "learning_rate": _POSITIVE,
    "adam_epsilon": _POSITIVE,
    "rmsprop_smoothing": (0, 1),
    "rmsprop_momentum": (0, 1),
    "rmsprop_epsilon": _POSITIVE,
    "unroll_length_steps": _FROM_ONE,
    "envs_per_batch": _FROM_ONE,
    "max_gradient_norm": _POSITIVE,
    "entropy_cost": (0, math.inf),
    "baseline_cost": (0, math.inf),
    "discount": (0, 1),
    "clip_rho": _POSITIVE,
    "clip_c": _POSITIVE,
    "trace_decay": (0, 1),
    "passes": _FROM_ONE,
    "minibatches": _FROM_ONE,
    "surrogate_clip": _POSITIVE,
    "policy_clip": _POSITIVE,
    "value_clip": _POSITIVE,
    "num_values": (1, 2),
    "intrinsic_discount": (0, 1),
    "extrinsic_advantage": (0, math.inf),
    "intrinsic_advantage": (0, math.inf),
    "bonus_updates": _FROM_ONE,
    "warm_up_steps": (0, math.inf),
    "sync_fraction": (0, 1),
    "shortest_rollout": (0, 1),
    "coefficient": (0, math.inf),
    "reward_clip": _POSITIVE,
    "total_env_steps": _FROM_ONE,
}
"""Lowest and highest value of each number of a preset; infinity itself is never allowed."""


def check_numbers(numbers: Numbers) -> None:
    """Refuse a preset with a number that no run can use."""
    for name, (low, high) in _RANGES.items():
        value = getattr(numbers, name, None)
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not low <= value <= high or not math.isfinite(value):
            allowed = "more than 0" if (low, high) == _POSITIVE else f"{low:g} or more"
            if math.isfinite(high):
                allowed = f"from {low:g} to {high:g}"
            raise InvalidInput(f"{name}={value!r} cannot be used; allowed: {allowed}")


def _check_whole(name: str, value: object, low: int, high: int | None = None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):  # type: ignore[operator]
        allowed = f"whole numbers from {low}" + ("" if high is None else f" to {high}")
        raise InvalidInput(f"{name} {value!r} cannot be used; allowed: {allowed}")


def parse_override(text: str, algorithm: str = "impala") -> tuple[str, Any]:
    """`name=value` for a number of the algorithm's presets, converted to that number's type."""
    name, equals, value = text.partition("=")
    types = get_type_hints(find_algorithm(algorithm).numbers)
    if not equals:
        raise InvalidInput(f"--set {text!r} cannot be used; write name=value, for example learning_rate=0.0003")
    if name not in types:
        raise unknown("setting", name, types)
    return name, _convert(name, value, types[name])


def parse_env_setting(text: str) -> tuple[str, Any]:
    """`name=value` for a setting of an environment: a number, true, false or a text, as its family will check."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"--env {text!r} cannot be used; write name=value, for example max_steps=200")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


def _convert(name: str, value: str, kind: Any) -> Any:
    choices = get_args(kind)
    if type(None) in choices:
        if value.lower() == "none":
            return None
        kind = next(choice for choice in choices if choice is not type(None))
    elif choices and isinstance(choices[0], str):
        if value not in choices:
            raise unknown(name, value, choices)
        return value
    if kind is bool:
        if value.lower() not in ("true", "false"):
            raise InvalidInput(f"{name}={value!r} cannot be used; allowed: true, false")
        return value.lower() == "true"
    try:
        return kind(value.replace("_", "") if kind is int else value)
    except ValueError as error:
        raise InvalidInput(f"{name}={value!r} cannot be used; it must be {kind.__name__}") from error
