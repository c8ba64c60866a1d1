"""The files in deploy/: valid for Ray's launcher and for Kubernetes, and about the versions we pin."""

from __future__ import annotations

import json
import os
import re
import shutil
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


@pytest.mark.parametrize("name", JOBS)
def test_jobs_ask_for_a_token_and_have_shared_memory(name: str) -> None:
    spec = load(f"kuberay/{name}")["spec"]["rayClusterSpec"]
    assert spec["authOptions"] == {"mode": "token"}, "their dashboard listens on all addresses"
    for group in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
        pod = group["template"]["spec"]
        (memory,) = (volume["emptyDir"] for volume in pod["volumes"] if "emptyDir" in volume)
        assert memory["medium"] == "Memory"
        assert int(memory["sizeLimit"].removesuffix("Gi")) < int(
            pod["containers"][0]["resources"]["limits"]["memory"].removesuffix("Gi")
        )
        assert {"name": "shared-memory", "mountPath": "/dev/shm"} in pod["containers"][0]["volumeMounts"]


@pytest.mark.parametrize("name", CLUSTERS)
def test_dashboards_of_clusters_listen_locally(name: str) -> None:
    (start,) = (command for command in load(name)["head_start_ray_commands"] if "ray start" in command)
    assert "--dashboard-host=127.0.0.1" in start


def test_roles_allow_no_more_than_their_machines_need() -> None:
    head, storage = (json.loads((DEPLOY / "aws" / f"{name}.json").read_text()) for name in ("head", "storage"))
    for statement in head["Statement"] + storage["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        assert not any(action == "*" or action.endswith(":*") for action in actions)
        if statement["Resource"] == "*":
            assert all(action.startswith("ec2:Describe") for action in actions)
    named = load("cluster.yaml")["cluster_name"]
    tags = [value for statement in head["Statement"] for value in _tags(statement)]
    assert tags == [named, named], "machines are started and stopped only if they are tagged as this cluster's"
    types = load("cluster.yaml")["available_node_types"]
    profiles = {name: kind["node_config"]["IamInstanceProfile"]["Name"] for name, kind in types.items()}
    assert profiles == {"head": "bonuslab-head", "cpu_worker": "bonuslab-worker", "gpu_worker": "bonuslab-worker"}
    script = (DEPLOY / "aws" / "create_roles.sh").read_text()
    assert set(profiles.values()) == set(re.findall(r"bonuslab-\w+", script))


def _tags(statement: dict[str, Any]) -> list[str]:
    conditions = statement.get("Condition", {}).get("StringEquals", {})
    return [value for name, value in conditions.items() if name.endswith("/ray-cluster-name")]


def test_hashes_are_of_the_pinned_versions() -> None:
    lines = [line for line in (DEPLOY / "hashes.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) > 100
    pinned = {_plain(line) for line in PINNED}
    for line in lines:
        found = re.fullmatch(r"(\S+==\S+) --hash=sha256:[0-9a-f]{64}", line)
        assert found is not None, line
        assert _plain(found[1]) in pinned, "run deploy/hashes.py"
    assert any(line.startswith("boto3==") for line in lines)
    for name in ("Dockerfile", "Dockerfile.habitat"):
        assert "--require-hashes -r hashes.txt" in (DEPLOY / name).read_text()


def _plain(line: str) -> str:
    return re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() + "==" + line.split("==")[1]


def test_images_are_pinned_by_one_command(tmp_path: Path) -> None:
    copy = tmp_path / "deploy"
    shutil.copytree(DEPLOY, copy)
    docker = tmp_path / "docker"
    docker.write_text(f"#!/bin/sh\nprintf 'sha256:%s' {'a1' * 32}\n")
    docker.chmod(0o755)
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in _images(copy))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(["bash", str(copy / "pin_images.sh")], env=environment, check=True, capture_output=True)
        images = _images(copy)
        assert len(images) == 4
        assert all(image.endswith(f"@sha256:{'a1' * 32}") and image.count("@") == 1 for image in images)


def _images(folder: Path) -> list[str]:
    texts = [(folder / name).read_text() for name in ("Dockerfile", "Dockerfile.habitat", "monitoring/compose.yaml")]
    return re.findall(r"^(?:FROM| *image:) (\S+)$", "\n".join(texts), re.MULTILINE)


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.habitat"])
def test_images_copy_what_the_package_is_made_of(name: str) -> None:
    text = (DEPLOY / name).read_text()
    copied = set(re.findall(r"^COPY --chown=\S+ (.+) \S+$", text, re.MULTILINE))
    files = {part for line in copied for part in line.split()}
    assert {"algorithms", "envs", "platform", "experiments", "pyproject.toml", "constraints.txt"} <= files
    assert all((ROOT / part).exists() for part in files)


@pytest.mark.parametrize("name", ["node.sh", "set_up.sh", "pin_images.sh", "aws/create_roles.sh"])
def test_scripts_are_valid_bash(name: str) -> None:
    subprocess.run(["bash", "-n", str(DEPLOY / name)], check=True)
