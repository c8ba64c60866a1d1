"""The Grafana dashboard and the Prometheus configuration fit what Ray exports of our gauges."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from ray._private.ray_constants import PROMETHEUS_SERVICE_DISCOVERY_FILE

from bonuslab.algorithms.rllib.metrics import METRICS
from bonuslab.algorithms.rllib.telemetry import OTHERS

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
BOARD = json.loads((FOLDER / "grafana" / "dashboards" / "bonuslab.json").read_text())
EXPRESSIONS = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", [])]
GAUGES = {metric.gauge_name for metric in METRICS if metric.gauge}
PUBLISH = """
import os, sys, time, types, urllib.request
import ray
from ray._private.ray_constants import PROMETHEUS_SERVICE_DISCOVERY_FILE
from bonuslab.algorithms.rllib.metrics import METRICS
from bonuslab.algorithms.rllib.telemetry import Telemetry

ray.init(address="local", num_cpus=1, include_dashboard=True, logging_level="ERROR", _temp_dir=sys.argv[1])
results = {}
for metric in METRICS:
    if metric.gauge:
        *sections, key = metric.place.split("/")
        level = results
        for section in sections:
            level = level.setdefault(section, {})
        level[key] = 1.0
results["unknown"] = 2.0
config = types.SimpleNamespace(env="MultiRoom-N6", bonus_expression="e3b * rnd", seed=3)
telemetry = Telemetry(config)
published = telemetry.publish(results)
assert published.keys() == {metric.name for metric in METRICS if metric.gauge} | {"unknown"}, published
node = ray.nodes()[0]
address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
nodes = os.path.join(sys.argv[1], PROMETHEUS_SERVICE_DISCOVERY_FILE)
text = ""
for _ in range(1200):
    telemetry.publish(results)
    time.sleep(0.5)
    try:
        text = urllib.request.urlopen(address, timeout=60).read().decode()
    except OSError:
        continue
    if text.count("# TYPE ray_bonuslab_") >= len(published) and os.path.exists(nodes):
        break
print(open(nodes).read())
print("\\n".join(line for line in text.splitlines() if line.startswith("ray_bonuslab_")))
ray.shutdown()
"""


def names(expression: str) -> set[str]:
    return {name.removeprefix("ray_") for name in re.findall(r"\bray_\w+", expression)}


def test_dashboard_follows_the_table_of_metrics() -> None:
    made = runpy.run_path(str(FOLDER / "dashboard.py"))["text"]()
    written = (FOLDER / "grafana" / "dashboards" / "bonuslab.json").read_text()
    assert made == written, "run deploy/monitoring/dashboard.py"


def test_shows_every_gauge_and_no_other() -> None:
    assert set().union(*map(names, EXPRESSIONS)) == {*GAUGES, OTHERS}
    titles = {panel["title"]: panel for panel in BOARD["panels"]}
    assert titles["Win rate"]["fieldConfig"]["defaults"]["unit"] == "percentunit"
    assert titles["Queue depth (batches)"]["description"] == "Batches waiting for the learner."


def test_expressions_use_existing_labels() -> None:
    for expression in EXPRESSIONS:
        grouped = re.findall(r" by \(([^)]*)\)", expression)
        labels = set(re.findall(r"(\w+)[=!]~", expression)) | {name.strip() for by in grouped for name in by.split(",")}
        allowed = {"task", "bonus", "seed"} | ({"metric"} if OTHERS in names(expression) else set())
        assert labels <= allowed, expression
        assert {"task", "bonus", "seed"} <= labels, "the choices above the dashboard apply everywhere"
        assert expression.count("(") == expression.count(")")
    variables = {variable["name"] for variable in BOARD["templating"]["list"]}
    assert variables == {"datasource", "task", "bonus", "seed"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(BOARD).replace("$__all", ""))) == variables


def test_panels_do_not_overlap_and_use_the_chosen_prometheus() -> None:
    identifiers = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(identifiers)) == len(identifiers)
    cells = [(panel["title"], panel["gridPos"]) for panel in BOARD["panels"]]
    for (one, a), (other, b) in combinations(cells, 2):
        apart = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        assert apart or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (one, other)
    assert all(place["x"] + place["w"] <= 24 for _, place in cells)
    sources = [panel["datasource"] for panel in BOARD["panels"] if panel["type"] != "row"]
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)


def test_prometheus_scrapes_the_nodes_that_ray_lists() -> None:
    (job,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    assert job["file_sd_configs"][0]["files"] == [f"/tmp/ray/{PROMETHEUS_SERVICE_DISCOVERY_FILE}"]


def test_services_listen_locally_and_find_their_files() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert "--web.listen-address=127.0.0.1:9090" in services["prometheus"]["command"]
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    mounted = [volume.split(":")[0] for service in services.values() for volume in service["volumes"]]
    assert all((FOLDER / path).exists() for path in mounted if path.startswith("."))
    provisioning = FOLDER / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://127.0.0.1:9090"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "bonuslab.yaml").read_text())["providers"]
    variable = provider["options"]["path"].strip("${}")
    assert services["grafana"]["environment"][variable] == "/dashboards"
    assert variable in (FOLDER / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.cluster
def test_ray_exports_the_gauges_that_the_dashboard_queries() -> None:
    # A short path: Ray makes sockets below it, whose paths may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        done = subprocess.run(
            [sys.executable, "-c", PUBLISH, folder],
            env={**os.environ, "RAY_metrics_report_interval_ms": "500"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    nodes, *samples = done.stdout.strip().splitlines()
    (listed,) = json.loads(nodes)
    assert listed["targets"], "Ray lists its nodes where prometheus.yml looks for them"
    found = {sample.split("{")[0].removeprefix("ray_"): sample for sample in samples}
    assert found.keys() == {*GAUGES, OTHERS}
    for name, sample in found.items():
        labels = dict(re.findall(r'(\w+)="([^"]*)"', sample))
        assert (labels["task"], labels["bonus"], labels["seed"]) == ("MultiRoom-N6", "e3b * rnd", "3"), name
    assert 'metric="unknown"' in found[OTHERS]
