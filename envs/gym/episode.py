"""One episode after another in one Gymnasium environment, each determined by its context and its actions."""

from __future__ import annotations

import math
from typing import Any, Final

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import unknown
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.gym.observations import ObservationLayout
from bonuslab.envs.vector_env import SHORTENED, EnvError, Observations

WON: Final = ("auto", "success", "reward", "never")
"""What counts as a win: `info["is_success"]` or `info["success"]`; a positive reward at the terminal step; nothing.
`auto` is `reward` for MiniGrid, which never says `success`, and `success` elsewhere."""
_PROBE_STEPS: Final = 5


class GymEpisode:
    """Plays one environment; see `bonuslab.envs.replayed_vector_env.ReplayableEpisode`.

    Every episode begins with `reset(seed=context)`, which in Gymnasium's API restarts all randomness of an environment.
    """

    def __init__(
        self,
        name: str,
        env: gym.Env[Any, Any],
        observations: ObservationLayout,
        actions: ActionLayout,
        buffers: Observations,
        won: str = "auto",
    ) -> None:
        """`name` of the environment appears in messages; observations are written into `buffers`."""
        self.env = env
        self.observation = buffers
        self.context: int | None = None
        self.total_reward = 0.0
        self.status = "unstarted"
        """Then `running`, `won`, `terminated`, `step_limit` or `shortened`."""
        self.truncated = False
        """Whether the episode was cut short, which a won one can be, too."""
        self.limit: int | None = None
        """Steps after which this episode is shortened; None: it has the environment's own limit."""
        self.restarted = False
        """Whether `set_state` began a new episode, because the replay was not the same."""
        self._name = name
        self._observations, self._actions = observations, actions
        self._won = check_won(won)
        if won == "auto":
            modules = [kind.__module__ for kind in type(env.unwrapped).__mro__]
            self._won = "reward" if any(module.startswith("minigrid.") for module in modules) else "success"
        self._taken: list[int] = []

    @property
    def length(self) -> int:
        """Steps so far."""
        return len(self._taken)

    def begin(self, context: int, limit: int | None = None) -> None:
        """Start a new episode, of at most `limit` steps."""
        self.limit = limit
        self.context, self.status = context, "unstarted"  # until the environment has started
        result = self.env.reset(seed=context)
        if not isinstance(result, tuple) or len(result) != 2:
            raise EnvError(f"reset() of {self._name} must return (observation, info)")
        self._observations.write(result[0], self.env, self.observation)
        self._taken.clear()
        self.total_reward, self.status, self.truncated = 0.0, "running", False

    def step(self, action: int) -> float:
        """Take an action and return its reward."""
        result = self.env.step(self._actions.decode(action))
        if not isinstance(result, tuple) or len(result) != 5:
            raise EnvError(f"step() of {self._name} must return (observation, reward, terminated, truncated, info)")
        observation, reward, terminated, truncated, info = result
        self._observations.write(observation, self.env, self.observation)
        try:
            value = float(reward)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise EnvError(f"{self._name} returned the reward {reward}")
        self._taken.append(action)
        self.total_reward += value
        if terminated or truncated:
            self.truncated = not terminated
            is_win = self._is_win(value, bool(terminated), info)
            self.status = "won" if is_win else "terminated" if terminated else "step_limit"
        elif self.length == self.limit:
            self.truncated, self.status = True, SHORTENED
        return value

    def _is_win(self, reward: float, terminated: bool, info: dict[str, Any]) -> bool:
        if self._won == "reward":
            return terminated and reward > 0
        return self._won == "success" and bool(info.get("is_success", info.get("success", False)))

    def repeats_itself(self) -> bool:
        """Whether a few steps from the same seed give the same observations twice; ends the current episode."""
        seen = []
        for _ in range(2):
            self.begin(0)
            shown = [self._copy()]
            for step in range(_PROBE_STEPS):
                if self.status == "running":
                    self.step(step % int(self._actions.space.n))
                    shown.append(self._copy())
            seen.append(shown)
        self.context, self.status = None, "unstarted"
        return len(seen[0]) == len(seen[1]) and all(map(_equal, *seen))

    def get_state(self) -> dict[str, Any] | None:
        """Context, actions and the latest observation; None before the first episode."""
        if self.context is None:
            return None
        state = {"context": self.context, "actions": np.array(self._taken, np.int64), "observation": self._copy()}
        return state if self.limit is None else state | {"limit": self.limit}

    def set_state(self, state: dict[str, Any] | None) -> None:
        """Replay the actions of `state`; where that leads elsewhere, begin the context's episode anew."""
        self.restarted = False
        if state is None:
            return
        self.begin(state["context"], state.get("limit"))
        for action in state["actions"].tolist():
            if self.status != "running":
                break
            self.step(action)
        if self.status != "running" or not _equal(state["observation"], self.observation):
            self.restarted = True
            self.begin(state["context"])

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _copy(self) -> Observations:
        return {key: array.copy() for key, array in self.observation.items()}


def step_limit(env: gym.Env[Any, Any]) -> int | None:
    """The environment's limit, where it has one: `TimeLimit`'s or MiniGrid's `max_steps`."""
    names = [name for name in ("_max_episode_steps", "max_steps") if env.has_wrapper_attr(name)]
    limits = [env.get_wrapper_attr(name) for name in names]
    return min((limit for limit in limits if isinstance(limit, int)), default=None)


def check_won(won: object) -> str:
    """`won` as one of `WON`."""
    if won not in WON:
        raise unknown("value of won", won, WON)
    return str(won)


def _equal(one: Observations, other: Observations) -> bool:
    return all(np.array_equal(array, other[key]) for key, array in one.items())
