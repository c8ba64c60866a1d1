"""The page of MLflow's web interface that compares global, episodic and combined bonuses, and the link to it.

MLflow opens a page as someone left it by a key in the link; what the key means is a tag of the experiment, of the
kind that its own "share" button writes. We write one for each grid.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bonuslab.platform.run.folder import GridDescription
from bonuslab.platform.tracking import run_description as words

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

_TAG = "mlflow.sharedViewState."
_SECTIONS = {
    "Results": ("win_rate", "episode_return", "evaluation/sampled/win_rate", "evaluation/greedy/win_rate"),
    "Bonus": ("bonus/mean", "bonus_episodic/mean", "bonus_global/mean", "bonus/sigma"),
    "Training": ("entropy", "episode_length", "env_steps_per_second"),
}
"""Charts that have no data are not shown."""
_COLUMNS = ("task", "bonus", "scope", "seed", "status")


def save_comparison(client: MlflowClient, experiment: Experiment, description: GridDescription, grid_id: str) -> None:
    """Leave the page in the store, unless it is there."""
    name, value = f"{_TAG}{grid_id}", json.dumps(view_state(description, grid_id))
    if experiment.tags.get(name) != value:
        client.set_experiment_tag(experiment.experiment_id, name, value)


def comparison_link(address: str, experiment_id: str, grid_id: str) -> str:
    """Where a browser finds the comparison on a server at `address`."""
    page = f"{address.rstrip('/')}/#/experiments/{experiment_id}/runs"
    return f"{page}?viewStateShareKey={grid_id}&compareRunsMode=CHART&workflowType=machine_learning"


def view_state(description: GridDescription, grid_id: str) -> dict[str, Any]:
    """This grid's trials, averaged over tasks and seeds for each scope and bonus, the headline number first."""
    sections = dict(_SECTIONS)
    headline = description.options.get("metric")
    if headline:
        rest = [name for name in sections["Results"] if name != headline]
        sections["Results"] = (words.metric_name(str(headline)), *rest)
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
        "runsHiddenMode": "SHOW_ALL",
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
        "runsCountToCompare": 10,
        "range": {},
    }
