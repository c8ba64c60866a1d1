"""IMPALA's configuration: what all our algorithms share, plus what V-trace and the queue need."""

from __future__ import annotations

from bonuslab.algorithms.impala.learner import IMPALALearner
from bonuslab.algorithms.impala.loss import LossSettings
from bonuslab.algorithms.rllib.config import FragmentConfig


class IMPALAConfig(FragmentConfig):
    """Use it as any RLlib configuration: `IMPALAConfig().environment("MultiRoom-N6").bonus("e3b * rnd")`."""

    def __init__(self, algo_class: type | None = None) -> None:
        if algo_class is None:
            from bonuslab.algorithms.impala.algorithm import IMPALA

            algo_class = IMPALA
        super().__init__(algo_class=algo_class)
        # The defaults are the paper's; `presets.py` says where each number comes from.
        self.lr = 1e-4
        self.gamma = 0.99
        self.grad_clip = 40.0
        self.rollout_fragment_length = 80
        self.num_envs_per_env_runner = 8
        self.num_epochs = 1
        self.max_requests_in_flight_per_env_runner = 2

        self.entropy_cost = 0.005
        self.baseline_cost = 0.5
        self.clip_rho = 1.0
        self.clip_c = 1.0
        self.trace_decay = 1.0
        self.surrogate_clip: float | None = None
        self.fragments_per_batch = 1
        self.max_queued_batches = 4
        self.broadcast_interval_updates = 1
        self.num_cpus_for_bonus = 0.0
        self.num_gpus_for_bonus = 0.0

    def loss_settings(self) -> LossSettings:
        """The numbers of the loss."""
        return LossSettings(
            discount=self.gamma,
            entropy_cost=self.entropy_cost,
            baseline_cost=self.baseline_cost,
            clip_rho=self.clip_rho,
            clip_c=self.clip_c,
            trace_decay=self.trace_decay,
            surrogate_clip=self.surrogate_clip,
            normalise_advantages=self.normalise_advantages,
        )

    def envs_per_batch(self) -> int:
        """VectorEnv of all fragments that are joined."""
        return self.num_envs_per_env_runner * self.fragments_per_batch

    def get_default_learner_class(self) -> type[IMPALALearner]:
        """Our learner."""
        return IMPALALearner
