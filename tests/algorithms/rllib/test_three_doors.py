"""One trajectory, three doors: our algorithms, RLlib's with `IntrinsicReward`, and any loop with `Explorer`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

import bonuslab as bl
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.rllib import IntrinsicReward

LENGTH, ENVS, ACTIONS = 16, 4, 4
SETTINGS = {"coefficient": 0.5, "normalise": "std"}


class Walk(gym.Env):
    """A walk on a torus of 5 × 5 cells; every episode takes sixteen steps, the last of which pays."""

    observation_space = gym.spaces.Box(0, 4, (2,), np.float32)
    action_space = gym.spaces.Discrete(ACTIONS)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._cell = self.np_random.integers(5, size=2)
        self._steps = 0
        return self._cell.astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._cell[action // 2] = (self._cell[action // 2] + 2 * (action % 2) - 1) % 5
        self._steps += 1
        ended = self._steps == LENGTH
        return self._cell.astype(np.float32), float(ended), ended, False, {}


def next_observations(fragment: Fragment) -> np.ndarray:
    """[T, N, 2]: the true ones."""
    after = fragment.observations["obs"][1:].copy()
    after[tuple(fragment.final_index.T)] = fragment.finals["obs"]
    return after


def as_rllib_has_it(fragment: Fragment, update: int) -> list[SingleAgentEpisode]:
    """The same steps as RLlib's episodes, one per env."""
    after = next_observations(fragment)
    return [
        SingleAgentEpisode(
            id_=f"{update}-{n}",
            observation_space=Walk.observation_space,
            action_space=Walk.action_space,
            observations=[fragment.observations["obs"][0, n], *after[:, n]],
            actions=list(fragment.action[:, n]),
            rewards=list(fragment.reward[:, n]),
            infos=[{} for _ in range(LENGTH + 1)],
            extra_model_outputs={Columns.ACTION_DIST_INPUTS: list(fragment.behaviour_logits[:, n])},
            terminated=True,
            len_lookback_buffer=0,
        ).to_numpy()
        for n in range(ENVS)
    ]


@pytest.mark.parametrize(
    "bonus",
    [
        "e3b",
        "rnd",
        "noveld(feature=observation)",
        "count.episodic(observation)",
        "count.global(observation)",
        "e3b * rnd",
        "count.episodic(observation) * rnd",
        "e3b + 100 * noveld(c=0.1, feature=observation)",
        "ride",
        "ngu",
        "agac + icm",
    ],
)
def test_all_doors_give_the_same_bonus_while_models_learn(bonus: str) -> None:
    config = (
        IMPALAConfig()
        .environment(Walk)
        .training(network="mlp", reward_clip=None, bonus_variant="ours")
        .bonus(bonus, **SETTINGS)
    )
    config.env_runners(rollout_fragment_length=LENGTH, num_envs_per_env_runner=ENVS)
    algorithm = config.run_serially().build_algo()
    connector = IntrinsicReward(bonus, **SETTINGS)
    explorer = bl.Explorer(bonus, Walk.observation_space, Walk.action_space, ENVS, **SETTINGS)
    last = None
    for update in range(3):
        fragment = algorithm.env_runner.sample()
        assert fragment.terminated[-1].all()
        expected = algorithm.bonus._bonus.process(fragment)[0].columns["bonus"]  # [T, N]

        rewards = connector(batch={}, episodes=as_rllib_has_it(fragment, update))[Columns.REWARDS]
        of_rllib = np.stack([rewards[f"{update}-{n}",][0] for n in range(ENVS)], 1) - fragment.reward
        np.testing.assert_allclose(of_rllib, expected, rtol=1e-6, atol=1e-6)

        of_loop = explorer.rollout(
            fragment.observations["obs"][:-1],
            fragment.action,
            next_observations(fragment),
            fragment.terminated,
            fragment.truncated,
            reward=fragment.reward,
            logits=fragment.behaviour_logits,
        )
        np.testing.assert_allclose(of_loop, expected, rtol=1e-6, atol=1e-6)
        assert np.abs(expected).max() > 1e-3
        assert last is None or not np.array_equal(expected, last)
        last = expected
    algorithm.stop()
