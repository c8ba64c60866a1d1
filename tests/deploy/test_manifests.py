"""The files in deploy/: valid for Ray's launcher and for Kubernetes, and about the versions we pin."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CLUSTERS = ("cluster.yaml", "cluster-local.yaml")
JOBS = ("minihack-grid.yaml", "habitat-exploration.yaml")
PINNED = (ROOT / "constraints.txt").read_text().splitlines()


def load(path: str) -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / path).read_text())


@pytest.mark.parametrize("name", CLUSTERS)
def test_cluster_is_valid_for_rays_schema(name: str) -> None:
    validate_config(prepare_config(load(name)))


def test_the_schema_would_notice_a_wrong_key() -> None:
    wrong = load("cluster.yaml") | {"min_worker": 3}
    with pytest.raises(Exception, match="min_worker"):
        validate_config(wrong)


@pytest.mark.parametrize("name", CLUSTERS)
def test_nodes_install_the_working_tree(name: str) -> None:
    config = load(name)
    assert config["file_mounts"]["~/bonuslab"] == "."
    assert all(command.startswith("bash ~/bonuslab/deploy/node.sh") for command in config["setup_commands"])


@pytest.mark.parametrize("name", CLUSTERS)
def test_ray_asks_for_the_token(name: str) -> None:
    config = load(name)
    assert "~/.ray/auth_token" in config["file_mounts"]
    starting = config["head_start_ray_commands"] + config["worker_start_ray_commands"]
    assert all("RAY_AUTH_MODE=token" in command for command in starting if "ray start" in command)


def test_spot_workers_and_a_head_that_stays() -> None:
    types = load("cluster.yaml")["available_node_types"]
    on_spot = {name for name, kind in types.items() if "InstanceMarketOptions" in kind["node_config"]}
    assert on_spot == set(types) - {load("cluster.yaml")["head_node_type"]}


def test_gpu_and_cpu_workers_scale_from_nothing() -> None:
    types = load("cluster.yaml")["available_node_types"]
    workers = [kind for name, kind in types.items() if name != "head"]
    assert all(kind["min_workers"] == 0 for kind in workers)
    assert load("cluster.yaml")["max_workers"] == sum(kind["max_workers"] for kind in workers)


@pytest.mark.parametrize("name", JOBS)
def test_jobs_run_the_pinned_ray_and_modules_that_exist(name: str) -> None:
    job = load(f"kuberay/{name}")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert f"ray=={job['spec']['rayClusterSpec']['rayVersion']}" in PINNED
    module = re.search(r"python -m bonuslab\.(\S+)", job["spec"]["entrypoint"])
    assert module is not None
    assert (ROOT / module.group(1).replace(".", "/")).with_suffix(".py").is_file()


@pytest.mark.parametrize("name", JOBS)
def test_jobs_mount_only_volumes_they_declare_and_name_probed_ports(name: str) -> None:
    spec = load(f"kuberay/{name}")["spec"]["rayClusterSpec"]
    for group in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
        pod = group["template"]["spec"]
        declared = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == declared
        assert any(mount["mountPath"] == "/results" for mount in pod["containers"][0]["volumeMounts"])


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.habitat"])
def test_images_copy_what_the_package_is_made_of(name: str) -> None:
    text = (DEPLOY / name).read_text()
    copied = set(re.findall(r"^COPY --chown=\S+ (.+) \S+$", text, re.MULTILINE))
    files = {part for line in copied for part in line.split()}
    assert {"algorithms", "envs", "platform", "experiments", "pyproject.toml", "constraints.txt"} <= files
    assert all((ROOT / part).exists() for part in files)


@pytest.mark.parametrize("name", ["node.sh", "set_up.sh"])
def test_scripts_are_valid_bash(name: str) -> None:
    subprocess.run(["bash", "-n", str(DEPLOY / name)], check=True)
