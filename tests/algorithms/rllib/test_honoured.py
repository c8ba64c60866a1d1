"""Every RLlib setting is honoured or refused with a sentence; none is silently ignored."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.rllib.honoured import CALLBACKS, HONOURED
from bonuslab.algorithms.rllib.intrinsic_reward import FragmentConnector
from bonuslab.envs.errors import InvalidInput

BOTH = pytest.mark.parametrize("kind", [IMPALAConfig, DDPPOConfig])


def small(kind: Any = IMPALAConfig, **training: Any) -> Any:
    config = kind().environment("CartPole-v1").training(network="mlp", **training)
    return config.env_runners(rollout_fragment_length=8, num_envs_per_env_runner=4).run_serially()


def trained(config: Any, updates: int = 1) -> tuple[Any, dict[str, Any]]:
    algorithm = config.build_algo()
    try:
        for _ in range(updates):
            results = algorithm.train()
        return algorithm, results
    finally:
        algorithm.stop()


def weights(config: Any, updates: int = 1) -> np.ndarray:
    algorithm, _ = trained(config, updates)
    found = algorithm.learner_group.get_weights()["default_policy"]
    return np.concatenate([found[name].ravel() for name in sorted(found)])


def test_every_rllib_setting_is_known_to_exist() -> None:
    assert set(vars(AlgorithmConfig())) >= HONOURED


@BOTH
def test_defaults_are_valid(kind: Any) -> None:
    kind().environment("MultiRoom-N2" if kind is IMPALAConfig else "Apartments-64").validate()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda config: config.training(model={"fcnet_hiddens": [8]}), "does not use RLlib's setting model"),
        (lambda config: config.rl_module(model_config={"fcnet_hiddens": [8]}), "training.network"),
        (lambda config: config.training(train_batch_size=512), "train_batch_size_per_learner"),
        (lambda config: config.training(train_batch_size_per_learner=33), "whole fragments"),
        (lambda config: config.training(minibatch_size=5), "minibatch_size=5 does not fit"),
        (lambda config: config.env_runners(env_to_module_connector=lambda *_: None), "env_to_module_connector"),
        (lambda config: config.env_runners(sample_timeout_s=3.0), "sample_timeout_s"),
        (lambda config: config.evaluation(evaluation_config={"explore": False}), "held-out contexts"),
        (lambda config: config.callbacks(on_episode_step=lambda **_: None), "callbacks_on_episode_step"),
        (lambda config: config.multi_agent(policies_to_train=["a"]), "policies_to_train"),
        (lambda config: config.multi_agent(policies={"a", "b"}), "trains one policy, not a, b"),
        (
            lambda config: config.learners(add_default_connectors_to_learner_pipeline=True),
            "pieces work on",
        ),
        (lambda config: config.api_stack(enable_rl_module_and_learner=False), "no old API stack"),
        (lambda config: config.training(lr=[[0, 1e-3], [100, -1e-3]]), "rates must be 0 or more"),
        (lambda config: config.env_runners(num_env_runners=0).learners(num_learners=1), "num_learners=1 do not fit"),
        (lambda config: config.run_serially().env_runners(num_env_runners=2), "num_env_runners=2 and .* do not fit"),
        (lambda config: config.evaluation(evaluation_duration="auto"), "evaluation_duration='auto'"),
        (lambda config: config.offline_data(output="somewhere"), "output"),
        (lambda config: config.multi_agent(policy_mapping_fn=lambda *_: "a"), "mapping_fn: it trains one policy"),
        (lambda config: config.env_runners(num_env_runners=-1), "num_env_runners -1 cannot be used"),
        (lambda config: config.learners(num_learners=-1), "num_learners -1 cannot be used"),
        (lambda config: config.debugging(seed=1.5), "seed 1.5 cannot be used"),
        (lambda config: config.rl_module(rl_module_spec=RLModuleSpec(model_config={"a": 1})), "model_config of an RLM"),
        (
            lambda config: config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"a": RLModuleSpec()})),
            "takes no MultiRLModuleSpec",
        ),
    ],
)
def test_what_would_have_no_effect_is_refused(change: Any, said: str) -> None:
    config = IMPALAConfig().environment("MultiRoom-N2")
    change(config)
    with pytest.raises(InvalidInput, match=said):
        config.validate()


def test_a_callback_class_and_a_module_that_would_not_be_used_are_refused() -> None:
    class Steps(RLlibCallback):
        def on_episode_step(self, **_: Any) -> None: ...

    with pytest.raises(InvalidInput, match=r"never calls on_episode_step; use one of .*on_episode_end"):
        IMPALAConfig().environment("MultiRoom-N2").callbacks(Steps).validate()
    spec = RLModuleSpec(module_class=TorchRLModule)
    with pytest.raises(InvalidInput, match="trains a PolicyModule"):
        IMPALAConfig().environment("MultiRoom-N2").rl_module(rl_module_spec=spec).validate()


def test_a_module_class_of_ones_own_has_the_same_network() -> None:
    class Own(PolicyModule):
        pass

    algorithm = small().rl_module(rl_module_spec=RLModuleSpec(module_class=Own)).build_algo()
    module = algorithm.get_module()
    algorithm.stop()
    assert isinstance(module, Own)
    assert module.model_config == {"family": "mlp", "recurrent": True}


def test_an_unknown_training_setting_is_named() -> None:
    with pytest.raises(InvalidInput, match="unknown training setting 'learning_rates'"):
        IMPALAConfig().training(learning_rates=1e-3)


class Cart(gym.Wrapper):
    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))


@BOTH
@pytest.mark.parametrize("env", ["CartPole-v1", Cart])
def test_a_preset_brings_a_network_that_reads_the_environment(kind: Any, env: Any) -> None:
    with pytest.raises(InvalidInput, match=r"network '\w+' cannot read .*Cart.*: .*; `auto` picks one"):
        kind().environment(env).validate()
    kind().environment(env).preset("classic").validate()
    with pytest.raises(InvalidInput, match=r"unknown preset of (impala|ddppo) 'clasic'; did you mean classic"):
        kind().preset("clasic")


def test_every_callback_of_rllib_is_called_or_refused() -> None:
    names = {name for name in vars(RLlibCallback) if name.startswith("on_")}
    assert names >= set(CALLBACKS) >= {"on_episode_end", "on_train_result", "on_environment_created"}
    for name in names - set(CALLBACKS):
        kind = type("Listener", (RLlibCallback,), {name: lambda self, **_: None})
        with pytest.raises(InvalidInput, match=f"never calls {name}"):
            IMPALAConfig().environment("MultiRoom-N2").callbacks(kind).validate()


def test_minus_one_is_no_way_around_the_checks() -> None:
    """RLlib takes -1 for a deprecated setting and replaces it by the default."""
    with pytest.raises(InvalidInput, match=r"invalid lr=-1\.0"):
        small(lr=-1.0).build_algo()
    with pytest.raises(InvalidInput, match="seed -1 cannot be used"):
        small().debugging(seed=-1).build_algo()


class Curiosity(ConnectorV2):
    def __call__(self, *, batch: Any, **_: Any) -> Any:
        return batch


class Halved(FragmentConnector):
    """Adds a column that later pieces can read."""

    def __call__(self, *, batch: Any, **_: Any) -> Any:
        fragment = batch["fragment"]
        fragment.extra["halved"] = fragment.reward / 2
        return batch


def test_learner_connectors_work_on_fragments_or_are_refused() -> None:
    with pytest.raises(InvalidInput, match="learner connector Curiosity works on RLlib's episodes"):
        trained(small(learner_connector=lambda *_: Curiosity()))
    config = small(learner_connector=lambda *_: Halved())
    algorithm = config.build_algo()
    fragment = algorithm.env_runner.sample()
    rewards, _ = algorithm.bonus._bonus.process(fragment)
    algorithm.stop()
    np.testing.assert_array_equal(rewards.columns["halved"], fragment.reward / 2)


def test_batch_sizes_in_steps_become_fragments_and_minibatches() -> None:
    config = small(train_batch_size_per_learner=96, minibatch_size=16)
    config.validate()
    assert (config.fragments_per_batch, config.num_minibatches) == (3, 6)
    with pytest.raises(InvalidInput, match="whole fragments"):
        DDPPOConfig().environment("MultiRoom-N2").training(train_batch_size_per_learner=1024).validate()


@BOTH
def test_gradients_are_clipped_as_rllib_says(kind: Any) -> None:
    plain = weights(small(kind, grad_clip=None))
    np.testing.assert_array_equal(plain, weights(small(kind, grad_clip=1e9)))
    for by in ("global_norm", "norm", "value"):
        assert not np.array_equal(plain, weights(small(kind, grad_clip=1e-3, grad_clip_by=by))), by


@BOTH
def test_the_learning_rate_follows_its_schedule(kind: Any) -> None:
    constant = weights(small(kind, lr=1e-3), updates=3)
    unchanging = weights(small(kind, lr=[[0, 1e-3], [10**6, 1e-3]]), updates=3)
    np.testing.assert_allclose(unchanging, constant, atol=1e-6)  # RLlib interpolates
    falling = weights(small(kind, lr=[[0, 1e-3], [32, 1e-6]]), updates=3)
    assert np.abs(falling - constant).max() > 1e-4


@BOTH
def test_without_exploration_actions_are_greedy(kind: Any) -> None:
    algorithm = small(kind).env_runners(explore=False).build_algo()
    fragment = algorithm.env_runner.sample()
    algorithm.stop()
    np.testing.assert_array_equal(fragment.action, fragment.behaviour_logits.argmax(-1))


@BOTH
def test_no_env_runners_means_this_process(kind: Any) -> None:
    config = kind().environment("CartPole-v1").training(network="mlp")
    config.env_runners(num_env_runners=0, rollout_fragment_length=8, num_envs_per_env_runner=4)
    algorithm, _ = trained(config)
    assert algorithm.config.serial
    assert algorithm.env_steps == 32


@BOTH
def test_callbacks_hear_of_environments_and_ended_episodes(kind: Any) -> None:
    heard: list[Any] = []

    class Listener(RLlibCallback):
        def on_episode_end(self, *, episode: Any, env_index: int, metrics_logger: Any, **_: Any) -> None:
            heard.append((episode.get_return(), len(episode), env_index))

        def on_environment_created(self, *, env: Any, **_: Any) -> None:
            heard.append(env.num_envs)

    trained(small(kind).callbacks(Listener), updates=6)
    assert heard[0] == 4
    assert len(heard) > 2
    assert all(value == length for value, length, _ in heard[1:])  # CartPole pays 1 per step


@BOTH
def test_evaluation_is_where_rllib_has_it(kind: Any) -> None:
    _, results = trained(small(kind).evaluation(evaluation_interval=1, evaluation_duration=2))
    assert results["evaluation"]["env_runners"] == results["evaluation"]["sampled"]
    assert results["evaluation"]["env_runners"]["episode_return_mean"] >= 1


@BOTH
def test_the_module_infers_like_the_rollout(kind: Any) -> None:
    algorithm, _ = trained(small(kind))
    module = algorithm.get_module()
    env = gym.make("CartPole-v1")
    rows = [env.reset(seed=3)[0]] + [env.step(0)[0] for _ in range(2)]
    observations = {"obs": torch.from_numpy(np.stack(rows))[None]}  # [1, T, 4]
    state = {name: part[None] for name, part in module.get_initial_state().items()}
    whole = module.forward_inference({Columns.OBS: observations, Columns.STATE_IN: state})
    for t in range(3):
        step = module.forward_inference(
            {Columns.OBS: {"obs": observations["obs"][:, t : t + 1]}, Columns.STATE_IN: state}
        )
        state = step[Columns.STATE_OUT]
        logits = step[Columns.ACTION_DIST_INPUTS][:, 0]
        torch.testing.assert_close(logits, whole[Columns.ACTION_DIST_INPUTS][:, t])
    alone = module.forward_inference({Columns.OBS: {"obs": observations["obs"][:, 0]}})
    torch.testing.assert_close(alone[Columns.ACTION_DIST_INPUTS], whole[Columns.ACTION_DIST_INPUTS][:, 0])
