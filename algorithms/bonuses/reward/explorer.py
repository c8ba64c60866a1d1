"""`Explorer`: exploration bonuses for any training loop, without Ray."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.expression import parse
from bonuslab.algorithms.bonuses.algebra.setting import Setting, setting_for
from bonuslab.algorithms.bonuses.algebra.terms import elementary
from bonuslab.algorithms.bonuses.reward.loop_steps import LoopSteps
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel, NormaliseAt
from bonuslab.algorithms.data.transitions import Transitions, join, rectangle
from bonuslab.algorithms.networks.registry import resolve_family
from bonuslab.envs.errors import InvalidInput, check_integer
from bonuslab.envs.gym.autoreset import true_next_obs
from bonuslab.envs.gym.batches import Batches


class Explorer:
    """The intrinsic reward of N environments, step by step or for whole rollouts, as arrays or tensors.

        explorer = bl.Explorer("e3b * rnd", envs.single_observation_space, envs.single_action_space, envs.num_envs,
                               autoreset=envs.metadata["autoreset_mode"])
        next_obs, reward, terminated, truncated, infos = envs.step(action)
        reward += explorer.observe(obs, action, next_obs, terminated, truncated, infos=infos)

    The bonus needs the true next observation of every step, at the end of an episode its last one. `autoreset` says
    what the vector env does there:

    - `disabled`: `next_obs` is the true one; the loop resets envs itself.
    - `same_step` (Stable-Baselines3's, too): `next_obs` belongs to the next episode; pass `infos`, which has the final
      observation, or use `Explorer.true_next_obs` and `disabled`.
    - `next_step` (Gymnasium's default): the step after the end only resets the env. It gets no bonus and is not learnt.
    """

    true_next_obs = staticmethod(true_next_obs)

    def __init__(
        self,
        bonus: str | Bonus,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        num_envs: int = 1,
        *,
        autoreset: Any = "disabled",
        network: str = "auto",
        normalise: str = "std",
        normalise_at: NormaliseAt = "combined",
        coefficient: float = 1.0,
        updates: int = 1,
        fragment_length: int | None = 80,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        """Spaces are those of a single env.

        `network` is an encoder's name; `auto` chooses one from the space. See `IntrinsicModel` for `normalise`,
        `normalise_at`, `coefficient` and `updates`, the gradient steps of each `learn`; 0 turns learning off. `observe`
        learns every `fragment_length` steps (80, as IMPALA does in the paper), or only in `learn()` if it is None.
        """
        self.bonus = parse(bonus) if isinstance(bonus, str) else bonus
        self.num_envs = check_integer("num_envs", num_envs, 1)
        self._updates = check_integer("updates", updates, 0)
        self._length = None if fragment_length is None else check_integer("fragment_length", fragment_length, 1)
        self._loop = LoopSteps(observation_space, action_space, num_envs, autoreset)
        self._needs_rollouts = updates > 0 and any(term.learns_from_compute for term in elementary(self.bonus))
        if self._needs_rollouts and self._loop.autoreset == "next_step":
            raise InvalidInput(
                f"bonus '{self.bonus}' learns from rollouts without reset steps: create the vector env with "
                "autoreset_mode=AutoresetMode.SAME_STEP"
            )
        family = resolve_family(network, self._loop.observation_space)
        setting = _setting(self.bonus, self._loop, network=family, seed=seed, device=device)
        self._model = IntrinsicModel(self.bonus, setting, normalise, normalise_at, coefficient, updates)
        self._sequence = np.zeros(num_envs, np.int64)
        self._buffer: list[Transitions] = []
        self._pending: list[Metrics] = []
        self.metrics: Metrics = {}
        """Losses of the last `learn`, and means of the bonus and its parts over the steps before it."""

    def reset(self) -> None:
        """Say that the loop starts a new episode in every env, whether or not the last ones ended."""
        self._loop.reset()

    def observe(
        self, obs: Any, action: Any, next_obs: Any, terminated: Any, truncated: Any, *, infos: Any = None, **extra: Any
    ) -> Any:
        """[N] float32: the bonus of one step in every env, an array or tensor as `obs` is.

        Some bonuses need `extra`: the extrinsic `reward` [N], or the policy's `logits` [N, A] or `features` [N, d] of
        `obs`. With one env, the axis N may be missing everywhere.
        """
        if self._needs_rollouts:
            raise InvalidInput(f"bonus '{self.bonus}' learns from whole rollouts: use rollout() instead of observe()")
        lead = np.shape(terminated)
        if lead or self.num_envs > 1:
            lead = (self.num_envs,)
        steps, _ = self._loop.read(lead, obs, action, next_obs, terminated, truncated, self._checked(extra), infos)
        bonus = self._step_by_step(steps)[0]
        if self._length is not None and len(self._pending) >= self._length:
            self.learn()
        return self._like(obs, bonus if lead else bonus[0])

    def rollout(
        self, obs: Any, action: Any, next_obs: Any, terminated: Any, truncated: Any, first: Any = None, **extra: Any
    ) -> Any:
        """[T, N] float32: the bonus of a rollout, which the models then learn from, as one fragment of a bonuslab run.

        `next_obs` [T, N, ...] are the true next observations; `obs` may have one row more, [T + 1, N, ...]. `first` [N]
        says which envs start an episode with row 0, by default those whose last one ended before. `extra`, [T, N, ...],
        as for `observe`.
        """
        lead = np.shape(terminated)
        if len(lead) != 2 or not lead[0]:
            raise InvalidInput(f"terminated has shape {lead}, not [T, N]")
        if first is not None:
            self._loop.set_first(first)
        lead = (lead[0], self.num_envs)
        steps, last = self._loop.read(lead, obs, action, next_obs, terminated, truncated, self._checked(extra))
        if self._loop.autoreset == "next_step":  # envs are reset at different times, so no rectangle holds every step
            bonus = self._step_by_step(steps)
            self.learn()
        else:
            batch = self._model.process(steps.fragment(np.arange(self.num_envs), self._sequence.copy(), last))
            self._sequence += 1
            bonus, self.metrics = batch.bonus, batch.metrics
        return self._like(obs, bonus)

    def learn(self) -> Metrics:
        """Train the models on the steps that `observe` has seen since the last time; returns `metrics`."""
        if self._pending:
            steps, linked, rest = rectangle(join(self._buffer))
            self.metrics = {key: _summary(key, [step[key] for step in self._pending]) for key in self._pending[0]}
            if len(steps.action):
                fragment = steps.fragment(np.arange(self.num_envs), self._sequence.copy(), linked=linked)
                self.metrics |= self._model.train(fragment)
            self._buffer, self._pending = [] if rest is None else [rest], []
        return self.metrics

    def state_dict(self) -> dict[str, Any]:
        """Everything learnt and remembered, and the steps that are still to be learnt from."""
        waiting = {"buffer": self._buffer, "pending": self._pending, "sequence": self._sequence}
        return {"model": self._model.state_dict(), "loop": self._loop.state_dict(), **copy.deepcopy(waiting)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; call `reset()` afterwards unless the envs resume their episodes."""
        self._loop.load_state_dict(state["loop"])
        self._model.load_state_dict(state["model"])
        own = copy.deepcopy(state)
        self._buffer, self._pending, self._sequence = own["buffer"], own["pending"], own["sequence"]

    def __repr__(self) -> str:
        network = self._model.setting.network
        return f"Explorer({str(self.bonus)!r}, num_envs={self.num_envs}, network={network!r})"

    def _step_by_step(self, steps: Transitions) -> np.ndarray:
        """[T, N] float32: bonuses of the valid steps, each a fragment of its own; the others get 0."""
        bonus = np.zeros(steps.action.shape, np.float32)
        for t, valid in enumerate(steps.valid):
            envs = np.flatnonzero(valid)
            if not len(envs):
                continue
            fragment = _row(steps, t, envs).fragment(envs, self._sequence[envs])
            batch = self._model.evaluate(fragment)
            self._sequence[envs] += 1
            bonus[t, envs] = batch.bonus[0]
            if self._updates:
                self._pending.append(batch.metrics)
        if self._updates:
            self._buffer.append(steps)
        return bonus

    def _checked(self, extra: dict[str, Any]) -> dict[str, Any]:
        if self.bonus.needs_policy_features and extra.get("features") is None:
            raise InvalidInput(f"bonus '{self.bonus}' needs the policy's features of every step: pass features=…")
        return extra

    def _like(self, obs: Any, bonus: Any) -> Any:
        leaf = self._loop.leaf(obs)
        return torch.as_tensor(bonus, device=leaf.device) if isinstance(leaf, torch.Tensor) else bonus


def _setting(bonus: Bonus, spaces: Batches, **build: Any) -> Setting:
    refusal = (
        f"bonus '{bonus}' learns from discrete actions: {spaces.not_discrete}; "
        "rnd, noveld, counts and e3b(encoder=random) work with any"
    )
    return setting_for(spaces.observation_space, spaces.num_actions, refusal, **build)


def _row(steps: Transitions, t: int, envs: np.ndarray) -> Transitions:
    return steps.map(lambda rows: rows[t : t + 1, envs])


def _summary(metric: str, values: list[float]) -> float:
    return max(values) if metric.endswith("/max") else float(np.mean(values))
