"""The cluster of deploy/cluster.yaml as a forecast sees it from anywhere: its processors, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bonuslab.platform.grid.cluster import Cluster

FILE = Path(__file__).parents[2] / "deploy" / "cluster.yaml"
NAME = "deploy/cluster.yaml"


@dataclass(frozen=True)
class Machine:
    """A machine type."""

    cpus: int
    gpus: int
    dollars_per_hour: float
    """List price on demand in us-west-2, as in deploy/README.md; spot is usually a third to a half of it."""


MACHINES = {
    "m7i.xlarge": Machine(4, 0, 0.20),
    "c7i.8xlarge": Machine(32, 0, 1.43),
    "g5.12xlarge": Machine(48, 4, 5.67),
}


@dataclass(frozen=True)
class CloudCluster:
    """Its machines: the head, which runs no trials, and the maximum number of workers of each type."""

    head: Machine
    workers: list[tuple[Machine, int]]

    @classmethod
    def read(cls, file: Path = FILE) -> CloudCluster | None:
        """The cluster of a file; None without the file, as in a wheel, or if it has machines of unknown price."""
        try:
            described = yaml.safe_load(file.read_text())
        except OSError:
            return None
        types: Mapping[str, Any] = described["available_node_types"]
        names = {name: of["node_config"]["InstanceType"] for name, of in types.items()}
        if not set(names.values()) <= set(MACHINES):
            return None
        head = described["head_node_type"]
        workers = [(MACHINES[names[name]], int(of["max_workers"])) for name, of in types.items() if name != head]
        return cls(MACHINES[names[head]], workers)

    def cluster(self) -> Cluster:
        """All workers at once."""
        nodes = [
            {"CPU": float(one.cpus), "GPU": float(one.gpus)} for one, number in self.workers for _ in range(number)
        ]
        cpus, gpus = (sum(node[kind] for node in nodes) for kind in ("CPU", "GPU"))
        return Cluster(NAME, cpus, gpus, nodes, autoscaling=True)

    def dollars_per_hour(self, cpus: float, gpus: float) -> float:
        """List price of the head and of the workers that these processors need, those with GPUs first."""
        total = self.head.dollars_per_hour
        for machine, most in sorted(self.workers, key=lambda worker: -worker[0].gpus):
            wanted = math.ceil(gpus / machine.gpus) if machine.gpus else math.ceil(cpus / machine.cpus)
            number = min(most, max(0, wanted))
            total += number * machine.dollars_per_hour
            cpus, gpus = max(0.0, cpus - number * machine.cpus), max(0.0, gpus - number * machine.gpus)
        return total
