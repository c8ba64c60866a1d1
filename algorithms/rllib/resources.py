"""Resource layouts: processes and devices for this machine, or for the cluster that Ray is connected to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

import ray
import torch

from bonuslab.envs.errors import unknown

R = TypeVar("R")


def choose_resources(
    layouts: Mapping[str, Callable[[int, float], R]], name: str, cpus: int | None, gpus: float | None
) -> R:
    """The named layout (`laptop`, `workstation` or `cluster`), or the best fit for `auto`.

    `cpus` and `gpus` default to what Ray has, or this machine if Ray is not running.
    """
    nodes, there = 1, {"CPU": os.cpu_count() or 1, "GPU": torch.cuda.device_count()}
    if ray.is_initialized():
        nodes, there = len(ray.nodes()), ray.cluster_resources()
    cpus = int(there.get("CPU", 1)) if cpus is None else cpus
    gpus = float(there.get("GPU", 0)) if gpus is None else gpus
    if name == "auto":
        name = "cluster" if nodes > 1 else "laptop" if cpus < 4 else "workstation"
    if name not in layouts:
        raise unknown("resources", name, ("auto", *layouts))
    return layouts[name](cpus, gpus)
