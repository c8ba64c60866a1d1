"""An adaptive combination: weights two bonuses and their product by what they did for the return."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.combinators import add, combine, joint_scope
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.bonuses.e3b import E3B
from bonuslab.algorithms.bonuses.memory.arm_bandit import ArmBandit
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.bonuses.reward.normalise import RunningStd
from bonuslab.algorithms.bonuses.rnd import RND
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.segments import segments
from bonuslab.envs.errors import InvalidInput

Array = np.ndarray
ARMS = ("first", "second", "product")


@dataclass(frozen=True)
class RunningEpisode:
    """Steps, extrinsic return and discounted sum of each arm's bonus of an unfinished episode so far."""

    steps: int
    extrinsic: float
    sums: tuple[float, ...]


@register("adaptive")
class Adaptive(Bonus):
    """b_t = Σ_k w_k b_k,t / σ_k over the arms k: the first bonus, the second, and their product.

    The weights depend on the last `window` finished episodes of all envs. With R_e the extrinsic return of episode e
    and B_k,e = Σ_t γ^t b_k,t / σ_k its return under arm k,

        w = softmax(ρ / temperature),   ρ_k = the correlation of R_e and B_k,e over those episodes.

    An arm that pays more in episodes with higher returns guides the agent; one that pays for survival or at random
    loses its weight. Every arm is computed at every step, so all arms learn from all episodes. Equal returns give equal
    weights. σ_k is the standard deviation of all bonuses of arm k.

    With `rule=bandit`, all envs are paid a single arm (w_k is 1 or 0) until `window` episodes have ended; see
    `ArmBandit`.
    """

    first: Bonus = E3B()
    """The first arm, usually episodic."""
    second: Bonus = RND()
    """The second arm, usually global."""
    window: int = 200
    """Number of finished episodes that determine the weights."""
    temperature: float = 0.1
    """Difference in correlation that multiplies a weight by e."""
    discount: float = 0.99
    """γ of the discounted sums, ideally the agent's."""
    rule: Literal["correlation", "bandit"] = "correlation"
    """How the weights are found. `bandit` uses neither `temperature` nor `discount`."""

    _positive = ("temperature",)
    learns_from_compute = True
    equation = (
        "Σ_k w_k b_k / σ_k, k = first, second, product; w = softmax(corr(return, Σ_t γ^t b_k / σ_k) / temperature)"
    )
    when = "When it is unknown how much the contexts share, and returns vary."

    def __post_init__(self) -> None:
        if self.window < 2:
            raise InvalidInput(f"adaptive: window must be at least 2 episodes, not {self.window}")
        if not 0 < self.discount <= 1:
            raise InvalidInput(f"adaptive: discount must be above 0 and at most 1, not {self.discount:g}")
        if self.first == self.second:
            raise InvalidInput("adaptive: the two bonuses are equal")
        self.needs_policy_features = self.first.needs_policy_features or self.second.needs_policy_features

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        """The common scope of both bonuses, or combined."""
        return joint_scope([self.first.scope, self.second.scope])

    def build(self, setting: Setting) -> Self:
        """Build each distinct term of both bonuses once."""
        self.setting = setting
        self._arms = (self.first, self.second, self.first * self.second)
        self._terms = Terms(add(self.first, self.second), setting)
        self._sigmas = tuple(RunningStd() for _ in ARMS)
        self._running: EpisodeMemory[RunningEpisode | None] = EpisodeMemory(lambda: None)
        self._finished: deque[tuple[float, ...]] = deque(maxlen=self.window)
        self._bandit = ArmBandit(len(ARMS), self.window)
        self._unseen: tuple[Array, Array] | None = None
        return self

    def compute(self, fragment: Fragment) -> torch.Tensor:
        values = self._terms.compute(fragment)
        raw = np.stack([combine(arm, values).numpy() for arm in self._arms])  # [K, T, N]
        scaled = raw / np.array([self._sigma(k, raw[k]) for k in range(len(ARMS))])[:, None, None]
        bonus = np.einsum("k,ktn->tn", self.weights, scaled)
        self._unseen = (raw, self._follow(fragment, scaled))
        return torch.from_numpy(bonus)

    def learn(self, fragment: Fragment) -> Metrics:
        """Train the terms, and update σ and the window with the last `compute` of all replicas."""
        if self._unseen is not None:
            for raw, finished in self.setting.collectives.gather(self._unseen):
                for sigma, arm in zip(self._sigmas, raw, strict=True):
                    sigma.update(arm)
                self._finished.extend(map(tuple, finished.tolist()))
                self._bandit.update(finished[:, 0].tolist())
            self._unseen = None
        weights = {f"weight_{arm}": float(weight) for arm, weight in zip(ARMS, self.weights, strict=True)}
        return self._terms.learn(fragment) | weights

    @property
    def weights(self) -> Array:
        """[K]: weight of each arm, from the episodes in the window or by the bandit."""
        if self.rule == "bandit":
            return np.eye(len(ARMS))[self._bandit.arm]
        return arm_weights(np.array(self._finished).reshape(-1, 1 + len(ARMS)), self.temperature)

    def state_dict(self) -> dict[str, Any]:
        sigmas = [sigma.state_dict() for sigma in self._sigmas]
        return {**super().state_dict(), "sigmas": sigmas, "finished": list(self._finished)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        for sigma, saved in zip(self._sigmas, state["sigmas"], strict=True):
            sigma.load_state_dict(saved)
        self._finished = deque(state["finished"], maxlen=self.window)
        self._unseen = None

    def _sigma(self, arm: int, values: Array) -> float:
        """σ of an arm so far; in the first fragment its own, so that no arm dominates there."""
        known = self._sigmas[arm]
        if known.count:
            return known.sigma
        first = RunningStd()
        first.update(values)
        return first.sigma

    def _follow(self, fragment: Fragment, scaled: Array) -> Array:
        """[E, 1 + K]: return and discounted sums of the episodes that end here; the others are remembered."""
        finished = []
        for segment in segments(fragment):
            n, rows = segment.column, slice(segment.start, segment.stop)
            begins = fragment.first[segment.start, n]
            episode = RunningEpisode(0, 0.0, (0.0,) * len(ARMS)) if begins else self._running.recall(fragment, n)
            if episode is not None:  # None: its start was lost
                episode = self._extended(episode, fragment.reward[rows, n], scaled[:, rows, n])
            if episode is not None and not segment.last:
                finished.append((episode.extrinsic, *episode.sums))
            if segment.stop == fragment.num_steps:
                self._running.store(fragment, n, episode if segment.last else None)
        return np.array(finished).reshape(-1, 1 + len(ARMS))

    def _extended(self, episode: RunningEpisode, reward: Array, scaled: Array) -> RunningEpisode:
        """The episode after further steps with rewards [t] and bonuses [K, t]."""
        discounts = self.discount ** np.arange(episode.steps, episode.steps + len(reward))
        return RunningEpisode(
            episode.steps + len(reward),
            episode.extrinsic + float(reward.sum(dtype=np.float64)),
            tuple((np.array(episode.sums) + scaled @ discounts).tolist()),
        )


def arm_weights(episodes: Array, temperature: float) -> Array:
    """softmax(ρ / temperature) [K] of episodes [E, 1 + K]: the return, then the discounted sum of each arm.

    ρ is 0 where undefined: with fewer than two episodes, equal returns, or an arm with equal sums.
    """
    deviation = episodes - episodes.mean(axis=0) if len(episodes) else episodes
    norms = np.sqrt(np.square(deviation).sum(axis=0))  # [1 + K]
    products = norms[0] * norms[1:]
    agreement = deviation[:, 0] @ deviation[:, 1:]
    correlation = np.divide(agreement, products, out=np.zeros_like(products), where=products > 1e-12)
    exponentials = np.exp((correlation - correlation.max()) / temperature)
    return exponentials / exponentials.sum()
