"""Base class of our algorithm configs: RLlib's, plus hyperparameters, bonus and serial mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from inspect import signature
from typing import Any, ClassVar, Self

import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig, NotProvided
from ray.rllib.connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.util.debug import log_once

from bonuslab.algorithms import extensions
from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.acting.runner import FragmentRunner
from bonuslab.algorithms.bonuses import Bonus, parse
from bonuslab.algorithms.learning.no_compile import Adam, RMSprop
from bonuslab.algorithms.networks import families
from bonuslab.algorithms.rllib.honoured import refuse_unsupported
from bonuslab.algorithms.rllib.hyperparameters import Hyperparameters, Preset, specs_of
from bonuslab.algorithms.rllib.intrinsic_reward import FragmentConnector, IntrinsicReward
from bonuslab.algorithms.rllib.readable import check_readable
from bonuslab.envs.errors import InvalidInput, check_integer, unknown

_EXTENSIONS = "bonuslab_extensions"
"""Key of user-defined bonuses, features, networks and environments in a pickled config."""


class FragmentConfig(AlgorithmConfig):
    """The algorithm-independent part of a config.

    Each hyperparameter is an attribute, set by `training()` or RLlib's own method. Unpickling a config also registers
    the user's extensions from the sending process.
    """

    hyperparameters_class: ClassVar[type[Hyperparameters]] = Hyperparameters
    presets: ClassVar[Mapping[str, Preset[Any]]] = {}

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class)
        self.env_runner_cls = FragmentRunner
        self.seed = 0
        self.num_env_runners = 1
        self.create_local_env_runner = False
        self.restart_failed_env_runners = True
        self.delay_between_env_runner_restarts_s = 1.0
        self.env_runner_health_probe_timeout_s = 0.2  # do not block the others on a restarting runner
        self.min_time_s_per_iteration = 5.0
        self._dont_auto_sync_env_runner_states = True
        self.add_default_connectors_to_learner_pipeline = False

        self.bonus_expression = "none"
        self.serial = False
        self.threads_per_runner = 1
        self.threads_per_learner = 1
        self.threads_per_bonus = 1
        self.apply(self.default_hyperparameters())

    @classmethod
    def default_hyperparameters(cls) -> Hyperparameters:
        """Values of a new config."""
        return cls.hyperparameters_class()

    @property
    def hyperparameters(self) -> Any:
        """Current values of all hyperparameters."""
        values = {name: getattr(self, name) for name in specs_of(self.hyperparameters_class)}
        return self.hyperparameters_class(**{**values, "lr": self.initial_lr})

    @property
    def initial_lr(self) -> float:
        """The learning rate, or the first one of a schedule [[env_steps, lr], …]."""
        return self.lr[0][1] if isinstance(self.lr, list | tuple) else self.lr

    def apply(self, values: Hyperparameters) -> Self:
        """Set all hyperparameters."""
        for name, value in vars(values).items():
            setattr(self, name, value)
        return self

    def preset(self, name: str) -> Self:
        """Set all hyperparameters to those of a preset (`bonuslab presets`)."""
        if name not in self.presets:
            raise unknown(f"preset of {type(self).__name__.removesuffix('Config').lower()}", name, self.presets)
        return self.apply(self.presets[name].values)

    def bonus(self, expression: str | Bonus | None = None, **hyperparameters: Any) -> Self:
        """Set the intrinsic reward: an expression, and hyperparameters such as `coefficient` and `normalise`."""
        if expression is not None:
            self.bonus_expression = str(expression)
        return self.training(**hyperparameters)

    def training(self, **settings: Any) -> Self:
        """RLlib's training settings and our own, by name (`entropy_coeff`, `network`, `num_minibatches`, …)."""
        ours = {name: settings.pop(name) for name in list(settings) if name in self._own_names()}
        theirs = signature(AlgorithmConfig.training).parameters
        for name in settings:
            if name not in theirs:
                known = {*self._own_names(), *theirs} - {"self"}
                raise unknown("training setting", name, known, "`bonuslab presets` lists hyperparameters")
        super().training(**settings)
        for name, value in ours.items():
            if value is not NotProvided:
                setattr(self, name, value)
        return self

    def run_serially(self) -> Self:
        """Run everything in this process: bit-for-bit reproducible and easy to debug."""
        self.serial = True
        self.num_env_runners = 0
        self.num_learners = 0
        self.create_local_env_runner = True
        self.min_time_s_per_iteration = 0.0
        return self

    def make_optimiser(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """The policy's optimiser: RMSProp or Adam."""
        if self.optimiser == "rmsprop":
            return RMSprop(
                parameters,
                lr=self.initial_lr,
                alpha=self.rmsprop_smoothing,
                eps=self.rmsprop_epsilon,
                momentum=self.rmsprop_momentum,
            )
        return Adam(parameters, lr=self.initial_lr, eps=self.adam_epsilon, fused=True)

    def needs_policy_features(self) -> bool:
        """Whether the bonus reads the policy's features."""
        return parse(self.bonus_expression).needs_policy_features

    def envs_per_batch(self) -> int:
        """Envs per batch of a learner."""
        return self.num_envs_per_env_runner

    def build_algo(self, *arguments: Any, **options: Any) -> Any:
        """Build the algorithm; its settings are checked first, because RLlib drops those that are -1 on the way."""
        self._check_numbers()
        return super().build_algo(*arguments, **options)

    def validate(self) -> None:
        """Check all settings before anything starts."""
        self._check_numbers()
        if not self.in_evaluation and (self.serial or self.num_env_runners == 0):
            if self.num_learners or self.num_env_runners:
                raise InvalidInput(
                    f"num_env_runners={self.num_env_runners} and num_learners={self.num_learners} do not fit: "
                    "run_serially() and num_env_runners=0 sample and learn in this process"
                )
            self.run_serially()  # what RLlib means by no runners: sample and learn in this process
        if not self.in_evaluation:
            refuse_unsupported(self)
            self._fit_batch_sizes()
        log_once(f"{self.algo_class.__name__}_on_new_api_stack")  # RLlib's warning; there is no other stack here
        super().validate()
        for name in (self.network, self.bonus_network):
            if name is not None and name not in families():
                raise unknown("network family", name, families())
        if self.envs_per_batch() < self.num_minibatches:
            raise InvalidInput(
                f"num_minibatches={self.num_minibatches} needs at least as many envs per batch, "
                f"but a batch has {self.envs_per_batch()}"
            )
        parse(self.bonus_expression)
        if self.env is not None:
            check_readable(self.env, self.env_config, self.network, self.bonus_network, self.bonus_expression)

    def _check_numbers(self) -> None:
        for name in ("num_env_runners", "num_learners", *(() if self.seed is None else ("seed",))):
            check_integer(name, getattr(self, name), 0)
        self.hyperparameters.check()

    def _fit_batch_sizes(self) -> None:
        """Turn RLlib's sizes in steps into whole fragments and groups of envs."""
        fragment = self.rollout_fragment_length * self.num_envs_per_env_runner
        wanted = self._train_batch_size_per_learner
        if wanted is not None and wanted != fragment * self.set_fragments_per_batch(wanted / fragment):
            raise InvalidInput(
                f"train_batch_size_per_learner={wanted} does not fit: a batch holds whole fragments of "
                f"{self.rollout_fragment_length} steps of {self.num_envs_per_env_runner} envs, {fragment} steps"
            )
        batch = self.rollout_fragment_length * self.envs_per_batch()
        size, length = self.minibatch_size, self.rollout_fragment_length
        if size is not None:
            if size < 1 or batch % size or size % length:
                raise InvalidInput(
                    f"minibatch_size={size} does not fit: a minibatch holds all {length} steps of some envs, "
                    f"and a batch has {batch} steps"
                )
            self.num_minibatches = batch // size

    def set_fragments_per_batch(self, number: float) -> int:
        """Join this many fragments in a batch, if the algorithm can; returns how many it joins."""
        return 1

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """Our policy."""
        return RLModuleSpec(module_class=PolicyModule, model_config=self.policy_settings())

    def policy_settings(self) -> dict[str, Any]:
        """`model_config` of the policy module."""
        return {"family": self.network, "recurrent": self.recurrent}

    def build_learner_connector(
        self, input_observation_space: Any, input_action_space: Any, device: Any = None
    ) -> LearnerConnectorPipeline:
        """The user's connectors, if any, then the intrinsic reward."""
        pipeline = super().build_learner_connector(input_observation_space, input_action_space, device)
        for piece in pipeline.connectors:
            if not isinstance(piece, FragmentConnector):
                raise InvalidInput(
                    f"learner connector {type(piece).__name__} works on RLlib's episodes, and there are none here; "
                    "subclass bonuslab.rllib.FragmentConnector, or write it as a bonus"
                )
        pipeline.append(
            IntrinsicReward(
                input_observation_space,
                input_action_space,
                expression=self.bonus_expression,
                reward_clip=self.reward_clip,
                setting={
                    "network": self.bonus_network or self.network,
                    "seed": self.seed or 0,
                    "device": str(device or "cpu"),
                    "variant": self.bonus_variant,
                    "grad_clip": self.bonus_grad_clip,
                },
                normalise=self.normalise,
                normalise_at=self.normalise_at,
                coefficient=self.coefficient,
                updates=self.bonus_updates,
            )
        )
        return pipeline

    def get_state(self) -> dict[str, Any]:
        """RLlib's state and the user's extensions."""
        return super().get_state() | {_EXTENSIONS: extensions.capture()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Any:
        """The inverse of `get_state`."""
        state = dict(state)
        extensions.install(state.pop(_EXTENSIONS, None))
        return super().from_state(state)

    def to_dict(self) -> dict[str, Any]:
        """RLlib's settings, as Tune sends them to trials, and the user's extensions."""
        payload = extensions.capture()
        return super().to_dict() | ({} if payload is None else {_EXTENSIONS: payload})

    def update_from_dict(self, config_dict: Any) -> Self:
        """Update settings, and register extensions that came with them."""
        settings = config_dict.to_dict() if isinstance(config_dict, AlgorithmConfig) else dict(config_dict)
        extensions.install(settings.pop(_EXTENSIONS, None))
        return super().update_from_dict(settings)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {_EXTENSIONS: extensions.capture()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        extensions.install(state.pop(_EXTENSIONS, None))
        self.__dict__.update(state)

    @property
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return self.policy_settings()  # of a user's RLModuleSpec, too

    @classmethod
    @cache
    def _own_names(cls) -> frozenset[str]:
        """Settings that RLlib's `training()` does not accept."""
        own = vars(cls(algo_class=object)).keys() - vars(AlgorithmConfig()).keys()
        elsewhere = ("rollout_fragment_length", "num_envs_per_env_runner", "evaluation_duration")
        return frozenset({*own, *elsewhere})
