"""A user's script: all four kinds in `__main__`, first here, then in a Ray worker."""

from __future__ import annotations

import json
from typing import Literal

import gymnasium as gym
import numpy as np
from torch import nn

from bonuslab.algorithms.bonuses import Bonus
from bonuslab.algorithms.extensions import bonus, capture, feature, network
from bonuslab.algorithms.networks import Encoder
from bonuslab.envs.gym import register_environment

FACTOR = 3.0
Mode = Literal["near", "far"]


def tripled(value):
    return FACTOR * value


@bonus("speed", scope="episodic")
def speed(step, scale: float = 1.0, mode: Mode = "near"):
    """‖Δ position‖"""
    distance = (step.next_obs["blstats"] - step.obs["blstats"])[..., :2].norm(dim=-1)
    return scale * tripled(distance)


@bonus("visits", scope="global")
class Visits:
    mode: Mode
    inner: Bonus
    size: int = 2

    def setup(self, setting):
        self.inner.build(setting)

    def compute(self, fragment):
        return self.inner.compute(fragment).numpy() + np.full(fragment.action.shape, tripled(self.size))

    def learn(self, fragment):
        return {"size": tripled(self.size)}


@feature("corner", "blstats")
def corner(observations):
    return observations["blstats"][:, :2] < 33


@network("wide")
class Wide(Encoder):
    output_size = 5

    def __init__(self, space):
        super().__init__()
        self.layer = nn.Linear(*space["blstats"].shape, 5)

    def forward(self, observations):
        return self.layer(observations["blstats"].float())


@register_environment("Corridor")
class Corridor(gym.Env):
    observation_space = gym.spaces.Box(0, 1, (1,))
    action_space = gym.spaces.Discrete(2)


if __name__ == "__main__":
    import ray
    from payload_summary import summary

    payload = capture()
    print(json.dumps(summary(payload)))
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    print(json.dumps(ray.get(ray.remote(summary).remote(payload))))
