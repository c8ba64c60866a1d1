"""A combination that adapts: it leans to the bonus that went with high returns, of two and their product."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.combinators import add, combine, joint_scope
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.bonuses.e3b import E3B
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.bonuses.reward.normalise import RunningStd
from bonuslab.algorithms.bonuses.rnd import RND
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.segments import segments
from bonuslab.envs.errors import InvalidInput

Array = np.ndarray
ARMS = ("first", "second", "product")


@dataclass(frozen=True)
class Episode:
    """A running episode: its steps, its extrinsic return, and the discounted sum of each arm's bonus, all so far."""

    steps: int
    extrinsic: float
    paid: tuple[float, ...]


@register("adaptive")
class Adaptive(Bonus):
    """b_t = Σ_k w_k b_k,t / σ_k over the arms k: the first bonus, the second, and their product.

    The weights follow from the last `window` finished episodes of all envs. With R_e the extrinsic return of episode
    e and B_k,e = Σ_t γ^t b_k,t / σ_k what arm k would have paid for it,

        w = softmax(ρ / temperature),   ρ_k = the correlation of R_e and B_k,e over those episodes.

    An arm that pays more for the episodes with higher returns leads the agent there. An arm that pays for being
    alive, or at random, does not, and loses its weight. Every arm is computed for every step, so all learn from all
    episodes: no env is spent on trying an arm, as a bandit would, whose arms one shared policy could not tell apart
    anyway. Where all returns of the window are equal, the weights are equal. σ_k is that of all of arm k's bonuses.
    """

    first: Bonus = E3B()
    """An arm, usually the episodic one."""
    second: Bonus = RND()
    """Another, usually the global one."""
    window: int = 200
    """Episodes that the weights are taken from."""
    temperature: float = 0.1
    """Difference in correlation that makes one arm e times as heavy as another."""
    discount: float = 0.99
    """γ of the sums of bonuses; best that of the agent."""

    equation = (
        "Σ_k w_k b_k / σ_k, k = first, second, product; w = softmax(corr(return, Σ_t γ^t b_k / σ_k) / temperature)"
    )
    when = "Where it is not known how much the contexts share, and returns are not all equal."

    def __post_init__(self) -> None:
        if self.window < 2:
            raise InvalidInput(f"adaptive: window must be at least 2 episodes, not {self.window}")
        if not self.temperature > 0:
            raise InvalidInput(f"adaptive: temperature must be positive, not {self.temperature:g}")
        if not 0 < self.discount <= 1:
            raise InvalidInput(f"adaptive: discount must be above 0 and at most 1, not {self.discount:g}")
        if self.first == self.second:
            raise InvalidInput("adaptive: its two bonuses are the same")
        self.needs_policy_features = self.first.needs_policy_features or self.second.needs_policy_features

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        """That of both bonuses, or combined."""
        return joint_scope([self.first.scope, self.second.scope])

    @property
    def children(self) -> tuple[Bonus, ...]:
        """The two bonuses."""
        return (self.first, self.second)

    def build(self, setting: Setting) -> Self:
        """Build each distinct term of both bonuses once."""
        self.setting = setting
        self._arms = (self.first, self.second, self.first * self.second)
        self._terms = Terms(add(self.first, self.second), setting)
        self._sigmas = tuple(RunningStd() for _ in ARMS)
        self._running: EpisodeMemory[Episode | None] = EpisodeMemory(lambda: None)
        self._finished: deque[tuple[float, ...]] = deque(maxlen=self.window)
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
        """Train the terms, and take in what the last `compute` saw, the episodes of all replicas."""
        if self._unseen is not None:
            for raw, finished in self.setting.replicas.gather(self._unseen):
                for sigma, arm in zip(self._sigmas, raw, strict=True):
                    sigma.update(arm)
                self._finished.extend(map(tuple, finished.tolist()))
            self._unseen = None
        weights = {f"weight_{arm}": float(weight) for arm, weight in zip(ARMS, self.weights, strict=True)}
        return self._terms.learn(fragment) | weights

    @property
    def weights(self) -> Array:
        """[K]: each arm's share, from the finished episodes of the window."""
        return arm_weights(np.array(self._finished).reshape(-1, 1 + len(ARMS)), self.temperature)

    def state_dict(self) -> dict[str, Any]:
        return {
            "bonus": str(self),
            "terms": self._terms.state_dict(),
            "sigmas": [sigma.state_dict() for sigma in self._sigmas],
            "running": self._running.state_dict(),
            "finished": list(self._finished),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("bonus") != str(self):
            raise ValueError(f"saved state is of {state.get('bonus')!r}, this bonus is {str(self)!r}")
        self._terms.load_state_dict(state["terms"])
        for sigma, saved in zip(self._sigmas, state["sigmas"], strict=True):
            sigma.load_state_dict(saved)
        self._running.load_state_dict(state["running"])
        self._finished = deque(state["finished"], maxlen=self.window)
        self._unseen = None

    def _sigma(self, arm: int, values: Array) -> float:
        """σ of an arm so far; of the very first fragment its own, so that no arm drowns the others in it."""
        known = self._sigmas[arm]
        if known.count:
            return known.sigma
        first = RunningStd()
        first.update(values)
        return first.sigma

    def _follow(self, fragment: Fragment, scaled: Array) -> Array:
        """[E, 1 + K]: return and discounted sums of the episodes that end here; those that go on are remembered."""
        finished = []
        for segment in segments(fragment):
            n, rows = segment.column, slice(segment.start, segment.stop)
            begins = fragment.first[segment.start, n]
            episode = Episode(0, 0.0, (0.0,) * len(ARMS)) if begins else self._running.recall(fragment, n)
            if episode is not None:  # None: its beginning was lost
                episode = self._extended(episode, fragment.reward[rows, n], scaled[:, rows, n])
            if episode is not None and not segment.last:
                finished.append((episode.extrinsic, *episode.paid))
            if segment.stop == fragment.num_steps:
                self._running.store(fragment, n, episode if segment.last else None)
        return np.array(finished).reshape(-1, 1 + len(ARMS))

    def _extended(self, episode: Episode, reward: Array, scaled: Array) -> Episode:
        """The episode after some more steps, with rewards [t] and bonuses [K, t]."""
        discounts = self.discount ** np.arange(episode.steps, episode.steps + len(reward))
        return Episode(
            episode.steps + len(reward),
            episode.extrinsic + float(reward.sum(dtype=np.float64)),
            tuple((np.array(episode.paid) + scaled @ discounts).tolist()),
        )


def arm_weights(episodes: Array, temperature: float) -> Array:
    """softmax(ρ / temperature) [K] of episodes [E, 1 + K]: the return, then what each arm paid.

    ρ is 0 where it is not defined: with fewer than two episodes, equal returns, or an arm that always paid the same.
    """
    deviation = episodes - episodes.mean(axis=0) if len(episodes) else episodes
    norms = np.sqrt(np.square(deviation).sum(axis=0))  # [1 + K]
    products = norms[0] * norms[1:]
    agreement = deviation[:, 0] @ deviation[:, 1:]
    correlation = np.divide(agreement, products, out=np.zeros_like(products), where=products > 1e-12)
    exponentials = np.exp((correlation - correlation.max()) / temperature)
    return exponentials / exponentials.sum()
