"""One training run as data: everything that decides what happens, checked before anything starts."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from bonuslab.algorithms.bonuses import load_plugin, parse
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.presets import Preset, overridden, preset
from bonuslab.algorithms.impala.resources import Plan, choose_plan
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack import task as find_task
from bonuslab.envs.minihack.contexts import parse_count

FILE = "run.json"


@dataclass(frozen=True)
class RunSettings:
    """A run: the same settings give the same run, serially on one machine to the last bit."""

    task: str
    """Name of a MiniHack task, a parametric one included."""
    bonus: str = "none"
    """Bonus expression."""
    preset: str = "laptop"
    """Named set of numbers to start from."""
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

    def __post_init__(self) -> None:
        for path in self.plugins:
            load_plugin(path)
        find_task(self.task)
        parse(self.bonus)
        parse_count(self.contexts)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**31:
            raise InvalidInput(f"seed {self.seed!r} cannot be used; allowed: whole numbers from 0 to 2**31 - 1")
        if self.steps < 1:
            raise InvalidInput(f"total_env_steps {self.steps} cannot be used; allowed: whole numbers from 1")

    @property
    def numbers(self) -> Preset:
        """The preset with this run's changes."""
        return overridden(preset(self.preset), **dict(self.overrides))

    @property
    def steps(self) -> int:
        """Environment steps after which the run ends."""
        return self.numbers.total_env_steps if self.total_env_steps is None else self.total_env_steps

    def config(self, plan: Plan | None = None) -> IMPALAConfig:
        """RLlib's configuration of this run."""
        config = IMPALAConfig().environment(find_task(self.task).name, env_config={"contexts": self.contexts})
        self.numbers.configure(config)
        config.bonus(self.bonus, plugins=self.plugins).debugging(seed=self.seed, log_level="ERROR")
        if self.serial:
            return config.run_serially()
        return (plan or choose_plan(self.plan)).configure(config)

    def save(self, folder: Path) -> None:
        """Write `run.json`."""
        (folder / FILE).write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> RunSettings:
        """Read `run.json`."""
        path = Path(folder) / FILE
        if not path.is_file():
            raise InvalidInput(f"{folder} is not the folder of a run: it has no {FILE}")
        try:
            values = json.loads(path.read_text())
            values["plugins"] = tuple(values["plugins"])
            values["overrides"] = tuple((name, value) for name, value in values["overrides"])
            return cls(**values)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path} cannot be read as a run's settings: {error}") from error


def parse_override(text: str) -> tuple[str, Any]:
    """`name=value` for a number of the preset, converted to that number's type."""
    name, equals, value = text.partition("=")
    types = get_type_hints(Preset)
    if not equals:
        raise InvalidInput(f"--set {text!r} cannot be used; write name=value, for example learning_rate=0.0003")
    if name not in types:
        raise unknown("setting", name, types)
    return name, _convert(name, value, types[name])


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
