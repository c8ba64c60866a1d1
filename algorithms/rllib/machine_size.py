"""The size of this machine, or of the cluster that Ray has joined."""

from __future__ import annotations

import os
from dataclasses import dataclass

import ray
import torch

from bonuslab.envs.errors import unknown

LAYOUTS = ("auto", "laptop", "workstation", "cluster")
"""Names of resource layouts; every algorithm has all of them."""


@dataclass(frozen=True)
class MachineSize:
    """Machines, and their cores and GPUs together."""

    nodes: int
    cpus: int
    gpus: float


def machine_size(cpus: int | None = None, gpus: float | None = None) -> MachineSize:
    """What Ray has, or this machine if Ray does not run; given numbers take precedence."""
    nodes = 1
    if ray.is_initialized():
        total = ray.cluster_resources()
        nodes = len(ray.nodes())
        cpus = int(total.get("CPU", 1)) if cpus is None else cpus
        gpus = total.get("GPU", 0.0) if gpus is None else gpus
    cpus = (os.cpu_count() or 1) if cpus is None else cpus
    gpus = float(torch.cuda.device_count()) if gpus is None else gpus
    return MachineSize(nodes, cpus, gpus)


def layout_name(name: str, size: MachineSize) -> str:
    """The name of a layout, `auto` replaced by the one that fits best."""
    if name not in LAYOUTS:
        raise unknown("resources", name, LAYOUTS)
    if name != "auto":
        return name
    return "cluster" if size.nodes > 1 else "laptop" if size.cpus < 4 else "workstation"
