"""RLlib's settings: those that our algorithms honour. Every other one is refused, never silently ignored."""

from __future__ import annotations

import math
from typing import Any

from ray._common.deprecation import DEPRECATED_VALUE
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.envs.errors import InvalidInput

HONOURED = {
    # environment and runners
    *("env", "env_config", "env_runner_cls", "num_env_runners", "create_local_env_runner", "num_envs_per_env_runner"),
    *("num_cpus_per_env_runner", "num_gpus_per_env_runner", "custom_resources_per_env_runner", "explore"),
    *("validate_env_runners_after_construction", "max_requests_in_flight_per_env_runner", "rollout_fragment_length"),
    # learners
    *("num_learners", "num_gpus_per_learner", "num_cpus_per_learner", "custom_resources_per_learner", "local_gpu_idx"),
    *("gamma", "lr", "grad_clip", "grad_clip_by", "num_epochs", "minibatch_size", "_train_batch_size_per_learner"),
    *("_learner_connector", "_learner_class", "_rl_module_spec"),
    # evaluation, callbacks, reporting
    *("evaluation_interval", "evaluation_duration", "in_evaluation", "metrics_num_episodes_for_smoothing"),
    *("min_time_s_per_iteration", "min_train_timesteps_per_iteration", "min_sample_timesteps_per_iteration"),
    *("callbacks_class", "callbacks_on_algorithm_init", "callbacks_on_train_result", "callbacks_on_episode_end"),
    *("callbacks_on_checkpoint_loaded", "callbacks_on_env_runners_recreated", "callbacks_on_environment_created"),
    *("log_level", "log_sys_usage", "log_gradients", "seed"),
    # resources and fault tolerance
    *("algo_class", "placement_strategy", "num_cpus_for_main_process", "custom_resources_for_main_process"),
    *("extra_python_environs_for_driver", "extra_python_environs_for_worker", "framework_str"),
    *("restart_failed_env_runners", "ignore_env_runner_failures", "max_num_env_runner_restarts"),
    *("delay_between_env_runner_restarts_s", "num_consecutive_env_runner_failures_tolerance"),
    *("env_runner_health_probe_timeout_s", "env_runner_restore_timeout_s"),
    # RLlib's own bookkeeping
    *("_is_frozen", "_validate_config", "_use_msgpack_checkpoints", "_dont_auto_sync_env_runner_states", "_is_atari"),
    "policies",
}
CALLBACKS = sorted(name.removeprefix("callbacks_") for name in HONOURED if name.startswith("callbacks_on_"))
"""The methods of `RLlibCallback` that are called."""
_HINTS = {
    "_env_to_module_connector": "fragments go to the network as they are; wrap the environment instead",
    "_module_to_env_connector": "actions go to the environment as they are; wrap the environment instead",
    "_model_config": "choose a network with training(network=…), or register one with @bl.network",
    "model": "choose a network with training(network=…), or register one with @bl.network",
    "train_batch_size": "set train_batch_size_per_learner, or rollout_fragment_length and num_envs_per_env_runner",
    "evaluation_config": "evaluation plays held-out contexts, greedy and sampled",
    "add_default_connectors_to_learner_pipeline": "RLlib's pieces work on its episodes, and there are none here",
    "enable_rl_module_and_learner": "there is no old API stack here",
    "enable_env_runner_and_connector_v2": "there is no old API stack here",
    "policy_mapping_fn": "it trains one policy",
    "shuffle_batch_per_epoch": "with num_minibatches > 1 environments are always shuffled",
    "clip_rewards": "set reward_clip",
}
_UNUSED_CALLBACKS = [
    name for name in vars(RLlibCallback) if name.startswith("on_") and f"callbacks_{name}" not in HONOURED
]


def refuse_unsupported(config: Any) -> None:
    """Raise `InvalidInput` for an RLlib setting that was changed and would have no effect."""
    known, defaults = vars(AlgorithmConfig()), vars(type(config)())
    for name, default in defaults.items():
        if name not in known or name in HONOURED or known[name] == DEPRECATED_VALUE:
            continue
        if not _same(getattr(config, name), default):
            hint = f": {_HINTS[name]}" if name in _HINTS else ""
            raise InvalidInput(f"{_algorithm(config)} does not use RLlib's setting {name.lstrip('_')}{hint}")
    if set(config.policies) != {DEFAULT_MODULE_ID}:
        raise InvalidInput(f"{_algorithm(config)} trains one policy, not {', '.join(sorted(config.policies))}")
    _check_schedule(config.lr)
    spec = config._rl_module_spec
    if spec is not None:
        _check_module(config, spec)
    classes = config.callbacks_class if isinstance(config.callbacks_class, list | tuple) else [config.callbacks_class]
    for name in _UNUSED_CALLBACKS:
        if any(getattr(found, name) is not getattr(RLlibCallback, name) for found in classes):
            raise InvalidInput(
                f"{_algorithm(config)} never calls {name}; use one of {', '.join(CALLBACKS)} (steps are in fragments, "
                "not in RLlib's episodes)"
            )


def _check_module(config: Any, spec: Any) -> None:
    if not isinstance(spec, RLModuleSpec):
        raise InvalidInput(f"{_algorithm(config)} trains one policy, and takes no {type(spec).__name__}")
    if not issubclass(spec.module_class or PolicyModule, PolicyModule):
        raise InvalidInput(
            f"{_algorithm(config)} trains a PolicyModule, not {spec.module_class.__name__}: {_HINTS['model']}"
        )
    if spec.model_config:
        raise InvalidInput(f"{_algorithm(config)} does not use model_config of an RLModuleSpec: {_HINTS['model']}")


def _check_schedule(lr: Any) -> None:
    """Check the rates of [[env_steps, lr], …]; RLlib checks the form."""
    for _, rate in lr if isinstance(lr, list | tuple) else ():
        if not (math.isfinite(rate) and rate >= 0):
            raise InvalidInput(f"invalid lr={lr!r}; rates must be 0 or more")


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return bool(value == default)
    except (TypeError, ValueError):  # arrays, for example
        return False


def _algorithm(config: Any) -> str:
    return getattr(config.algo_class, "__name__", type(config).__name__)
