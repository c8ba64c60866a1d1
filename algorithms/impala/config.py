"""IMPALA's configuration: RLlib's, plus what the bonus, the network and the loss need."""

from __future__ import annotations

from typing import Any, Self

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig, NotProvided
from ray.rllib.connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from bonuslab.algorithms.bonus_config import BonusConfig
from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.bonuses.plugins import load_plugin
from bonuslab.algorithms.connectors.intrinsic_reward import IntrinsicReward
from bonuslab.algorithms.impala.learner import FragmentLearner
from bonuslab.algorithms.impala.loss import LossSettings
from bonuslab.algorithms.module import PolicyModule
from bonuslab.algorithms.networks import families
from bonuslab.algorithms.runner import FragmentRunner
from bonuslab.envs.errors import InvalidInput, unknown


class IMPALAConfig(AlgorithmConfig):
    """Use it as any RLlib configuration: `IMPALAConfig().environment("MultiRoom-N6").bonus("e3b * rnd")`."""

    def __init__(self, algo_class: type | None = None) -> None:
        if algo_class is None:
            from bonuslab.algorithms.impala.algorithm import IMPALA

            algo_class = IMPALA
        super().__init__(algo_class=algo_class)
        # The defaults are the paper's; `presets.py` says where each number comes from.
        self.env_runner_cls = FragmentRunner
        self.lr = 1e-4
        self.gamma = 0.99
        self.grad_clip = 40.0
        self.rollout_fragment_length = 80
        self.num_envs_per_env_runner = 8
        self.num_epochs = 1
        self.seed = 0
        self.num_env_runners = 1
        self.create_local_env_runner = False
        self.max_requests_in_flight_per_env_runner = 2
        self.restart_failed_env_runners = True
        self.delay_between_env_runner_restarts_s = 1.0
        self.env_runner_health_probe_timeout_s = 0.2  # the other runners need not wait for one that is coming back
        self.min_time_s_per_iteration = 5.0
        self._dont_auto_sync_env_runner_states = True
        self.add_default_connectors_to_learner_pipeline = False

        self.network = "paper"
        self.recurrent = True
        self.bonus_config = BonusConfig()
        self.optimiser = "rmsprop"
        self.rmsprop_smoothing = 0.99
        self.rmsprop_momentum = 0.0
        self.rmsprop_epsilon = 1e-5
        self.adam_epsilon = 1e-8
        self.entropy_cost = 0.005
        self.baseline_cost = 0.5
        self.clip_rho = 1.0
        self.clip_c = 1.0
        self.trace_decay = 1.0
        self.surrogate_clip: float | None = None
        self.normalise_advantages = False
        self.num_minibatches = 1
        self.fragments_per_batch = 1
        self.max_queued_batches = 4
        self.broadcast_interval_updates = 1
        self.serial = False
        self.threads_per_runner = 1
        self.threads_per_learner = 1
        self.threads_per_bonus = 1
        self.num_cpus_for_bonus = 0.0
        self.num_gpus_for_bonus = 0.0
        self.evaluation_duration = 32

    def bonus(self, expression: str | None = None, **settings: Any) -> Self:
        """Set the intrinsic reward: its expression and any field of `BonusConfig`."""
        if expression is not None:
            settings["expression"] = str(expression)
        known = set(BonusConfig.__dataclass_fields__)
        for name in settings:
            if name not in known:
                raise unknown("bonus setting", name, known)
        self.bonus_config = BonusConfig(**{**vars(self.bonus_config), **settings})
        return self

    def training(self, **settings: Any) -> Self:
        """RLlib's training settings and our own, by name (`entropy_cost`, `network`, `num_minibatches`, …)."""
        ours = {name: settings.pop(name) for name in list(settings) if name in _OURS}
        super().training(**settings)
        for name, value in ours.items():
            if value is not NotProvided:
                setattr(self, name, value)
        return self

    def run_serially(self) -> Self:
        """All pieces in this process: reproducible to the last bit, easy to debug."""
        self.serial = True
        self.num_env_runners = 0
        self.num_learners = 0
        self.create_local_env_runner = True
        self.min_time_s_per_iteration = 0.0
        return self

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

    def needs_policy_features(self) -> bool:
        """Whether the bonus wants the policy's own encoding in the fragments."""
        for path in self.bonus_config.plugins:
            load_plugin(path)
        return any(leaf.needs_policy_features for leaf in parse(self.bonus_config.expression).leaves())

    def validate(self) -> None:
        """RLlib's checks and ours; a bad value is named before anything starts."""
        super().validate()
        if self.network not in families():
            raise unknown("network family", self.network, families())
        if self.num_envs_per_env_runner * self.fragments_per_batch < self.num_minibatches:
            raise InvalidInput(
                f"num_minibatches={self.num_minibatches} needs at least as many lanes in a batch, but a batch has "
                f"{self.num_envs_per_env_runner} lanes × {self.fragments_per_batch} fragments"
            )
        if self.optimiser not in ("rmsprop", "adam"):
            raise unknown("optimiser", self.optimiser, ("rmsprop", "adam"))
        self.needs_policy_features()

    def get_default_learner_class(self) -> type[FragmentLearner]:
        """Our learner."""
        return FragmentLearner

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """Our policy."""
        return RLModuleSpec(
            module_class=PolicyModule, model_config={"family": self.network, "recurrent": self.recurrent}
        )

    def build_learner_connector(
        self, input_observation_space: Any, input_action_space: Any, device: Any = None
    ) -> LearnerConnectorPipeline:
        """The user's own pieces, if any, then the intrinsic reward."""
        pipeline = super().build_learner_connector(input_observation_space, input_action_space, device)
        pipeline.append(
            IntrinsicReward(
                input_observation_space,
                input_action_space,
                bonus=self.bonus_config,
                seed=self.seed or 0,
                device=str(device or "cpu"),
            )
        )
        return pipeline

    @property
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {}


_OURS = set(vars(IMPALAConfig(algo_class=object))) - set(vars(AlgorithmConfig()))
