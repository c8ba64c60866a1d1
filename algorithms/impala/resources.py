"""IMPALA's processes and devices on a laptop, a workstation or a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bonuslab.algorithms.impala.config import IMPALAConfig


@dataclass(frozen=True)
class IMPALAResources:
    """Runners, learner and bonus actor."""

    num_runners: int = 1
    num_learners: int = 0
    """Learner processes; 0: learn in the driver's process."""
    learner_gpus: float = 0.0
    """GPUs per learner."""
    bonus_gpus: float = 0.0
    """GPUs of the bonus actor."""
    bonus_in_driver: bool = False
    """Compute the bonus where the driver learns instead of in an actor: one process less, and no round trip."""
    learner_threads: int = 1
    requests_per_runner: int = 1
    """Fragments requested in advance: 2 hide the latency to the driver, 1 reduces the policy lag."""
    max_queued_batches: int = 2

    def configure(self, config: IMPALAConfig) -> IMPALAConfig:
        """Apply these resources to an RLlib config."""
        config.env_runners(num_env_runners=self.num_runners, num_cpus_per_env_runner=1)
        config.max_requests_in_flight_per_env_runner = self.requests_per_runner
        config.learners(
            num_learners=self.num_learners,
            num_gpus_per_learner=self.learner_gpus,
            num_cpus_per_learner=self.learner_threads,
        )
        return config.training(
            threads_per_learner=self.learner_threads,
            num_gpus_for_bonus=self.bonus_gpus,
            bonus_in_driver=self.bonus_in_driver,
            max_queued_batches=self.max_queued_batches,
        )


def laptop(cpus: int, gpus: float) -> IMPALAResources:
    """One runner; the driver learns and computes the bonus."""
    return IMPALAResources(bonus_in_driver=True)


def workstation(cpus: int, gpus: float) -> IMPALAResources:
    """A runner per core, except for a quarter of the cores (at least two) for learner and bonus, or a GPU for both."""
    learner_threads = 1 if gpus else max(1, cpus // 4)
    return IMPALAResources(
        num_runners=max(1, cpus - max(2, learner_threads)),
        learner_gpus=0.6 if gpus else 0.0,
        bonus_gpus=0.4 if gpus else 0.0,
        learner_threads=learner_threads,
        requests_per_runner=2,
        max_queued_batches=4,
    )


def cluster(cpus: int, gpus: float) -> IMPALAResources:
    """As a workstation, but the learner is a process, with at most four cores; it and the bonus can have a GPU each."""
    resources, learner_gpus = workstation(cpus, gpus), min(1.0, gpus)
    learner_threads = min(4, resources.learner_threads)
    return replace(
        resources,
        num_runners=max(1, cpus - learner_threads - 3),  # driver, bonus and one spare
        num_learners=1,
        learner_gpus=learner_gpus,
        bonus_gpus=min(1.0, gpus - learner_gpus),
        learner_threads=learner_threads,
    )


LAYOUTS = {"laptop": laptop, "workstation": workstation, "cluster": cluster}
