"""DD-PPO's workers and devices on a laptop, a workstation or a cluster of GPUs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bonuslab.algorithms.ddppo.config import DDPPOConfig

CPUS_PER_GPU = 10
"""Paper, appendix Habitat, Compute Details: 10 CPU threads per GPU."""


@dataclass(frozen=True)
class DDPPOResources:
    """Workers and their resources; the driver is idle and gets no core."""

    num_workers: int
    cpus_per_worker: int = 1
    gpus_per_worker: float = 0.0

    def configure(self, config: DDPPOConfig) -> DDPPOConfig:
        """Apply these resources to an RLlib config."""
        config.env_runners(
            num_env_runners=self.num_workers,
            num_cpus_per_env_runner=self.cpus_per_worker,
            num_gpus_per_env_runner=self.gpus_per_worker,
        )
        # A worker alternates between acting and learning, so each may use all its cores.
        return config.training(
            threads_per_runner=self.cpus_per_worker,
            threads_per_learner=self.cpus_per_worker,
            threads_per_bonus=self.cpus_per_worker,
        )


def laptop(cpus: int, gpus: float) -> DDPPOResources:
    """One worker per core, at most two."""
    return DDPPOResources(max(1, min(2, cpus)))


def workstation(cpus: int, gpus: float) -> DDPPOResources:
    """One worker per GPU, with an equal share of the cores; without GPUs, one worker per core."""
    if gpus >= 1:
        workers = min(int(gpus), cpus)
        return DDPPOResources(workers, max(1, cpus // workers), gpus_per_worker=1.0)
    return DDPPOResources(max(1, cpus), gpus_per_worker=gpus / max(1, cpus))


def cluster(cpus: int, gpus: float) -> DDPPOResources:
    """As a workstation, with at most ten cores per worker (32 GPUs: 32 workers × 4 envs)."""
    resources = workstation(cpus, gpus)
    return replace(resources, cpus_per_worker=min(CPUS_PER_GPU, resources.cpus_per_worker))


LAYOUTS = {"laptop": laptop, "workstation": workstation, "cluster": cluster}
