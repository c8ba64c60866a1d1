"""Small bonuses for tests of the algebra, loaded as a plugin like a user's file."""

from __future__ import annotations

from typing import Literal

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.bonuses.models.optimiser import ClippedOptimiser
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


@register("toy.age")
class Age(Bonus):
    """1 / (steps of this episode so far + offset)."""

    offset: float = 1.0
    scope = "episodic"
    equation = "1 / (t - t_0 + offset)"
    when = "in tests"

    def setup(self, setting: Setting) -> None:
        self.memory: EpisodeMemory[list[int]] = EpisodeMemory(lambda: [0])
        self.calls = 0

    def compute(self, fragment: Fragment) -> torch.Tensor:
        self.calls += 1
        value = torch.zeros(fragment.action.shape, dtype=torch.float64)
        for n in range(fragment.num_envs):
            age = self.memory.recall(fragment, n)
            for t in range(fragment.num_steps):
                if fragment.first[t, n]:
                    age = self.memory.fresh()
                value[t, n] = 1 / (age[0] + self.offset)
                age[0] += 1
            self.memory.store(fragment, n, age)
        return value


class PositionNet(SharedModel):
    """A linear predictor of 1 from the position; counts its forward passes."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.adam = ClippedOptimiser("toy", [self.layer], setting, learning_rate=0.05)
        self.passes = self.updates = 0

    def encode(self, fragment: Fragment) -> torch.Tensor:
        self.passes += 1
        return self.layer(torch.from_numpy(fragment.states()["blstats"][:, :2]).float() / 50)

    def train(self, fragment: Fragment) -> dict[str, float]:
        self.updates += 1
        return {"loss": self.adam.step((self.features(fragment).states - 1).square().mean())}


@register("toy.error")
class Error(Bonus):
    """(prediction of the next state − 1)²."""

    power: int = 2
    scope = "global"
    equation = "|f(s_{t+1}) - 1|^power"
    when = "in tests"

    def setup(self, setting: Setting) -> None:
        self.model = setting.share("toy", lambda: PositionNet(setting))

    def compute(self, fragment: Fragment) -> torch.Tensor:
        return (self.model.features(fragment).following[..., 0] - 1).abs() ** self.power

    def learn(self, fragment: Fragment) -> Metrics:
        return self.model.learn(fragment)


@register("toy.both")
class Both(Bonus):
    """1 everywhere, with both scopes."""

    scope = "combined"
    equation = "1"
    when = "in tests"

    def compute(self, fragment: Fragment) -> torch.Tensor:
        return torch.ones(fragment.action.shape)


@register("toy.options")
class Options(Bonus):
    """A parameter of every type."""

    inner: Bonus
    size: int = 3
    rate: float = 0.5
    deep: bool = False
    label: str = "plain"
    kind: Literal["round", "square"] = "round"
    scope = "global"
    equation = "inner"
    when = "in tests"

    def __post_init__(self) -> None:
        if self.size < 0:
            raise InvalidInput(f"size must not be negative, not {self.size}")

    def setup(self, setting: Setting) -> None:
        self.inner.build(setting)

    def compute(self, fragment: Fragment) -> torch.Tensor:
        return self.inner.compute(fragment)


@register("toy.broken")
class Broken(Bonus):
    """Invalid values."""

    how: Literal["nan", "shape", "huge"] = "nan"
    scope = "global"
    equation = "?"
    when = "in tests"

    def compute(self, fragment: Fragment) -> torch.Tensor:
        if self.how == "shape":
            return torch.zeros(3)
        return torch.full(fragment.action.shape, float("nan") if self.how == "nan" else 1e200, dtype=torch.float64)
