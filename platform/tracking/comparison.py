"""The MLflow page that compares global, episodic and combined bonuses, and the link to it.

MLflow restores a shared view by a key in the link; the view itself is a tag of the experiment, as written by MLflow's
"share" button. We write one per grid.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bonuslab.algorithms.rllib.metrics import METRICS, MLFLOW, RESULTS, SHARE, find
from bonuslab.platform.run.folder import GridDescription
from bonuslab.platform.tracking import run_description as words

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

_TAG = "mlflow.sharedViewState."
_COLUMNS = ("task", "bonus", "scope", "seed", "status")


def save_comparison(client: MlflowClient, experiment: Experiment, description: GridDescription, grid_id: str) -> None:
    """Store the view, unless it is already there."""
    name, value = f"{_TAG}{grid_id}", json.dumps(view_state(description, grid_id))
    if experiment.tags.get(name) != value:
        client.set_experiment_tag(experiment.experiment_id, name, value)


def comparison_link(address: str, experiment_id: str, grid_id: str) -> str:
    """Link to the comparison on a server at `address`."""
    page = f"{address.rstrip('/')}/#/experiments/{experiment_id}/runs"
    return f"{page}?viewStateShareKey={grid_id}&compareRunsMode=CHART&workflowType=machine_learning"


def view_state(description: GridDescription, grid_id: str) -> dict[str, Any]:
    """This grid's trials, averaged over tasks and seeds per scope and bonus, the headline metric first.

    Charts without data are hidden.
    """
    headline = str(description.options.get("metric") or METRICS[0].name)
    sections = {RESULTS: [words.metric_name(headline)]}
    for metric in METRICS:
        if MLFLOW in metric.drawn and metric.name != headline:
            sections.setdefault(metric.group, []).append(metric.name)
    charts = [
        _chart(metric, number, section) for number, section in enumerate(sections) for metric in sections[section]
    ]
    return {
        "searchFilter": f"tags.`{words.GRID_ID}` = '{grid_id}' and tags.`{words.KIND}` = 'trial'",
        "orderByKey": "attributes.start_time",
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "selectedColumns": [f"tags.`{name}`" for name in _COLUMNS],
        "runsHiddenMode": "SHOWALL",
        "groupBy": {
            "aggregateFunction": "average",
            "groupByKeys": [{"mode": "tag", "groupByData": words.SERIES}],
        },
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "compareRunSections": [
            {"uuid": f"section-{number}", "name": name, "display": True, "isReordered": True, "columns": 2}
            for number, name in enumerate(sections)
        ],
        "compareRunCharts": charts,
    }


def _chart(metric: str, section: int, name: str) -> dict[str, Any]:
    return {
        "type": "LINE",
        "uuid": f"{name}-{metric}",
        "metricSectionId": f"section-{section}",
        "deleted": False,
        "isGenerated": False,
        "metricKey": metric,
        "selectedMetricKeys": [metric],
        "xAxisKey": "step",
        "scaleType": "linear",
        "lineSmoothness": 0,
        "displayPoints": metric.startswith("evaluation/"),  # few, often one: a line alone would not show it
        "runsCountToCompare": 10,
        "range": {"yMin": -0.02, "yMax": 1.02} if find(metric).unit == SHARE else {},
    }
