"""What the configurations of all our algorithms share: RLlib's, plus the bonus, the network and serial mode."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Self

import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig, NotProvided
from ray.rllib.connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.acting.runner import FragmentRunner
from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.bonuses.algebra.plugins import load_plugin
from bonuslab.algorithms.bonuses.reward.config import BonusConfig
from bonuslab.algorithms.networks import families
from bonuslab.algorithms.rllib.intrinsic_reward import IntrinsicReward
from bonuslab.envs.errors import InvalidInput, unknown


class FragmentConfig(AlgorithmConfig):
    """The part of a configuration that does not depend on how the policy learns."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class)
        self.env_runner_cls = FragmentRunner
        self.seed = 0
        self.num_env_runners = 1
        self.create_local_env_runner = False
        self.restart_failed_env_runners = True
        self.delay_between_env_runner_restarts_s = 1.0
        self.env_runner_health_probe_timeout_s = 0.2  # the other runners need not wait for one that is coming back
        self.min_time_s_per_iteration = 5.0
        self._dont_auto_sync_env_runner_states = True
        self.add_default_connectors_to_learner_pipeline = False
        self.evaluation_duration = 32

        self.network = "paper"
        self.recurrent = True
        self.bonus_config = BonusConfig()
        self.optimiser = "rmsprop"
        self.rmsprop_smoothing = 0.99
        self.rmsprop_momentum = 0.0
        self.rmsprop_epsilon = 1e-5
        self.adam_epsilon = 1e-8
        self.num_minibatches = 1
        self.normalise_advantages = False
        self.serial = False
        self.threads_per_runner = 1
        self.threads_per_learner = 1
        self.threads_per_bonus = 1

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
        ours = {name: settings.pop(name) for name in list(settings) if name in self._own_names()}
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

    def make_optimiser(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """RMSProp or Adam, for the policy."""
        if self.optimiser == "rmsprop":
            return torch.optim.RMSprop(
                parameters,
                lr=self.lr,
                alpha=self.rmsprop_smoothing,
                eps=self.rmsprop_epsilon,
                momentum=self.rmsprop_momentum,
            )
        return torch.optim.Adam(parameters, lr=self.lr, eps=self.adam_epsilon)

    def needs_policy_features(self) -> bool:
        """Whether the bonus wants the policy's own encoding in the fragments."""
        for path in self.bonus_config.plugins:
            load_plugin(path)
        return any(leaf.needs_policy_features for leaf in parse(self.bonus_config.expression).leaves())

    def envs_per_batch(self) -> int:
        """VectorEnv that one update of a learner sees."""
        return self.num_envs_per_env_runner

    def validate(self) -> None:
        """RLlib's checks and ours; a bad value is named before anything starts."""
        super().validate()
        if self.network not in families():
            raise unknown("network family", self.network, families())
        if self.envs_per_batch() < self.num_minibatches:
            raise InvalidInput(
                f"num_minibatches={self.num_minibatches} needs at least as many environments in a batch, "
                f"but a batch has {self.envs_per_batch()} environments"
            )
        if self.optimiser not in ("rmsprop", "adam"):
            raise unknown("optimiser", self.optimiser, ("rmsprop", "adam"))
        self.needs_policy_features()

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """Our policy."""
        return RLModuleSpec(module_class=PolicyModule, model_config=self.policy_settings())

    def policy_settings(self) -> dict[str, Any]:
        """What the policy's network is built from, besides the spaces."""
        return {"family": self.network, "recurrent": self.recurrent}

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

    @classmethod
    @cache
    def _own_names(cls) -> frozenset[str]:
        """Settings that RLlib does not know."""
        return frozenset(vars(cls(algo_class=object)).keys() - vars(AlgorithmConfig()).keys())
