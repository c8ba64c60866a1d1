"""Processes of a run and their devices: on a laptop, a workstation with a GPU, or a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.rllib.machine_size import layout_name, machine_size


@dataclass(frozen=True)
class IMPALAResources:
    """Processes and their resources."""

    name: str
    num_runners: int
    """Processes that play."""
    learner_in_driver: bool
    """Learn in the driver's process (one machine), or in learners of their own (a cluster)."""
    num_learners: int = 1
    learner_gpus: float = 0.0
    """GPUs of each learner."""
    bonus_gpus: float = 0.0
    """GPUs of the bonus actor."""
    learner_threads: int = 1
    bonus_threads: int = 1
    requests_per_runner: int = 1
    """Fragments asked of a runner ahead; two hide the way to the driver, one keeps the policy fresher."""
    max_queued_batches: int = 2

    def configure(self, config: IMPALAConfig) -> IMPALAConfig:
        """Set these resources in an RLlib configuration."""
        config.env_runners(num_env_runners=self.num_runners, num_cpus_per_env_runner=1)
        config.max_requests_in_flight_per_env_runner = self.requests_per_runner
        config.learners(
            num_learners=0 if self.learner_in_driver else self.num_learners,
            num_gpus_per_learner=self.learner_gpus,
            num_cpus_per_learner=self.learner_threads,
        )
        return config.training(
            threads_per_learner=self.learner_threads,
            threads_per_bonus=self.bonus_threads,
            num_gpus_for_bonus=self.bonus_gpus,
            max_queued_batches=self.max_queued_batches,
        )


LAPTOP = IMPALAResources("laptop", num_runners=1, learner_in_driver=True)


def workstation(cpus: int, gpus: float) -> IMPALAResources:
    """All cores but two play; learner and bonus share the first GPU, or take a core each."""
    share = gpus > 0
    return IMPALAResources(
        "workstation",
        num_runners=max(1, cpus - 2),
        learner_in_driver=True,
        learner_gpus=0.6 if share else 0.0,
        bonus_gpus=0.4 if share else 0.0,
        learner_threads=1 if share else max(1, cpus // 4),
        requests_per_runner=2,
        max_queued_batches=4,
    )


def cluster(cpus: int, gpus: float) -> IMPALAResources:
    """Learner and bonus on GPUs of their own where there are two; every other core plays."""
    learner_gpus = min(1.0, gpus)
    return replace(
        workstation(cpus, 0),
        name="cluster",
        learner_in_driver=False,
        num_runners=max(1, cpus - 4),
        learner_gpus=learner_gpus,
        bonus_gpus=min(1.0, max(0.0, gpus - learner_gpus)),
        learner_threads=1 if gpus else 4,
    )


def choose_resources(name: str = "auto", cpus: int | None = None, gpus: float | None = None) -> IMPALAResources:
    """The named layout for this machine or cluster, or the one that fits best."""
    size = machine_size(cpus, gpus)
    name = layout_name(name, size)
    if name == "laptop":
        return LAPTOP
    return workstation(size.cpus, size.gpus) if name == "workstation" else cluster(size.cpus, size.gpus)
