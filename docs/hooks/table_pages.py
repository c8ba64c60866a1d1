"""Pages made from the code's own tables: presets, metrics, commands, tasks, features, networks and the zoo."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from mkdocs.structure.pages import Page

from bonuslab.algorithms.bonuses.features.state_features import _FEATURES
from bonuslab.algorithms.catalogue import ALGORITHMS, find
from bonuslab.algorithms.networks.registry import _FAMILIES
from bonuslab.algorithms.rllib.hyperparameters import specs_of
from bonuslab.algorithms.rllib.metrics import _SHARES, GROUPS, METRICS, Metric
from bonuslab.envs.minihack.tasks import TASKS, task
from bonuslab.platform.run.results import EVALUATION_MODES
from bonuslab.platform.run.zoo import entries

_BETTER = {True: "higher is better", False: "lower is better", None: ""}


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Replace `<!-- table: NAME -->` by that table."""
    return re.sub(r"<!-- table: (\w+) -->", lambda match: TABLES[match[1]](), markdown)


def presets() -> str:
    """A section per preset: every hyperparameter with its value, meaning and source."""
    parts = []
    for entry in map(find, ALGORITHMS):
        for preset in entry.presets.values():
            rows = [
                (f"`{name}`", f"`{_value(getattr(preset.values, name))}`", spec.meaning, preset.source(name))
                for name, spec in specs_of(type(preset.values)).items()
            ]
            parts += [f"\n## {preset.name} ({entry.name})\n", f"{_sentence(preset.description)}\n"]
            parts += [f"```bash\nbonuslab presets {preset.name} --algorithm {entry.name}\n```\n"]
            parts += [_table(("hyperparameter", "value", "meaning", "source"), rows)]
    return "\n".join(parts)


def metrics() -> str:
    """A section per group."""
    parts = []
    for group in GROUPS:
        if found := [metric for metric in METRICS if metric.group == group]:
            rows = [(f"`{_shown(m)}`", _meaning(m), m.unit, _BETTER[m.higher_is_better], _places(m)) for m in found]
            parts += [f"\n## {group}\n", _table(("column", "meaning", "unit", "", "drawn in"), rows)]
    return "\n".join(parts)


def commands() -> str:
    """A section per command: its help as argparse prints it."""
    parts = []
    for entry in sorted(entry_points(group="bonuslab.commands"), key=lambda found: found.name):
        command = entry.load()()
        parser = argparse.ArgumentParser(prog=f"bonuslab {entry.name}", add_help=False, formatter_class=_Wide)
        command.add_arguments(parser)
        parts += [f"\n## {entry.name}\n", f"{_sentence(command.help)}\n", f"```bash\n{command.example}\n```\n"]
        parts += [f"```text\n{parser.format_help().rstrip()}\n```"]
    return "\n".join(parts)


def tasks() -> str:
    """MiniHack's tasks."""
    rows = []
    for name in TASKS:
        found = task(name)
        short = name.removeprefix("MiniHack-").removesuffix("-v0")
        rows.append((f"`{short}`", f"{found.max_steps:,}", f"{len(found.actions)}", ", ".join(found.suites)))
    return _table(("task", "step limit", "actions", "suites"), rows)


def features() -> str:
    """What can be counted."""
    rows = [
        (f"`{name}`", ", ".join(f"`{key}`" for key in needs) or "any", _first_line(feature.function))
        for (name, needs), feature in sorted(_FEATURES.items())
    ]
    return _table(("feature", "reads", "is"), rows)


def networks() -> str:
    """Network families."""
    rows = [
        (f"`{name}`", _first_line(family.make_encoder), f"{family.core_size:,}") for name, family in _FAMILIES.items()
    ]
    return _table(("network", "encoder", "LSTM units"), rows)


def agents() -> str:
    """The zoo."""
    rows = [
        (f"`{name}`", f"`{entry.task}`", entry.contexts, f"`{entry.bonus}`", f"{entry.env_steps:,}", *entry.outcomes)
        for name, entry in entries().items()
    ]
    return _table(("agent", "task", "contexts", "bonus", "steps", *EVALUATION_MODES), rows)


TABLES: dict[str, Callable[[], str]] = {
    "presets": presets,
    "metrics": metrics,
    "commands": commands,
    "tasks": tasks,
    "features": features,
    "networks": networks,
    "agents": agents,
}


class _Wide(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=100)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in [head, *rows]]
    return "\n".join([f"| {lines[0]} |", "|---" * len(head) + "|", *(f"| {line} |" for line in lines[1:])])


def _meaning(metric: Metric) -> str:
    return f"{metric.meaning} Also `…_share`, `…_fraction`, `…coverage`." if _SHARES in metric.name else metric.meaning


def _shown(metric: Metric) -> str:
    """A column's name; a pattern with `NAME` for what varies."""
    name = metric.name.replace(_SHARES, "NAME_rate").replace(r"(?:term|bonus\w*)", "term")
    return re.sub(r"\(\[\^/\]\+\)|\(\\w\+\)|\(\.\+\)", "NAME", name).replace("(", "").replace(")", "")


def _places(metric: Metric) -> str:
    places = ["Grafana"] if metric.gauge else []
    drawn = [{"board": "board", "mlflow": "MLflow"}[place] for place in metric.drawn]
    return ", ".join([*drawn, *places])


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).lower()


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _first_line(function: Any) -> str:
    return (function.__doc__ or "").strip().splitlines()[0]
