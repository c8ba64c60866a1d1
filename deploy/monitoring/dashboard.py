"""Writes the Grafana dashboard from the table of metrics: `python deploy/monitoring/dashboard.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from bonuslab.algorithms.rllib.metrics import METRICS, SHARE, Metric, find
from bonuslab.algorithms.rllib.telemetry import OTHERS

FILE = Path(__file__).parent / "grafana" / "dashboards" / "bonuslab.json"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
CHOSEN = ("task", "bonus", "seed")
"""Labels of every gauge, and the choices above the dashboard."""
COLUMNS = 24
UNITS = {SHARE: "percentunit", "s": "s"}
BONUS_METRICS = "(bonus|term|learn).*"
Panel = dict[str, Any]


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "title": "bonuslab",
        "uid": "bonuslab",
        "description": "Results, bonuses, learning and speed of runs, from the gauges of algorithms/rllib/metrics.py.",
        "tags": ["bonuslab", "ray"],
        "schemaVersion": 39,
        "version": 2,
        "editable": True,
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-6h", "to": "now"},
        "graphTooltip": 1,
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": list(_variables())},
        "panels": [{"id": number, **panel} for number, panel in enumerate(_placed(_panels()), 1)],
    }


def text() -> str:
    """The dashboard as JSON, one line per panel."""
    whole = dashboard()
    panels = ",\n  ".join(json.dumps(panel, ensure_ascii=False) for panel in whole.pop("panels"))
    front = json.dumps(whole, ensure_ascii=False).removesuffix("}")
    return f'{front},\n "panels": [\n  {panels}\n ]\n}}\n'


def _panels() -> Iterator[Panel]:
    """All panels, each as wide and high as its `gridPos` says, in reading order."""
    steps, speed, won, returned = (
        find(name) for name in ("env_steps", "env_steps_per_second", "win_rate", "episode_return")
    )
    yield _stat("Trials reporting", f"count({_select(steps.gauge_name)})")
    yield _stat("Environment steps per second, all trials", f"sum({_select(speed.gauge_name)})")
    yield _stat("Environment steps, all trials", f"sum({_select(steps.gauge_name)})")
    yield _stat("Mean win rate", f"avg({_select(won.gauge_name)})", UNITS[SHARE])
    yield _row("Bonuses compared: means over tasks and seeds")
    yield from (_chart(metric, ("bonus",), 12) for metric in (won, returned))
    gauges = [find(metric.name) for metric in METRICS if metric.gauge]
    for group, members in groupby(gauges, key=lambda metric: metric.group):
        yield _row(f"{group}: means over seeds")
        yield from (_chart(metric, ("task", "bonus"), 8) for metric in members)
        if group in ("Bonus", "Learning"):
            title = "Terms, σ and models of the bonus" if group == "Bonus" else "Other metrics"
            sign = "=~" if group == "Bonus" else "!~"
            chosen = _select(OTHERS, f', metric{sign}"{BONUS_METRICS}"')
            yield _lines(title, "", f"avg by (bonus, metric) ({chosen})", ("bonus", "metric"), COLUMNS, "")


def _chart(metric: Metric, by: tuple[str, ...], width: int) -> Panel:
    function = "sum" if metric.name.endswith("_per_second") else "avg"
    expression = f"{function} by ({', '.join(by)}) ({_select(metric.gauge_name)})"
    return _lines(metric.axis.capitalize(), metric.meaning, expression, by, width, metric.unit)


def _select(gauge: str, further: str = "") -> str:
    chosen = ", ".join(f'{label}=~"${label}"' for label in CHOSEN)
    return f"ray_{gauge}{{{chosen}{further}}}"


def _lines(title: str, description: str, expression: str, by: tuple[str, ...], width: int, unit: str) -> Panel:
    drawn = {"drawStyle": "line", "lineWidth": 2, "fillOpacity": 0, "showPoints": "never", "spanNulls": True}
    limits = {"min": 0, "max": 1} if unit == SHARE else {}
    legend = {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"], "showLegend": True}
    named = " · ".join(f"{{{{{label}}}}}" for label in by)
    panel = _panel("timeseries", title, (width, 8), UNITS.get(unit, "short"), expression, {"custom": drawn} | limits)
    panel["targets"][0]["legendFormat"] = named
    options = {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
    return panel | {"description": description, "options": options}


def _stat(title: str, expression: str, unit: str = "short") -> Panel:
    options = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "none", "graphMode": "area"}
    return _panel("stat", title, (6, 4), unit, expression, {}) | {"options": options}


def _panel(kind: str, title: str, size: tuple[int, int], unit: str, expression: str, defaults: Panel) -> Panel:
    return {
        "type": kind,
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"w": size[0], "h": size[1]},
        "fieldConfig": {"defaults": {"unit": unit, **defaults}, "overrides": []},
        "targets": [{"refId": "A", "datasource": SOURCE, "expr": expression}],
    }


def _row(title: str) -> Panel:
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"w": COLUMNS, "h": 1}}


def _placed(panels: Iterator[Panel]) -> Iterator[Panel]:
    """From left to right, in a new line where one does not fit."""
    x = y = line = 0
    for panel in panels:
        size = panel["gridPos"]
        if x + size["w"] > COLUMNS:
            x, y, line = 0, y + line, 0
        yield panel | {"gridPos": {**size, "x": x, "y": y}}
        x, line = x + size["w"], max(line, size["h"])


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}}
    for place, label in enumerate(CHOSEN):
        earlier = ", ".join(f'{name}=~"${name}"' for name in CHOSEN[:place])
        gauge = f"ray_{find('env_steps').gauge_name}" + (f"{{{earlier}}}" if earlier else "")
        query = f"label_values({gauge}, {label})"
        yield {
            "name": label,
            "label": label,
            "type": "query",
            "datasource": SOURCE,
            "definition": query,
            "query": {"query": query, "refId": label},
            "refresh": 2,
            "sort": 3 if label == "seed" else 1,
            "multi": True,
            "includeAll": True,
            "current": {"text": ["All"], "value": ["$__all"]},
        }


if __name__ == "__main__":
    FILE.write_text(text())
    print(f"wrote {FILE}: {len(dashboard()['panels'])} panels")
