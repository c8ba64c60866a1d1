"""How many workers a run of DD-PPO has and what each computes with: a laptop, a workstation, or a cluster of GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.rllib.machine_size import layout_name, machine_size

CPUS_PER_GPU = 10
"""Paper, appendix Habitat, Compute Details: 10 CPU threads a GPU."""


@dataclass(frozen=True)
class DDPPOResources:
    """Workers and their resources. The driver only keeps time: it is given no core."""

    name: str
    num_workers: int
    cpus_per_worker: int = 1
    gpus_per_worker: float = 0.0

    def configure(self, config: DDPPOConfig) -> DDPPOConfig:
        """Set these resources in an RLlib configuration."""
        config.env_runners(
            num_env_runners=self.num_workers,
            num_cpus_per_env_runner=self.cpus_per_worker,
            num_gpus_per_env_runner=self.gpus_per_worker,
        )
        # A worker plays and learns by turns, so all its cores serve both.
        return config.training(
            threads_per_runner=self.cpus_per_worker,
            threads_per_learner=self.cpus_per_worker,
            threads_per_bonus=self.cpus_per_worker,
        )


def laptop(cpus: int, gpus: float = 0.0) -> DDPPOResources:
    """A worker for each of at most two cores."""
    return DDPPOResources("laptop", num_workers=max(1, min(2, cpus)))


def workstation(cpus: int, gpus: float) -> DDPPOResources:
    """A worker for each GPU, which share the cores; without GPUs a worker for each core."""
    if gpus >= 1:
        workers = min(int(gpus), cpus)
        return DDPPOResources("workstation", workers, max(1, cpus // workers), gpus_per_worker=1.0)
    return DDPPOResources("workstation", max(1, cpus), gpus_per_worker=gpus / max(1, cpus))


def cluster(cpus: int, gpus: float) -> DDPPOResources:
    """A worker for each GPU with at most ten cores (32 GPUs: 32 workers × 4 environments); else one for each core."""
    if gpus >= 1:
        workers = min(int(gpus), cpus)
        return DDPPOResources("cluster", workers, max(1, min(CPUS_PER_GPU, cpus // workers)), gpus_per_worker=1.0)
    return DDPPOResources("cluster", max(1, cpus))


def choose_resources(name: str = "auto", cpus: int | None = None, gpus: float | None = None) -> DDPPOResources:
    """The named layout for this machine or cluster, or the one that fits best."""
    size = machine_size(cpus, gpus)
    make = {"laptop": laptop, "workstation": workstation, "cluster": cluster}[layout_name(name, size)]
    return make(size.cpus, size.gpus)
