"""What the authors' released programs do, fact by fact, asserted on our presets, networks and bonuses.

Sources are files of facebookresearch/e3b: `models.py`, `utils.py`, `losses.py` and `algos/…` under
minihack/torchbeast/src, `sweep_slurm_icml_2023.py` beside it, `resnet_policy.py`, `…_trainer.py` and `ppo.py` under
habitat-lab/habitat_baselines/rl, `ddppo_pointnav_hm3d.yaml` under habitat-lab/habitat_baselines/config/pointnav; and of
jcwleo/random-network-distillation-pytorch. All code here is our own, written from the facts.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import PRESETS as EXPRESSIONS
from bonuslab.algorithms.bonuses import Bonus, Setting, parse
from bonuslab.algorithms.bonuses.algebra.variants import VARIANTS
from bonuslab.algorithms.bonuses.models.pixel_moments import PixelMoments
from bonuslab.algorithms.bonuses.models.whitened_frames import WhitenedFrames
from bonuslab.algorithms.bonuses.reward.model import total_reward
from bonuslab.algorithms.bonuses.reward.normalise import make_normaliser
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import PRESETS as DDPPO
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import PRESETS as IMPALA
from bonuslab.algorithms.impala.loss import impala_loss
from bonuslab.algorithms.learning.learner import to_tensors
from bonuslab.algorithms.rllib.hyperparameters import types_of
from bonuslab.envs.atari.episode import Rules
from bonuslab.envs.catalogue import check_settings, find
from bonuslab.envs.habitat.hm3d.scenes import HM3DScenes
from bonuslab.envs.habitat.spaces import MAX_STEPS
from bonuslab.envs.habitat.spaces import observation_space as habitat_space
from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.tasks import suites

PAPER, HABITAT, MONTEZUMA = IMPALA["paper"].values, DDPPO["habitat"].values, DDPPO["montezuma"].values
LAPTOPS = [preset.values for preset in (IMPALA["laptop"], DDPPO["laptop"], DDPPO["laptop-pixels"])]


def built(expression: str, variant: str, **settings: Any) -> tuple[Any, Setting]:
    """The bonus in one variant, with small networks."""
    setting = Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", variant=variant, **settings)
    return parse(expression).build(setting), setting


def fragments(*lengths: int, seed: int = 0, envs: int = 3) -> list[Fragment]:
    return Trajectory(num_envs=envs, num_steps=sum(lengths), seed=seed, mean_episode=6).cut(list(lengths))


def test_minihack_numbers() -> None:
    # sweep_slurm_icml_2023.py, arguments.py: 8 unrolls of 80, V-trace clips 1, total reward clipped to 1, no annealing
    assert (PAPER.rollout_fragment_length, PAPER.num_envs_per_env_runner) == (80, 8)
    assert (PAPER.vtrace_clip_rho_threshold, PAPER.vtrace_clip_c_threshold, PAPER.lambda_) == (1, 1, 1)
    assert (PAPER.reward_clip, PAPER.grad_clip, PAPER.bonus_grad_clip) == (1, 40, 40)
    assert (PAPER.vf_loss_coeff, PAPER.entropy_coeff, PAPER.optimiser, PAPER.lr) == (0.5, 0.005, "rmsprop", 1e-4)
    assert (PAPER.rmsprop_smoothing, PAPER.rmsprop_momentum, PAPER.rmsprop_epsilon) == (0.99, 0, 1e-5)
    assert (PAPER.gamma, PAPER.total_env_steps) == (0.99, 50_000_000)
    assert (PAPER.num_epochs, PAPER.num_minibatches, PAPER.bonus_updates) == (1, 1, 1)
    assert (PAPER.normalise, PAPER.normalise_at, PAPER.coefficient) == ("reference", "combined", 1)
    assert (PAPER.network, PAPER.bonus_network, PAPER.bonus_variant) == ("paper", None, "minihack")
    assert not PAPER.bootstrap_truncated  # the step limit is `done`
    assert isinstance(IMPALAConfig().lr, float)  # no schedule
    optimiser = IMPALAConfig().make_optimiser([torch.nn.Parameter(torch.zeros(1))])
    assert type(optimiser).__name__ == "RMSprop"


def test_minihack_loss() -> None:
    # algos/torchbeast.py, losses.py: policy gradient + 0.5 · ½ (v − V)² − 0.005 · entropy, summed over time, mean over
    # the batch. On-policy and without episode ends v is the discounted return.
    T, N, A = 6, 3, 4
    random = torch.Generator().manual_seed(0)
    logits, value = (torch.randn(T, N, *more, generator=random, dtype=torch.float64) for more in ((A,), ()))
    reward, bootstrap = torch.randn(T, N, generator=random), torch.randn(N, generator=random)
    action = torch.randint(A, (T, N), generator=random)
    log_policy = logits.log_softmax(-1)
    taken = log_policy.gather(-1, action[..., None])[..., 0]
    expected, target = 0.0, bootstrap.double()
    for t in reversed(range(T)):
        target = reward[t] + 0.99 * target
        advantage = target - value[t]
        entropy = -(log_policy[t].exp() * log_policy[t]).sum(-1)
        expected += float((-taken[t] * advantage + 0.5 * 0.5 * advantage.square() - 0.005 * entropy).mean())
    never = torch.zeros(T, N, dtype=torch.bool)
    loss, _ = impala_loss(
        logits=logits,
        value=value,
        next_value=torch.cat([value[1:], bootstrap[None].double()]),
        behaviour_log_prob=taken,
        start_log_prob=taken,
        action=action,
        reward=reward.double(),
        terminated=never,
        truncated=never,
        settings=PAPER,
    )
    assert float(loss) == pytest.approx(expected, rel=1e-12)


def test_the_sum_of_both_rewards_is_clipped() -> None:
    # algos/e3b_noveld.py: clamp of extrinsic + intrinsic reward
    total = total_reward(np.array([0.5, -3.0, 0.25]), np.array([2.0, 0.0, 0.5]), PAPER.reward_clip)
    np.testing.assert_array_equal(total, [1.0, -1.0, 0.75])


@pytest.mark.parametrize("envs", [8, 32])
def test_the_divisor_of_the_bonus(envs: int) -> None:
    # models.py: the sum of T × 8 values counts as T; batches are 8 unrolls, however many envs there are
    values = np.random.default_rng(0).exponential(size=(80, envs))
    running = make_normaliser(PAPER.normalise)
    running.update(np.tile(values[:, :8], envs // 8))
    batch = values[:, :8]
    assert running.sigma == pytest.approx(np.sqrt(8 * (batch.var() + 49 * batch.mean() ** 2)), rel=1e-12)


def test_a_finite_set_of_contexts_is_drawn_once_and_sampled_uniformly() -> None:
    # the environments of the MiniHack program: a list of seeds per run, one of them at random in every reset
    one, other = (MiniHackContexts(5, seed=3, stream=stream) for stream in (0, 1))
    assert one.ids is not None
    assert one.ids == other.ids
    counts = Counter(one.draw() for _ in range(1000))
    assert set(counts) == set(one.ids)
    assert min(counts.values()) > 150


def test_task_suites() -> None:
    # paper, appendix; sweep_slurm_icml_2023.py
    paper, released = ({task.name for task in suites[name]} for name in ("paper16", "released16"))
    assert len(paper) == len(released) == 16
    assert {name.split("-", 1)[1] for name in paper - released} == {"MultiRoom-N10-v0", "MultiRoom-N10-Lava-v0"}
    assert {name.split("-", 1)[1] for name in released - paper} == {
        "LavaCross-Restricted-v0", "WoD-Hard-Restricted-v0",
    }  # fmt: skip


def test_habitat_numbers() -> None:
    # ddppo_pointnav_hm3d.yaml, e3b_trainer.py: bonus unnormalised, PPO's clip and learning rate for the bonus networks
    assert (HABITAT.rollout_fragment_length, HABITAT.num_epochs, HABITAT.num_minibatches) == (128, 2, 2)
    assert (HABITAT.gamma, HABITAT.lambda_, HABITAT.adam_epsilon, HABITAT.vf_loss_coeff) == (0.99, 0.95, 1e-5, 0.5)
    assert not HABITAT.normalise_advantages
    assert (HABITAT.normalise, HABITAT.reward_clip, HABITAT.num_values) == ("none", None, 1)
    assert (HABITAT.grad_clip, HABITAT.bonus_grad_clip, HABITAT.lr, HABITAT.optimiser) == (0.2, 0.2, 2.5e-4, "adam")
    assert (HABITAT.clip_param, HABITAT.vf_clip_param) == (0.2, 0.2)
    assert (HABITAT.num_envs_per_env_runner, HABITAT.sync_fraction) == (4, 0.6)
    assert (HABITAT.shortest_rollout, HABITAT.longest_rollout) == (0.25, 1)  # stragglers stop, fast workers wait
    assert (HABITAT.network, HABITAT.bonus_network, HABITAT.bonus_variant) == ("resnet50", "resnet50-bonus", "habitat")
    assert not HABITAT.bootstrap_truncated
    # where the released scripts differ from the paper's tables (E3B: 0.01, 5e-6, 0), the tables count
    assert (HABITAT.coefficient, HABITAT.entropy_coeff, HABITAT.bonus_updates) == (0.1, 5e-5, 3)
    check_settings("Apartments", contexts="inf", stop_ends_episode=True)  # as released; by default stop is a no-op


def test_montezuma_numbers() -> None:
    # jcwleo: config.conf, train.py, agents.py
    assert (MONTEZUMA.num_envs_per_env_runner, MONTEZUMA.rollout_fragment_length) == (128, 128)
    assert (MONTEZUMA.gamma, MONTEZUMA.intrinsic_gamma, MONTEZUMA.lambda_) == (0.999, 0.99, 0.95)
    assert (MONTEZUMA.extrinsic_advantage_coeff, MONTEZUMA.intrinsic_advantage_coeff) == (2, 1)
    assert (MONTEZUMA.num_values, MONTEZUMA.intrinsic_episodic, MONTEZUMA.normalise) == (2, False, "return")
    assert (MONTEZUMA.num_epochs, MONTEZUMA.clip_param, MONTEZUMA.vf_clip_param) == (4, 0.1, None)
    assert (MONTEZUMA.reward_clip, MONTEZUMA.warm_up_steps, MONTEZUMA.lr) == (1, 50 * 128, 1e-4)
    assert not MONTEZUMA.bootstrap_truncated  # envs.py: MaxStepPerEpisode is `done`
    # 4 epochs of 4 minibatches, each on a random quarter: 16 updates on a sixteenth of the states
    assert MONTEZUMA.bonus_updates == MONTEZUMA.num_epochs * MONTEZUMA.num_minibatches == 16
    rnd = parse("rnd_montezuma")
    assert (rnd.networks, rnd.keep) == ("atari", 0.25 / MONTEZUMA.num_minibatches)
    e3b = parse("e3b_montezuma")
    assert (e3b.encoder, e3b.ridge) == ("atari", 1.0)
    # envs.py: actions repeat with probability 0.25; drawn once per step, which is a setting
    assert (Rules().sticky_probability, Rules(sticky="step").sticky, Rules().max_steps) == (0.25, "step", 4500)


def test_montezuma_frames_are_whitened_and_clipped() -> None:
    # train.py: the last frame only; (x − mean) / deviation of each pixel, clipped to [−5, 5]
    stacks = np.random.default_rng(0).integers(0, 256, (3, 2, 4, 84, 84)).astype(np.uint8)
    last = WhitenedFrames.last(None, SimpleNamespace(observations={"frames": stacks}, final_index=()))
    np.testing.assert_array_equal(last, stacks[:, :, 3].reshape(-1, 84, 84))
    moments = PixelMoments(2, 2)
    frames = torch.tensor([[[0, 100], [7, 250]], [[50, 100], [9, 0]]], dtype=torch.uint8)
    moments.merge(PixelMoments.sums(frames.repeat(500, 1, 1)))
    white = moments.whiten(frames)
    np.testing.assert_allclose(white[:, 0, 0, 0], [-1, 1], atol=1e-4)
    assert float(moments.whiten(torch.full((1, 2, 2), 255, dtype=torch.uint8)).max()) == 5


def test_laptop_presets_keep_our_own_details() -> None:
    for values in LAPTOPS:
        assert (values.bonus_variant, values.bonus_grad_clip, values.bootstrap_truncated) == ("ours", 40, True)
        assert values.bonus_network is None
    assert types_of(type(PAPER))["bonus_variant"].__args__ == VARIANTS


@pytest.mark.parametrize(("config", "variant", "clip"), [(IMPALAConfig, "minihack", 40), (DDPPOConfig, "habitat", 0.2)])
def test_presets_reach_the_bonus(config: Any, variant: str, clip: float) -> None:
    connector = config().bonus("e3b").build_learner_connector(habitat_space(16), gym.spaces.Discrete(4)).connectors[-1]
    setting = connector._setting_arguments
    assert (setting["variant"], setting["grad_clip"]) == (variant, clip)


def test_a_step_limit_ends_returns_as_released() -> None:
    (fragment,) = fragments(20, seed=1)
    assert fragment.truncated.any()
    fragment.extra["reward"] = fragment.reward
    cut = to_tensors(fragment, "cpu", bootstrap_truncated=False)
    np.testing.assert_array_equal(cut["terminated"], fragment.done)
    assert len(cut["final_index"]) == 0
    np.testing.assert_array_equal(to_tensors(fragment, "cpu")["terminated"], fragment.terminated)


PARAMETERS = [
    # algos/ride.py, arguments.py
    ("ride", "minihack", {"forward_coefficient": 1.0, "inverse_coefficient": 0.1, "optimiser": "rmsprop"}),
    # algos/curiosity.py
    ("icm", "minihack", {"error": "norm", "forward_coefficient": 1.0, "inverse_coefficient": 0.1}),
    ("icm", "minihack", {"optimiser": "rmsprop", "learning_rate": 1e-4}),
    # algos/rnd.py
    ("rnd_alone", "minihack", {"networks": "full", "optimiser": "rmsprop", "learning_rate": 1e-4}),
    # algos/bebold.py: small heads on one frozen encoder, alone and in combinations
    ("noveld_alone", "minihack", {"networks": "shared", "episodic": True, "c": 0.1}),
    ("agac", "minihack", {"learning_rate": 3e-5, "loss_coefficient": 4e-5}),  # paper, table AGAC
    ("rnd", "minihack", {"networks": "shared", "optimiser": "adam", "learning_rate": 1e-4, "convention": "reference"}),
    # algos/e3b_noveld.py
    ("e3b", "minihack", {"convention": "reference", "learning_rate": 1e-4, "ridge": 0.1}),
    # utils.py, the actors' loop
    ("count.global", "minihack", {"convention": "released", "count_scope": "runner"}),
    ("count.episodic", "minihack", {"convention": "released"}),
    # e3b_trainer.py, rnd_trainer.py, noveld_trainer.py, icm_trainer.py
    ("e3b", "habitat", {"convention": "paper", "learning_rate": 2.5e-4}),
    ("rnd", "habitat", {"convention": "habitat", "networks": "full", "learning_rate": 2.5e-4}),
    ("noveld", "habitat", {"convention": "habitat", "networks": "full", "learning_rate": 2.5e-4}),
    ("icm", "habitat", {"error": "mean_square", "forward_coefficient": 1.0, "learning_rate": 2.5e-4}),
]


@pytest.mark.parametrize(("expression", "variant", "expected"), PARAMETERS)
def test_parameters(expression: str, variant: str, expected: dict[str, Any]) -> None:
    bonus, _ = built(expression, variant)
    assert {name: getattr(bonus, name) for name in expected} == expected


def test_explicit_parameters_win_and_expressions_stay_as_written() -> None:
    bonus, _ = built("rnd(networks=shared, learning_rate=0.0001)", "habitat")
    assert (bonus.networks, bonus.learning_rate, bonus.convention) == ("shared", 1e-4, "habitat")
    assert str(bonus) == "rnd(networks=shared, learning_rate=0.0001)" == str(parse(str(bonus)))
    assert str(built("rnd", "habitat")[0]) == "rnd"
    assert all(isinstance(parse(name), Bonus) for name in EXPRESSIONS)


@pytest.mark.parametrize(("expression", "variant", "width"), [("ride", "minihack", 1024), ("icm", "habitat", 512)])
def test_heads(expression: str, variant: str, width: int) -> None:
    # models.py and resnet_policy.py: orthogonal inverse and forward models, the forward model as wide as φ
    networks = built(expression, variant)[0]._model._networks
    for network in (networks["inverse"], networks["forward_model"]):
        for layer, gain in ((network[0], 2), (network[2], 1)):  # squares of √2 and 1
            weight = layer.weight if layer.in_features >= layer.out_features else layer.weight.T
            torch.testing.assert_close(weight @ weight.T, gain * torch.eye(len(weight)), rtol=1e-4, atol=1e-4)
            assert not layer.bias.any()
    assert networks["inverse"][0].out_features == 256
    assert networks["forward_model"][0].out_features == width
    ours = built(expression, "ours")[0]._model._networks
    assert ours["forward_model"][0].out_features == 256


@pytest.mark.parametrize(("bonus", "kind"), [("ride", "RMSprop"), ("e3b", "Adam"), ("rnd_alone", "RMSprop")])
def test_optimisers(bonus: str, kind: str) -> None:
    model = list(built(bonus, "minihack")[1].models.values())[-1]
    optimiser = model._optimiser._optimiser
    assert type(optimiser).__name__ == kind
    assert optimiser.defaults["lr"] == 1e-4


def test_e3b_times_rnd_is_e3b_times_noveld_without_subtraction() -> None:
    # the combined agents share one program, whose scale factor is 0 for RND
    (fragment,) = fragments(12, seed=7)
    values = []
    for expression in ("e3b * rnd", "e3b * noveld(c=0)"):
        torch.manual_seed(0)
        values.append(built(expression, "minihack")[0].compute(fragment))
    torch.testing.assert_close(values[0], values[1])


def test_habitat_observations_and_actions() -> None:
    # pointnav_hm3d.yaml: 256 × 256 pixels, GPS, compass; stop, forward, left, right
    space = find("HM3D").observation_space("HM3D")
    shapes = {key: part.shape for key, part in space.spaces.items()}
    assert shapes.pop("previous_action") == (1,)
    assert shapes == {"rgb": (256, 256, 3), "depth": (256, 256, 1), "gps": (2,), "compass": (1,)}
    assert find("HM3D").action_names("HM3D") == ["stop", "forward", "left", "right"]


def test_habitat_episodes_and_heads() -> None:
    # pointnav_hm3d.yaml, resnet_policy.py; habitat-lab's episode iterator keeps a scene for 10,000 steps
    assert (MAX_STEPS, HM3DScenes.scene_steps) == (500, 10_000)
    head = built("e3b", "habitat")[0].model._head
    assert (head[0].out_features, head[2].out_features) == (256, NUM_ACTIONS)
