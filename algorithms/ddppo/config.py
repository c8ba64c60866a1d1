"""DD-PPO's configuration: what all our algorithms share, plus PPO's numbers and how workers wait for each other."""

from __future__ import annotations

from typing import Any, Self

from bonuslab.algorithms.ddppo.learner import PPOLearner
from bonuslab.algorithms.ddppo.loss import LossSettings, ReturnSettings
from bonuslab.algorithms.ddppo.worker import DDPPOWorker
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs.errors import InvalidInput


class DDPPOConfig(FragmentConfig):
    """Use it as any RLlib configuration: `DDPPOConfig().environment("MultiRoom-N6").bonus("e3b * rnd")`.

    `num_env_runners` is the number of workers, `num_gpus_per_env_runner` what each computes on; one worker is PPO.
    """

    def __init__(self, algo_class: type | None = None) -> None:
        if algo_class is None:
            from bonuslab.algorithms.ddppo.algorithm import DDPPO

            algo_class = DDPPO
        super().__init__(algo_class=algo_class)
        # The defaults are the paper's for Habitat; `presets.py` says where each number comes from.
        self.env_runner_cls = DDPPOWorker
        self.lr = 2.5e-4
        self.gamma = 0.99
        self.grad_clip = 0.2
        self.rollout_fragment_length = 128
        self.num_envs_per_env_runner = 4
        self.num_epochs = 2
        self.num_minibatches = 2
        self.optimiser = "adam"
        self.adam_epsilon = 1e-5
        self.num_learners = 0
        self.num_cpus_per_learner = 0  # the driver's copy of the learner only waits to be saved
        self.num_cpus_for_main_process = 0
        # Tune leaves out a bundle with nothing in it, and RLlib then counts the others wrongly: one byte is something.
        self.custom_resources_for_main_process = {"memory": 1}
        self.bonus(normalise="none", coefficient=0.1, updates=3, reward_clip=None)

        self.policy_clip = 0.2
        self.value_clip: float | None = 0.2
        self.entropy_cost = 5e-5
        self.baseline_cost = 0.5
        self.trace_decay = 0.95
        self.num_values = 1
        self.intrinsic_discount = 0.99
        self.intrinsic_episodic = False
        self.extrinsic_advantage = 1.0
        self.intrinsic_advantage = 1.0
        self.warm_up_steps = 0
        self.sync_fraction = 0.6
        self.shortest_rollout = 0.25
        self.straggler_patience_s = 300.0
        self.exchange_timeout_s = 300.0

    def run_serially(self) -> Self:
        """One worker in this process, on one core."""
        self.num_cpus_for_main_process = 1
        return super().run_serially()

    def loss_settings(self) -> LossSettings:
        """The numbers of the loss."""
        return LossSettings(
            clip=self.policy_clip,
            value_clip=self.value_clip,
            entropy_cost=self.entropy_cost,
            baseline_cost=self.baseline_cost,
        )

    def return_settings(self) -> ReturnSettings:
        """How rewards become advantages."""
        return ReturnSettings(
            discount=self.gamma,
            decay=self.trace_decay,
            intrinsic_discount=self.intrinsic_discount,
            intrinsic_episodic=self.intrinsic_episodic,
            extrinsic_advantage=self.extrinsic_advantage,
            intrinsic_advantage=self.intrinsic_advantage,
        )

    def policy_settings(self) -> dict[str, Any]:
        """One value head, or two."""
        return super().policy_settings() | {"num_values": self.num_values}

    def validate(self) -> None:
        """RLlib's checks and ours; a bad value is named before anything starts."""
        super().validate()
        if self.num_values not in (1, 2):
            raise InvalidInput(f"num_values={self.num_values!r} cannot be used; allowed: 1, 2")
        for name in ("sync_fraction", "shortest_rollout"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"{name}={getattr(self, name)!r} cannot be used; allowed: from 0 to 1")
        if self.num_learners != 0:
            raise InvalidInput(
                f"num_learners={self.num_learners} cannot be used: every worker of DD-PPO learns; set num_env_runners"
            )
        if not self.serial and not self.in_evaluation and self.num_env_runners < 1:
            raise InvalidInput("DD-PPO needs at least one worker (num_env_runners), or run_serially()")

    def get_default_learner_class(self) -> type[PPOLearner]:
        """Our learner."""
        return PPOLearner
