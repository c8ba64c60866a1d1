"""Explorer on Gymnasium's vector envs: every autoreset mode gives the bonuses of the same episodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from bonuslab.algorithms.bonuses.reward.explorer import Explorer
from bonuslab.envs.errors import InvalidInput

N = 3
TRANSITIONS = 40


class Corridor(gym.Env[Any, Any]):
    """A random walk of 3 to 7 steps with observations of several kinds."""

    observation_space = spaces.Dict(
        {
            "place": spaces.Discrete(9),
            "noise": spaces.Box(0, 1, (2,), np.float32),
            "pair": spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([9, 9])]),
            "words": spaces.Text(20),
        }
    )
    action_space = spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.left = 4, int(self.np_random.integers(3, 8))
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.place = int(np.clip(self.place + 2 * action[0] - 1, 0, 8))
        self.left -= 1
        return self._seen(), 0.0, self.place in (0, 8), self.left == 0, {}

    def _seen(self) -> Any:
        pair = (np.array([self.place % 2, 1], np.int8), np.array([self.place, self.left]))
        noise = self.np_random.random(2, np.float32)
        return {"place": self.place, "noise": noise, "pair": pair, "words": f"at{self.place}"}


MAKERS: dict[str, Callable[[], gym.Env[Any, Any]]] = {
    "corridor": Corridor,
    "cartpole": partial(gym.make, "CartPole-v1", max_episode_steps=12),
}


def vector_env(name: str, mode: AutoresetMode, kind: Any = SyncVectorEnv) -> VectorEnv[Any, Any, Any]:
    return kind([MAKERS[name]] * N, autoreset_mode=mode)


def explorer_of(envs: VectorEnv[Any, Any, Any], **settings: Any) -> Explorer:
    given = {"normalise": "none", "updates": 0} | settings
    spaces_of = (envs.single_observation_space, envs.single_action_space)
    bonus = "e3b * rnd + count.episodic(observation)"
    return Explorer(bonus, *spaces_of, N, autoreset=envs.metadata["autoreset_mode"], **given)


def action_of(envs: VectorEnv[Any, Any, Any], taken: list[int]) -> Any:
    """Actions that depend only on how many steps an env has taken, whatever the others do."""
    rows = [np.random.default_rng(100 * n + count).integers(2, size=2) for n, count in enumerate(taken)]
    return np.array(rows) if envs.single_action_space.shape else np.array(rows)[:, 0]


def bonuses(envs: VectorEnv[Any, Any, Any], **settings: Any) -> np.ndarray:
    """[N, TRANSITIONS]: the bonuses of each env's first transitions."""
    explorer = explorer_of(envs, **settings)
    found: list[list[float]] = [[] for _ in range(N)]
    obs, _ = envs.reset(seed=7)
    over = np.zeros(N, bool)
    while min(map(len, found)) < TRANSITIONS:
        action = action_of(envs, list(map(len, found)))
        next_obs, _, terminated, truncated, infos = envs.step(action)
        bonus = explorer.observe(obs, action, next_obs, terminated, truncated, infos=infos)
        for n in range(N):
            if not over[n]:
                found[n].append(bonus[n])
        assert (bonus[over] == 0).all()
        obs = next_obs
        done = terminated | truncated
        if envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP:
            over = done
        elif envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            obs, _ = envs.reset(options={"reset_mask": done})
    envs.close()
    return np.array([row[:TRANSITIONS] for row in found])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", MAKERS)
def test_every_mode_gives_the_same_bonuses(name: str) -> None:
    expected = bonuses(vector_env(name, AutoresetMode.DISABLED))
    assert len(np.unique(expected)) > TRANSITIONS
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        np.testing.assert_allclose(bonuses(vector_env(name, mode)), expected, rtol=1e-6, atol=1e-6)


def test_asynchronous_vector_envs() -> None:
    # One after the other: Gymnasium keeps the mode in a dictionary that all vector envs of a class share.
    same_step = bonuses(vector_env("cartpole", AutoresetMode.SAME_STEP, AsyncVectorEnv))
    next_step = bonuses(vector_env("cartpole", AutoresetMode.NEXT_STEP, AsyncVectorEnv))
    np.testing.assert_allclose(same_step, next_step, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_rollouts_follow_the_mode(mode: AutoresetMode) -> None:
    envs = vector_env("cartpole", mode)
    stepwise, whole = explorer_of(envs), explorer_of(envs, updates=1)
    obs, _ = envs.reset(seed=7)
    rows, bonus = [], []
    for t in range(60):
        action = action_of(envs, [t] * N)
        after, _, terminated, truncated, infos = envs.step(action)
        bonus.append(stepwise.observe(obs, action, after, terminated, truncated, infos=infos))
        rows.append((obs, action, Explorer.true_next_obs(after, infos, terminated | truncated), terminated, truncated))
        obs = after
    np.testing.assert_allclose(whole.rollout(*map(np.stack, zip(*rows, strict=True))), bonus, rtol=1e-6, atol=1e-6)
    assert whole.metrics["learn/rnd/predictor_loss"] > 0


def test_reset_steps_are_not_learnt_from() -> None:
    """With NEXT_STEP, models learn what a loop without reset steps teaches them."""
    learnt = []
    for mode in (AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP):
        envs = gym.vector.SyncVectorEnv([MAKERS["cartpole"]], autoreset_mode=mode)
        explorer = Explorer(
            "e3b * rnd", envs.single_observation_space, envs.single_action_space, autoreset=mode, fragment_length=30
        )
        obs, _ = envs.reset(seed=7)
        taken, values = 0, []
        resets = False
        while taken < 95:
            action = np.random.default_rng(taken).integers(2, size=1)
            after, _, terminated, truncated, infos = envs.step(action)
            bonus = explorer.observe(obs, action, after, terminated, truncated, infos=infos)
            if not resets:
                values.append(bonus[0])
                taken += 1
            obs, done = after, terminated | truncated
            resets = bool(done[0]) and mode is AutoresetMode.NEXT_STEP
            if done[0] and mode is AutoresetMode.DISABLED:
                obs, _ = envs.reset(options={"reset_mask": done})
        learnt.append(values)
    np.testing.assert_allclose(*learnt, rtol=1e-5, atol=1e-6)


def test_final_observations_must_come_with_their_mode() -> None:
    envs = vector_env("cartpole", AutoresetMode.SAME_STEP)
    right, wrong = explorer_of(envs), Explorer("rnd", envs.single_observation_space, envs.single_action_space, N)
    obs, _ = envs.reset(seed=0)
    done = np.zeros(N, bool)
    while not done.any():
        action = np.zeros(N, int)
        after, _, terminated, truncated, infos = envs.step(action)
        done = terminated | truncated
    with pytest.raises(InvalidInput, match="create the Explorer with autoreset='same_step'"):
        wrong.observe(obs, action, after, terminated, truncated, infos=infos)
    with pytest.raises(InvalidInput, match=r"the episode of env \d ended: pass infos="):
        right.observe(obs, action, after, terminated, truncated)
