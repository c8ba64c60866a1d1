"""DD-PPO's config: every env runner is a worker that also learns."""

from __future__ import annotations

from typing import Any, Self

from bonuslab.algorithms.ddppo.hyperparameters import HABITAT, PRESETS, DDPPOHyperparameters
from bonuslab.algorithms.ddppo.learner import PPOLearner
from bonuslab.algorithms.ddppo.worker import DDPPOWorker
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs.errors import InvalidInput


class DDPPOConfig(FragmentConfig):
    """`DDPPOConfig().environment("Apartments-64").bonus("e3b * rnd")`; the defaults are the paper's for Habitat.

    `num_env_runners` is the number of workers, `num_gpus_per_env_runner` the GPUs of each; one worker is PPO.
    """

    hyperparameters_class = DDPPOHyperparameters
    presets = PRESETS

    def __init__(self, algo_class: type | None = None) -> None:
        if algo_class is None:
            from bonuslab.algorithms.ddppo.algorithm import DDPPO

            algo_class = DDPPO
        super().__init__(algo_class=algo_class)
        self.env_runner_cls = DDPPOWorker
        self.num_learners = 0
        self.num_cpus_per_learner = 0  # the driver's copy of the learner is only for checkpoints and evaluation
        self.num_cpus_for_main_process = 0
        # Tune drops an empty bundle, which breaks RLlib's bundle indices; one byte of memory keeps it.
        self.custom_resources_for_main_process = {"memory": 1}
        self.straggler_timeout_s = 300.0
        self.collective_timeout_s = 300.0

    @classmethod
    def default_hyperparameters(cls) -> DDPPOHyperparameters:
        """The paper's for Habitat."""
        return HABITAT.values

    def run_serially(self) -> Self:
        """Run one worker in this process."""
        self.num_cpus_for_main_process = 1
        return super().run_serially()

    def policy_settings(self) -> dict[str, Any]:
        """`model_config` of the policy module, with the number of value heads."""
        return super().policy_settings() | {"num_values": self.num_values}

    def validate(self) -> None:
        """Check all settings before anything starts."""
        super().validate()
        if self.num_learners != 0:
            raise InvalidInput(
                f"invalid num_learners={self.num_learners}: every worker of DD-PPO learns; set num_env_runners instead"
            )
        if not self.serial and not self.in_evaluation and self.num_env_runners < 1:
            raise InvalidInput("DD-PPO needs at least one worker (num_env_runners), or run_serially()")

    def get_default_learner_class(self) -> type[PPOLearner]:
        """Our learner."""
        return PPOLearner
