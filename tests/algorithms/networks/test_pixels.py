"""Image networks: sizes as in the appendices, and forward passes against literal ones."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, linear, max_pool2d

from bonuslab.algorithms.networks import build_encoder, build_policy
from bonuslab.algorithms.networks.atari_frames import frame_predictor, frame_target
from bonuslab.algorithms.networks.pixels import Images, Pose
from bonuslab.algorithms.networks.resnet import BasicBlock, Bottleneck, ResNet
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.spaces import observation_space
from bonuslab.envs.errors import InvalidInput

Box = gym.spaces.Box


def montezuma() -> gym.spaces.Dict:
    return observation_space(find_game("MontezumaRevenge"))


def habitat(size: int) -> gym.spaces.Dict:
    return gym.spaces.Dict(
        {
            "rgb": Box(0, 255, (size, size, 3), np.uint8),
            "depth": Box(0, 10, (size, size, 1), np.float32),
            "gps": Box(-100, 100, (2,), np.float32),
            "compass": Box(-np.pi, np.pi, (1,), np.float32),
            "previous_action": Box(0, 4, (1,), np.uint8),
        }
    )


def states(space: gym.spaces.Dict, number: int, seed: int = 0) -> dict[str, Tensor]:
    space.seed(seed)
    rows = [space.sample() for _ in range(number)]
    return {key: torch.from_numpy(np.stack([row[key] for row in rows])) for key in space.spaces}


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_images_are_stacked_and_scaled() -> None:
    observations = states(habitat(6), 3)
    images = Images(habitat(6))
    seen = images(observations, torch.float64)
    assert (images.channels, images.height, images.width) == (4, 6, 6)
    for b, y, x in ((0, 0, 0), (2, 5, 1), (1, 3, 4)):
        expected = [*(observations["rgb"][b, y, x] / 255).tolist(), float(observations["depth"][b, y, x, 0]) / 10]
        np.testing.assert_allclose(seen[b, :, y, x], expected, rtol=1e-6)
    frames = states(montezuma(), 2)
    np.testing.assert_allclose(Images(montezuma())(frames, torch.float64), frames["frames"].double() / 255)


def test_the_compass_is_periodic() -> None:
    pose = Pose(habitat(6)).double()
    here = {"gps": torch.tensor([[1.0, 2.0]]).double(), "compass": torch.tensor([[0.3]]).double()}
    turned = {**here, "compass": here["compass"] + 2 * np.pi}
    assert pose.size == 64
    for one, other in zip(pose(here), pose(turned), strict=True):
        assert one.shape == (1, 32)
        torch.testing.assert_close(one, other)
    half = pose({**here, "compass": here["compass"] + np.pi})
    assert not torch.allclose(half[1], pose(here)[1])


def test_resnet50_has_the_papers_architecture() -> None:
    network = build_policy("resnet50", habitat(256), 4)
    backbone = network.encoder.trunk.backbone
    convolutions = [layer for name, layer in backbone.named_modules() if isinstance(layer, nn.Conv2d)]
    assert len(convolutions) == 49 + 4  # 1 + 3 · 16, and a shortcut at each stage; the 50th layer is the join
    assert {layer.num_groups for layer in backbone.modules() if isinstance(layer, nn.GroupNorm)} == {16}
    assert not [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert convolutions[0].weight.shape == (32, 4, 7, 7)
    literal = 32 * 4 * 49 + 2 * 32  # stem
    inputs = 32
    for stage, count in enumerate((3, 4, 6, 3)):
        planes = 32 * 2**stage
        for number in range(count):
            literal += inputs * planes + 9 * planes * planes + planes * 4 * planes + 2 * (planes + planes + 4 * planes)
            literal += 0 if number else inputs * 4 * planes + 2 * 4 * planes
            inputs = 4 * planes
    assert parameters(backbone) == literal
    assert network.encoder.trunk.compression[0].weight.shape == (128, 1024, 3, 3)
    assert network.encoder.visual.weight.shape == (512, 2048)
    assert (network.core.layers.hidden_size, network.core.layers.num_layers) == (512, 2)
    with torch.no_grad():
        output = network.act(states(habitat(256), 1), torch.zeros(1, dtype=torch.bool), network.initial_state(1))
    assert output.logits.shape == (1, 4)
    assert output.features.shape == (1, 608)
    assert output.state[0].shape == (2, 1, 512)


@pytest.mark.parametrize("block", [Bottleneck, BasicBlock])
def test_resnet_equals_a_literal_implementation(block: type[Bottleneck] | type[BasicBlock]) -> None:
    torch.manual_seed(0)
    network = ResNet(3, block, (1, 2, 1, 1), base_planes=4).double()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)
    x = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    weights = iter(list(network.parameters()))

    def convolve(x: Tensor, stride: int = 1) -> Tensor:
        kernel, scale, shift = next(weights), next(weights), next(weights)
        x = conv2d(x, kernel, stride=stride, padding=kernel.shape[-1] // 2)
        grouped = x.reshape(len(x), 2, -1)  # base_planes / 2 groups
        mean, variance = grouped.mean(-1, keepdim=True), grouped.var(-1, keepdim=True, unbiased=False)
        white = (grouped - mean) / (variance + 1e-5).sqrt()
        return white.view_as(x) * scale[:, None, None] + shift[:, None, None]

    expected = max_pool2d(convolve(x, 2).relu(), 3, 2, 1)
    for stage, count in enumerate((1, 2, 1, 1)):
        for number in range(count):
            stride = 2 if stage and not number else 1
            if block is Bottleneck:
                inner = convolve(convolve(convolve(expected).relu(), stride).relu())
            else:
                inner = convolve(convolve(expected, stride).relu())
            changes = stride == 2 or inner.shape != expected.shape
            expected = (inner + (convolve(expected, stride) if changes else expected)).relu()
    torch.testing.assert_close(network(x), expected)
    assert network(x).shape == (2, block.expansion * 32, 2, 2)


@pytest.mark.parametrize(("family", "size"), [("resnet9", 64), ("pixels-small", 64), ("pixels-small", 50)])
def test_small_families_process_states_independently(family: str, size: int) -> None:
    torch.manual_seed(0)
    encoder = build_encoder(family, habitat(size))
    observations = states(habitat(size), 3)
    with torch.no_grad():
        together = encoder(observations)
        apart = torch.cat([encoder({key: rows[n : n + 1] for key, rows in observations.items()}) for n in range(3)])
    assert together.shape == (3, encoder.output_size)
    torch.testing.assert_close(together, apart, rtol=1e-4, atol=1e-5)
    moved = {**observations, "gps": observations["gps"] + 1}
    assert not torch.allclose(encoder(moved), together)
    assert parameters(build_policy(family, habitat(size), 4)) < 1_500_000


def test_the_atari_policy_has_the_appendix_architecture() -> None:
    torch.manual_seed(0)
    network = build_policy("atari", montezuma(), 18, recurrent=False, num_values=2)
    shared = (4 * 32 * 64 + 32) + (32 * 64 * 16 + 64) + (64 * 64 * 16 + 64) + (2304 * 256 + 256) + (256 * 448 + 448)
    own = 448 * 448 + 448
    assert parameters(network.encoder) == shared
    assert parameters(network) == shared + 2 * own + (448 * 18 + 18) + (448 * 2 + 2)
    observations = states(montezuma(), 3)
    with torch.no_grad():
        output = network.act(observations, torch.zeros(3, dtype=torch.bool), ())
        weights = iter(list(network.encoder.parameters()))
        x = observations["frames"].float() / 255
        for stride in (4, 2, 1):
            x = conv2d(x, next(weights), next(weights), stride=stride).relu()
        x = x.flatten(1)
        for _ in range(2):
            x = linear(x, next(weights), next(weights)).relu()
        policy, value = network.policy_head, network.value_head
        torch.testing.assert_close(output.features, x)
        torch.testing.assert_close(output.logits, policy.layer(x).relu() @ policy.weight.T + policy.bias)
        torch.testing.assert_close(output.value, (x + value.layer(x).relu()) @ value.weight.T + value.bias)
    kernel = network.encoder.layers[2].weight.flatten(1)
    torch.testing.assert_close(kernel @ kernel.T, 2 * torch.eye(64), rtol=1e-4, atol=1e-4)
    recurrent = build_policy("atari", montezuma(), 18)
    assert recurrent.initial_state(3)[0].shape == (1, 3, 448)


def test_rnd_networks_have_the_appendix_architecture() -> None:
    convolutions = (32 * 64 + 32) + (32 * 64 * 16 + 64) + (64 * 64 * 9 + 64)
    layer = 512 * 512 + 512
    assert parameters(frame_target()) == convolutions + 3136 * 512 + 512
    assert parameters(frame_predictor()) == parameters(frame_target()) + 2 * layer
    kinds = [type(part).__name__ for part in frame_predictor()]
    assert kinds == ["Conv2d", "LeakyReLU"] * 3 + ["Flatten", "Linear", "ReLU", "Linear", "ReLU", "Linear"]
    assert frame_target()(torch.zeros(2, 1, 84, 84)).shape == (2, 512)


def test_environments_without_suitable_images_are_rejected() -> None:
    blind = gym.spaces.Dict({"blstats": Box(0, 1, (27,), np.float32)})
    for family in ("atari", "resnet50", "resnet9", "pixels-small"):
        with pytest.raises(InvalidInput, match=r"needs images .* has blstats"):
            build_encoder(family, blind)
    with pytest.raises(InvalidInput, match="at least 44 × 44 pixels; this environment's are 16 × 16"):
        build_encoder("atari", habitat(16))
    mixed = gym.spaces.Dict({"rgb": habitat(64)["rgb"], "depth": habitat(32)["depth"]})
    with pytest.raises(InvalidInput, match="different sizes"):
        build_encoder("resnet9", mixed)
