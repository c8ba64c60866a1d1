"""DD-PPO's configuration: what all our algorithms share, plus PPO's numbers and how workers wait for each other."""

from __future__ import annotations

from typing import Any, Self

from bonuslab.algorithms.ddppo.hyperparameters import HABITAT, DDPPOHyperparameters
from bonuslab.algorithms.ddppo.learner import PPOLearner
from bonuslab.algorithms.ddppo.worker import DDPPOWorker
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs.errors import InvalidInput


class DDPPOConfig(FragmentConfig):
    """`DDPPOConfig().environment("Apartments-64").bonus("e3b * rnd")`; the defaults are the paper's for Habitat.

    `num_env_runners` is the number of workers, `num_gpus_per_env_runner` what each computes on; one worker is PPO.
    """

    hyperparameters_class = DDPPOHyperparameters

    def __init__(self, algo_class: type | None = None) -> None:
        if algo_class is None:
            from bonuslab.algorithms.ddppo.algorithm import DDPPO

            algo_class = DDPPO
        super().__init__(algo_class=algo_class)
        self.env_runner_cls = DDPPOWorker
        self.num_learners = 0
        self.num_cpus_per_learner = 0  # the driver's copy of the learner only waits to be saved
        self.num_cpus_for_main_process = 0
        # Tune drops an empty bundle, and RLlib then counts the others wrongly: one byte of memory keeps it.
        self.custom_resources_for_main_process = {"memory": 1}
        self.straggler_patience_s = 300.0
        self.exchange_timeout_s = 300.0

    @classmethod
    def default_hyperparameters(cls) -> DDPPOHyperparameters:
        """The paper's for Habitat."""
        return HABITAT.values

    def run_serially(self) -> Self:
        """One worker in this process, on one core."""
        self.num_cpus_for_main_process = 1
        return super().run_serially()

    def policy_settings(self) -> dict[str, Any]:
        """One value head, or two."""
        return super().policy_settings() | {"num_values": self.num_values}

    def validate(self) -> None:
        """RLlib's checks and ours; a bad value is named before anything starts."""
        super().validate()
        if self.num_learners != 0:
            raise InvalidInput(
                f"num_learners={self.num_learners} cannot be used: every worker of DD-PPO learns; set num_env_runners"
            )
        if not self.serial and not self.in_evaluation and self.num_env_runners < 1:
            raise InvalidInput("DD-PPO needs at least one worker (num_env_runners), or run_serially()")

    def get_default_learner_class(self) -> type[PPOLearner]:
        """Our learner."""
        return PPOLearner
