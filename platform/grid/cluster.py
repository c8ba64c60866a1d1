"""The Ray cluster of a grid: an existing one, or this machine."""

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
from bonuslab.platform.run.ray_session import HINT, ray_has_died, ray_session, silence_notices

LOCAL = "local"
ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class Cluster:
    """Resources of a grid."""

    address: str | None
    """None: this machine only."""
    cpus: float
    gpus: float
    nodes: list[dict[str, float]]
    """CPUs and GPUs of each machine."""
    autoscaling: bool = False
    """Whether machines may be added; `cpus` and `gpus` are then the maximum."""
    dashboard: str = ""
    """Address of the Ray dashboard."""


def find_address(given: str | None) -> str | None:
    """`--address`, RAY_ADDRESS, or a cluster started on this machine by `ray start` (as under `ray submit`)."""
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
            f"invalid --address {wanted}: the driver of a grid must run inside the cluster. Start it there with "
            "`ray submit` or `ray job submit` (deploy/README.md)."
        )
    return wanted


@contextmanager
def joined(address: str | None, dashboard: bool = False) -> Iterator[Cluster]:
    """Join a cluster or start Ray on this machine, with its dashboard if wanted; disconnect or stop it at the end.

    If Ray is already initialised in this process, as in a notebook, it is used and left running.
    """
    silence_notices()
    if address is not None and ":" in address and not ray.is_initialized() and not _answers(address):
        raise InvalidInput(f"nothing answers at --address {address}; `--address local` uses this machine only; {HINT}")
    if address is None:  # a machine that is too busy for Ray's dashboard does without it, and without a page of log
        logging.getLogger(services.__name__).setLevel(logging.CRITICAL)
    with ray_session(address, dashboard) as url:
        yield _inspect(address, url)


def own_node_alive() -> bool:
    """Whether Ray still runs on the driver's machine."""
    if ray_has_died():
        return False
    own = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())


def _inspect(address: str | None, dashboard: str) -> Cluster:
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    there = [{kind: node.get(kind, 0.0) for kind in ("CPU", "GPU")} for node in nodes]
    total = {kind: sum(node[kind] for node in there) for kind in ("CPU", "GPU")}
    most = state.state.get_max_resources_from_cluster_config() or {}
    return Cluster(
        address,
        cpus=max(total["CPU"], most.get("CPU", 0)),
        gpus=max(total["GPU"], most.get("GPU", 0)),
        nodes=there,
        autoscaling=any(most.get(kind, 0) > total[kind] for kind in total),
        dashboard=f"http://{dashboard}" if dashboard else "",
    )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), ANSWER_SECONDS):
            return True
    except (OSError, ValueError):
        return False
