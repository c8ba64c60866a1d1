"""The authors' networks, re-created from the facts in our own code, give the outputs of our presets' networks.

Sources: facebookresearch/e3b, minihack/torchbeast/src/models.py and habitat_baselines/rl/ddppo/policy/resnet_policy.py;
habitat-baselines, rl/ddppo/policy/running_mean_and_var.py.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from nle import nethack
from torch import Tensor, nn
from torch.nn import functional

from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.data.synthetic import OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.ddppo.hyperparameters import HABITAT
from bonuslab.algorithms.impala.hyperparameters import PAPER
from bonuslab.algorithms.networks import as_tensors, build_encoder, build_policy
from bonuslab.algorithms.networks.running_moments import RunningMoments, connect
from bonuslab.envs.habitat.spaces import observation_space as habitat_space

Weights = dict[str, Tensor]
SIZE = 64


def minihack_features(w: Weights, glyphs: Tensor, blstats: Tensor, message: Tensor, first_offset: int = -5) -> Tensor:
    """[1024] of one state: the network of the MiniHack program."""
    table = w["glyph_embedding.weight"]
    around = torch.zeros(9, 9, dtype=torch.long)  # beyond the map: glyph 0
    x, y = int(blstats[0]), int(blstats[1])
    for row in range(9):
        for column in range(9):
            i, j = y + first_offset + row, x + first_offset + column
            if 0 <= i < 21 and 0 <= j < 79:
                around[row, column] = glyphs[i, j]

    def convolve(name: str, cells: Tensor) -> Tensor:
        maps = table[cells.long()].permute(2, 0, 1)[None]
        for layer in range(0, 10, 2):
            maps = functional.elu(
                functional.conv2d(maps, w[f"{name}.{layer}.weight"], w[f"{name}.{layer}.bias"], padding=1)
            )
        return maps[0].permute(1, 2, 0).flatten()

    characters = w["character_embedding.weight"][message.long()] * (message != 0)[:, None]
    text = characters.T[None]
    convolutions = [name for name in w if name.startswith("message") and w[name].dim() == 3]
    for number, name in enumerate(convolutions):
        text = functional.conv1d(text, w[name], w[name.replace("weight", "bias")]).relu()
        if number in (0, 1, 5):
            text = functional.max_pool1d(text, 3, 3)
    first, last = [name for name in w if name.startswith("message") and w[name].dim() == 2]
    text = functional.linear(text.flatten(), w[first], w[first.replace("weight", "bias")]).relu()
    text = functional.linear(text, w[last], w[last.replace("weight", "bias")])
    stats = blstats.double()
    for layer in (0, 2):
        stats = functional.linear(stats, w[f"blstats.{layer}.weight"], w[f"blstats.{layer}.bias"]).relu()
    joined = torch.cat([convolve("map", glyphs), convolve("crop", around), stats, text])
    assert len(joined) == 14_048
    hidden = functional.linear(joined, w["join.weight"], w["join.bias"]).relu()
    return functional.linear(hidden, w["hidden.weight"], w["hidden.bias"]).relu()


def test_the_paper_policy_gives_the_released_networks_outputs() -> None:
    torch.manual_seed(0)
    policy = build_policy(PAPER.values.network, OBSERVATION_SPACE, 8).double()
    fragment = Trajectory(num_envs=2, num_steps=6, seed=3, mean_episode=3, grid=7).cut([6])[0]
    fragment.observations["blstats"][0, 0, :2] = (1, 0)  # the crop leaves the map
    assert fragment.first[1:-1].any()  # the LSTM is reset inside the unroll
    w = {name.removeprefix("encoder."): value for name, value in policy.state_dict().items()}
    assert w["glyph_embedding.weight"].shape == (nethack.MAX_GLYPH, 64) == (5976, 64)
    assert (w["character_embedding.weight"].shape, w["blstats.0.weight"].shape) == ((256, 32), (64, 27))
    assert (w["join.weight"].shape, w["hidden.weight"].shape) == ((1024, 14_048), (1024, 1024))
    sizes = [tuple(w[name].shape) for name in w if name.startswith(("map.", "message.")) and w[name].dim() > 1]
    assert sizes[:5] == [(16, 64, 3, 3), *[(16, 16, 3, 3)] * 3, (8, 16, 3, 3)]
    assert sizes[5:] == [(64, 32, 7), (64, 64, 7), *[(64, 64, 3)] * 4, (128, 320), (64, 128)]
    lstm = nn.LSTM(1024, 1024).double()
    lstm.load_state_dict(policy.core.layers.state_dict())
    rows = as_tensors(fragment.observations)
    with torch.no_grad():
        output = policy.unroll(rows, torch.from_numpy(fragment.first), policy.initial_state(2))
        for n in range(2):
            state = (torch.zeros(1, 1024).double(), torch.zeros(1, 1024).double())
            for t in range(7):
                features = minihack_features(w, *(rows[key][t, n] for key in ("glyphs", "blstats", "message")))
                if fragment.first[t, n]:
                    state = (torch.zeros_like(state[0]), torch.zeros_like(state[1]))
                core, state = lstm(features[None], state)
                logits = functional.linear(core[0], w["policy_head.weight"], w["policy_head.bias"])
                value = functional.linear(core[0], w["value_head.weight"], w["value_head.bias"])
                torch.testing.assert_close(output.logits[t, n], logits, rtol=1e-6, atol=1e-9)
                torch.testing.assert_close(output.value[t, n], value[0], rtol=1e-6, atol=1e-9)


def test_the_papers_own_crop_is_reachable() -> None:
    torch.manual_seed(0)
    encoder = build_encoder("paper-centred", OBSERVATION_SPACE).double()
    other = build_encoder("paper", OBSERVATION_SPACE).double()
    other.load_state_dict(encoder.state_dict())
    states = Trajectory(num_envs=1, num_steps=1, seed=3).cut([1])[0].states()
    rows = as_tensors({key: value[:1] for key, value in states.items()})
    with torch.no_grad():
        expected = minihack_features(
            dict(encoder.state_dict()), *(rows[key][0] for key in ("glyphs", "blstats", "message")), first_offset=-4
        )
        torch.testing.assert_close(encoder(rows)[0], expected, rtol=1e-6, atol=1e-9)
        assert not torch.allclose(other(rows)[0], expected)


def test_the_embedding_of_nul_stays_zero() -> None:
    encoder = build_encoder("paper", OBSERVATION_SPACE)
    states = as_tensors(Trajectory(num_envs=2, num_steps=2).cut([2])[0].states())
    encoder(states).sum().backward()
    assert not encoder.character_embedding.weight[0].any()
    assert not encoder.character_embedding.weight.grad[0].any()
    assert encoder.character_embedding.weight.grad.any()


def linear_sizes(module: nn.Module) -> list[tuple[int, int]]:
    return [(layer.in_features, layer.out_features) for layer in module.modules() if isinstance(layer, nn.Linear)]


def test_minihack_bonus_networks() -> None:
    # algos/e3b_noveld.py: φ is the policy's encoder without LSTM; algos/bebold.py: heads on one frozen encoder
    setting = Setting(OBSERVATION_SPACE, 8, network=PAPER.values.network, variant=PAPER.values.bonus_variant)
    e3b, rnd = (parse(name).build(setting) for name in ("e3b", "rnd"))
    assert e3b.model.size == rnd._model._encoder.size == 1024  # so E3B's matrix is 1024 × 1024
    assert linear_sizes(e3b.model._head) == [(2 * 1024, 256), (256, 8)]
    assert linear_sizes(rnd._model._target) == [(1024, 128), (128, 128), (128, 128), (128, 128)]
    assert linear_sizes(rnd._model._predictor) == [(1024, 1024), (1024, 1024), (1024, 128), (128, 128), (128, 128)]
    trained = [parameter.requires_grad for parameter in rnd._model._predictor.parameters()]
    frozen = [*rnd._model._target.parameters(), *rnd._model._encoder._encoder.parameters()]
    assert all(trained)
    assert not any(parameter.requires_grad for parameter in frozen)
    encoders = {type(e3b.model._encoder), type(rnd._model._encoder._encoder)}
    assert encoders == {type(build_encoder(PAPER.values.network, OBSERVATION_SPACE))}  # encoders have no LSTM


def habitat_states(number: int, seed: int = 0) -> dict[str, Tensor]:
    rng = np.random.default_rng(seed)
    rows = {
        "rgb": rng.integers(0, 256, (number, SIZE, SIZE, 3)).astype(np.uint8),
        "depth": rng.random((number, SIZE, SIZE, 1)).astype(np.float16),
        "gps": rng.normal(size=(number, 2)).astype(np.float32),
        "compass": rng.uniform(-3, 3, (number, 1)).astype(np.float32),
        "previous_action": rng.integers(0, 5, (number, 1)).astype(np.uint8),
    }
    return as_tensors(rows)


def visual(encoder: nn.Module, rows: dict[str, Tensor], mean: Tensor, variance: Tensor) -> Tensor:
    """[B, 512]: what both networks of the Habitat program have in common; the ResNet itself is tested elsewhere."""
    images = torch.cat([rows["rgb"].double() / 255, rows["depth"].double()], dim=3).permute(0, 3, 1, 2)
    images = functional.avg_pool2d(images, 2)
    images = (images - mean[:, None, None]) / variance.clamp(min=0.01).sqrt()[:, None, None]
    seen = encoder.trunk.compression(encoder.trunk.backbone(images)).flatten(1)
    return functional.linear(seen, encoder.visual.weight, encoder.visual.bias).relu()


def pose(module: nn.Module, rows: dict[str, Tensor]) -> list[Tensor]:
    compass = torch.cat([rows["compass"].double().cos(), rows["compass"].double().sin()], dim=1)
    return [module.layers["gps"](rows["gps"].double()), module.layers["compass"](compass)]


def assert_starts_orthogonal(policy: nn.Module) -> None:
    # rl/models/rnn_state_encoder.py, rl/ppo/policy.py; the gain of 0.01: utils/common.py
    lstm = list(policy.core.layers.parameters())
    heads = [(policy.policy_head.weight, 0.01), (policy.value_head.weight, 1.0)]
    for weight, gain in [*((part, 1.0) for part in lstm if part.dim() == 2), *heads]:
        narrow = weight if weight.shape[0] <= weight.shape[1] else weight.T
        identity = gain**2 * torch.eye(len(narrow)).double()
        torch.testing.assert_close(narrow @ narrow.T, identity, rtol=1e-4, atol=1e-5)
    biases = [policy.policy_head.bias, policy.value_head.bias, *(part for part in lstm if part.dim() == 1)]
    assert not any(bias.any() for bias in biases)


def test_the_habitat_policy_gives_the_released_networks_outputs() -> None:
    torch.manual_seed(0)
    space = habitat_space(SIZE)
    policy = build_policy(HABITAT.values.network, space, 4).double()
    assert_starts_orthogonal(policy)
    encoder, rows = policy.encoder, habitat_states(3)
    assert policy.core.layers.input_size == 512 + 32 + 32 + 32 == 608
    assert (policy.core.layers.hidden_size, policy.core.layers.num_layers) == (512, 2)
    previous = encoder.others[1].embedding
    assert previous.weight.shape == (4 + 1, 32)
    zeros = torch.zeros(4).double()
    with torch.no_grad():
        action = previous.weight[rows["previous_action"][:, 0].long()]
        expected = torch.cat([visual(encoder, rows, zeros, zeros), *pose(encoder.others[0], rows), action], dim=1)
        torch.testing.assert_close(encoder(rows), expected, rtol=1e-6, atol=1e-9)
        lstm = nn.LSTM(608, 512, num_layers=2).double()
        lstm.load_state_dict(policy.core.layers.state_dict())
        state = tuple(torch.randn(2, 3, 512).double() for _ in range(2))
        first = torch.tensor([False, True, False])
        kept = tuple(part * ~first[:, None] for part in state)
        core, _ = lstm(expected[None], kept)
        output = policy.act(rows, first, state)
        heads = [functional.linear(core[0], head.weight, head.bias) for head in (policy.policy_head, policy.value_head)]
        torch.testing.assert_close(output.logits, heads[0], rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(output.value, heads[1][:, 0], rtol=1e-6, atol=1e-9)


def test_the_habitat_bonus_encoder_ends_in_three_layers_the_last_linear() -> None:
    torch.manual_seed(0)
    encoder = build_encoder(HABITAT.values.bonus_network, habitat_space(SIZE)).double()
    rows = habitat_states(3)
    shapes = [tuple(layer.weight.shape) for layer in encoder.layers if isinstance(layer, nn.Linear)]
    assert shapes == [(512, 512 + 32 + 32), (512, 512), (512, 512)]
    zeros = torch.zeros(4).double()
    with torch.no_grad():
        x = torch.cat([visual(encoder, rows, zeros, zeros), *pose(encoder.pose, rows)], dim=1)
        x = encoder.layers[4](encoder.layers[2](encoder.layers[0](x).relu()).relu())
        features = encoder(rows)
        torch.testing.assert_close(features, x, rtol=1e-6, atol=1e-9)
    assert (features < 0).any()


def test_habitat_sizes_at_256_pixels() -> None:
    # resnet_policy.py, resnet.py: 32 base planes; the compressed features are about 2,048, then 512
    encoder = build_encoder(HABITAT.values.bonus_network, habitat_space(256))
    first = next(layer for layer in encoder.trunk.backbone.modules() if isinstance(layer, nn.Conv2d))
    assert (first.in_channels, first.out_channels) == (4, 32)
    assert (encoder.visual.in_features, encoder.visual.out_features) == (2048, 512)


def test_running_moments_are_those_of_all_trained_images() -> None:
    moments = RunningMoments(2)
    batches = [torch.randn(n, 2, 4, 4).double() * 3 + 1 for n in (5, 1, 8)]
    for images in batches:
        seen = moments(images)
    everything = torch.cat(batches).transpose(0, 1).flatten(1)
    mean, variance = everything.mean(1), everything.var(1, unbiased=False)
    torch.testing.assert_close(moments.mean, mean)
    torch.testing.assert_close(moments.variance, variance)
    torch.testing.assert_close(seen, (batches[-1] - mean[:, None, None]) / variance.sqrt()[:, None, None])
    with torch.no_grad():  # acting
        moments(torch.zeros(100, 2, 4, 4))
    assert moments.count == 14
    flat = RunningMoments(1)
    assert torch.equal(flat(torch.full((1, 1, 2, 2), 0.5)), torch.zeros(1, 1, 2, 2))  # variance 0 counts as 0.01
    for other in (copy.deepcopy(moments), pickle.loads(pickle.dumps(moments))):
        assert torch.equal(other.mean, moments.mean)


def test_running_moments_of_replicas_are_joint(connected: Callable) -> None:
    batches = [torch.randn(n, 2, 3, 3).double() + n for n in (4, 7)]
    alone = RunningMoments(2)
    alone(torch.cat(batches))
    replicas = [RunningMoments(2) for _ in batches]
    group = connected(2)
    for replica, collectives in zip(replicas, group, strict=True):
        connect(nn.Sequential(replica), collectives.sum)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: pair[0](pair[1]), zip(replicas, batches, strict=True)))
    assert [collectives.exchanges for collectives in group] == [1, 1]  # each costs 7 ms among 128 workers in a ring
    for replica in replicas:
        for name, value in alone.state_dict().items():
            torch.testing.assert_close(replica.state_dict()[name], value)


@pytest.mark.parametrize("family", ["resnet50", "resnet50-bonus"])
def test_statistics_are_saved_with_the_weights(family: str) -> None:
    encoder = build_encoder(family, habitat_space(SIZE))
    encoder(habitat_states(2))
    assert float(encoder.state_dict()["trunk.normalise.count"]) == 2


def test_target_and_predictor_of_rnd_normalise_images_alike() -> None:
    setting = Setting(habitat_space(SIZE), 4, network="resnet50-bonus", seed=0, variant="habitat")
    model = parse("rnd").build(setting)._model
    networks = (model._target, model._predictor)
    for grad, count in ((False, 0.0), (True, 2.0)):
        with torch.set_grad_enabled(grad):
            model._errors(habitat_states(2))
        assert [float(network.state_dict()["trunk.normalise.count"]) for network in networks] == [count, count]
