"""The Ray a grid runs on: a cluster that is joined, or this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import ray
from ray._private import services, state

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.ray_session import silence_notices

LOCAL = "local"
ANSWER_SECONDS = 5.0
HINT = "`--address local` uses this machine alone; a cluster with token authentication needs RAY_AUTH_MODE=token"


@dataclass(frozen=True)
class Cluster:
    """What a grid may use."""

    address: str | None
    """None: this machine alone."""
    cpus: float
    gpus: float
    nodes: list[dict[str, float]]
    """CPU and GPU of each machine."""
    grows: bool = False
    """Whether an autoscaler may add machines; `cpus` and `gpus` are then the most there can be."""
    dashboard: str = ""
    """Address of the Ray dashboard."""


def find_address(given: str | None) -> str | None:
    """`--address`, RAY_ADDRESS, or the cluster that `ray start` left on this machine (`ray submit` runs us there)."""
    if given is not None:
        wanted = given
    else:
        wanted = os.environ.get("RAY_ADDRESS") or ""
        if not wanted:
            last = services.find_bootstrap_address(None)
            return last if last and _answers(last) else None
    if wanted == LOCAL:
        return None
    if "://" in wanted:
        raise InvalidInput(
            f"--address {wanted} cannot be used: a grid's driver runs on a machine of the cluster. Start it there with "
            "`ray submit` or `ray job submit` (deploy/README.md)."
        )
    return wanted


@contextmanager
def joined(address: str | None) -> Iterator[Cluster]:
    """Join a cluster, or start Ray on this machine; leave or stop it at the end.

    Ray that already runs in this process, a notebook's for example, is used and left running.
    """
    silence_notices()
    if ray.is_initialized():
        yield _look(address, "")
        return
    if address is not None and ":" in address and not _answers(address):
        raise InvalidInput(f"nothing answers at --address {address}; {HINT}")
    # Lines of the trials' processes would tear the table of the terminal; an error of theirs reaches us anyway.
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address is None:
            context = ray.init(address=LOCAL, include_dashboard=True, **quiet)
        else:
            context = ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        if address is None:
            raise
        raise InvalidInput(f"no Ray cluster can be joined at --address {address}: {error}; {HINT}") from error
    try:
        yield _look(address, context.dashboard_url or "")
    finally:
        ray.shutdown()


def own_node_alive() -> bool:
    """Whether Ray still runs on the driver's own machine."""
    own = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())


def _look(address: str | None, dashboard: str) -> Cluster:
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    there = [{kind: node.get(kind, 0.0) for kind in ("CPU", "GPU")} for node in nodes]
    total = {kind: sum(node[kind] for node in there) for kind in ("CPU", "GPU")}
    most = state.state.get_max_resources_from_cluster_config() or {}
    grows = any(most.get(kind, 0) > total[kind] for kind in total)
    return Cluster(
        address,
        cpus=max(total["CPU"], most.get("CPU", 0)),
        gpus=max(total["GPU"], most.get("GPU", 0)),
        nodes=there,
        grows=grows,
        dashboard=f"http://{dashboard}" if dashboard else "",
    )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), ANSWER_SECONDS):
            return True
    except (OSError, ValueError):
        return False
