"""IMPALA's config: adds the queue between runners and learners."""

from __future__ import annotations

from bonuslab.algorithms.impala.hyperparameters import PRESETS, IMPALAHyperparameters
from bonuslab.algorithms.impala.learner import IMPALALearner
from bonuslab.algorithms.rllib.config import FragmentConfig


class IMPALAConfig(FragmentConfig):
    """`IMPALAConfig().environment("MultiRoom-N6").bonus("e3b * rnd")`; the defaults are the paper's for MiniHack."""

    hyperparameters_class = IMPALAHyperparameters
    presets = PRESETS

    def __init__(self, algo_class: type | None = None) -> None:
        if algo_class is None:
            from bonuslab.algorithms.impala.algorithm import IMPALA

            algo_class = IMPALA
        super().__init__(algo_class=algo_class)
        self.max_requests_in_flight_per_env_runner = 2
        self.fragments_per_batch = 1
        self.max_queued_batches = 4
        self.broadcast_interval_updates = 1
        self.bonus_in_driver = False
        self.num_cpus_for_bonus = 0.0
        self.num_gpus_for_bonus = 0.0

    @property
    def local_bonus(self) -> bool:
        """Whether the bonus runs in the driver's process; only if that learns too, or batches would pass through it."""
        return self.serial or (self.bonus_in_driver and self.num_learners == 0)

    def envs_per_batch(self) -> int:
        """Envs per batch of a learner."""
        return self.num_envs_per_env_runner * self.fragments_per_batch

    def set_fragments_per_batch(self, number: float) -> int:
        """Join this many fragments in a batch, if it is a whole number; returns how many are joined."""
        if number >= 1 and number == int(number):
            self.fragments_per_batch = int(number)
        return self.fragments_per_batch

    def get_default_learner_class(self) -> type[IMPALALearner]:
        """Our learner."""
        return IMPALALearner
