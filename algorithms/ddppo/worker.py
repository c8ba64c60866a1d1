"""A DD-PPO worker: acts, computes bonuses, and trains policy and bonus models in sync with the other workers."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import ray
import torch
import torch.distributed as dist
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from bonuslab.algorithms.acting.random_policy import uniform_policy
from bonuslab.algorithms.acting.rollout import Rollout
from bonuslab.algorithms.acting.runner import STREAMS_PER_INCARNATION, EpisodeSummary, Failure, FragmentRunner
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.learning.collectives import Collectives, Disconnected, Rendezvous
from bonuslab.algorithms.rllib.shared_bonus import SharedBonus


@dataclass(frozen=True)
class Collected:
    """Summary of a rollout; the data stay in the worker."""

    num_steps: int
    """Steps per env."""
    seconds: float
    metrics: Any
    episodes: list[EpisodeSummary]


@dataclass(frozen=True)
class Learnt:
    """Metrics of an update."""

    learner_metrics: Any
    bonus_metrics: dict[str, float]


@dataclass(frozen=True)
class Lost:
    """Returned by a method that was aborted because another worker disconnected."""

    exchanges: int
    """Collectives this worker completed."""
    reason: str


@dataclass(frozen=True)
class Restarted:
    """Returned by the process of a worker that died unnoticed: it has yet to copy another's state."""


def quorum(fraction: float, workers: int) -> int:
    """How many of these workers are at least that fraction."""
    return math.ceil(fraction * workers)


def reported(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return exceptions as `Lost` or `Failure`: RLlib kills an actor whose method raises, and hides the reason.

    A failed worker leaves its group, so no other waits for it. In serial mode exceptions propagate. A process without
    the replicas' state does nothing but take it over.
    """

    @functools.wraps(method)
    def call(self: DDPPOWorker, *arguments: Any, **options: Any) -> Any:
        if not (self.is_replica or self.config.serial or method.__name__ == "set_replica_state"):
            return Restarted()
        try:
            return method(self, *arguments, **options)
        except Exception as error:
            if self.config.serial:
                raise
            if isinstance(error, Disconnected):
                return Lost(self.collectives.exchanges, str(error))
            self.collectives.close()
            return Failure(error, "worker")

    return call


class DDPPOWorker(FragmentRunner):
    """One of several identical replicas, each with its own envs."""

    keep_values = True
    is_replica = False
    """Whether this process has been given the replicas' state."""

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        self.collectives = Collectives()
        self._on_gpu = config.num_gpus_per_env_runner > 0
        self._store: dist.Store | None = None
        self._fragment: Fragment | None = None
        super().__init__(config=config, **kwargs)
        device = "cuda" if self._on_gpu else "cpu"
        self.bonus = SharedBonus(config, self.env.observation_space, self.env.action_space, device=device)
        torch.set_num_threads(config.threads_per_learner)

    def make_module(self) -> None:
        """Create the learner and act with its module, so no weights are copied after an update."""
        settings = self.config.copy(copy_frozen=False)
        settings.num_gpus_per_learner = self.config.num_gpus_per_env_runner
        self.adopt(settings.build_learner(spaces=self.get_spaces()))

    def adopt(self, learner: Any) -> None:
        """Use this learner, and act with its policy."""
        self.learner = learner
        self.learner.collectives = self.collectives
        self.module = learner.module[DEFAULT_MODULE_ID]
        if hasattr(self, "rollout"):
            self.rollout.network = self.module.network

    @reported
    def join(self, rendezvous: Rendezvous) -> None:
        """Join a group of replicas."""
        self.collectives.close()
        self.collectives = rendezvous.join(ray.util.get_node_ip_address(), self._on_gpu)
        self.learner.collectives = self.bonus.model.setting.collectives = self.collectives
        if rendezvous.size > 1:
            timeout = timedelta(seconds=rendezvous.timeout_seconds)
            self._store = dist.TCPStore(rendezvous.host, rendezvous.port, is_master=False, timeout=timeout)

    @reported
    def warm_up(self) -> None:
        """Initialise the bonus's observation normalisers, if any, with random rollouts; then start new episodes."""
        if not self.bonus.model.warms_up:
            return
        length = self.config.rollout_fragment_length
        seed = (self._seed or 0) + STREAMS_PER_INCARNATION
        policy = uniform_policy(int(self.env.action_space.n))
        play = Rollout(self.env, policy, runner=self.worker_index, seed=seed, keep_features=False)
        for _ in range(math.ceil(self.config.warm_up_steps / length)):
            fragment, _ = play.collect(length)
            self.bonus.model.warm_up(fragment)
        self._begin()

    @reported
    def collect(self, finishers: str | None = None) -> Collected:
        """Collect a rollout; until enough workers are among the `finishers`, fast ones go on and slow ones may."""
        started = time.perf_counter()
        if finishers is None:
            self._fragment = self.sample()
        else:
            stop = self._preemption(finishers)
            self._fragment = self.sample(stop, self.config.longest_rollout)
            stop(self._fragment.num_steps)  # a rollout asks before each step, not after its last
        seconds = time.perf_counter() - started
        return Collected(self._fragment.num_steps, seconds, self.get_metrics(), self.take_episodes())

    @reported
    def learn(self, env_steps: int = 0) -> Learnt:
        """Compute rewards and make one update, in sync with the other replicas; schedules follow `env_steps`."""
        fragment, self._fragment = self._fragment, None
        assert fragment is not None, "learn before collect"
        rewards, bonus_metrics = self.bonus.process(fragment)
        fragment.extra |= rewards.columns
        self.learner.learn_from(fragment, {NUM_ENV_STEPS_SAMPLED_LIFETIME: env_steps})
        self._weights_version = self.learner._weights_seq_no
        return Learnt(self.learner.metrics.reduce(), bonus_metrics)

    @reported
    def replica_state(self) -> dict[str, Any]:
        """State of the learner and the bonus, which includes the episodic memory of this worker's envs."""
        return {"learner": self.learner.get_state(), "bonus": self.bonus.get_state()}

    @reported
    def set_replica_state(self, state: dict[str, Any] | None, env_steps: int) -> None:
        """Become a copy of another replica, `env_steps` after the start of the run; None if nothing was learnt yet.

        A new worker starts episodes in contexts of its own. Otherwise its episodes continue, but the bonus's memory of
        them is lost.
        """
        self.is_replica = True
        if state is None:
            return
        self.learner.set_replica_state(state["learner"])
        self.bonus.set_state(state["bonus"])
        self._weights_version = self.learner._weights_seq_no
        self._fragment = None
        self.set_state({NUM_ENV_STEPS_SAMPLED_LIFETIME: env_steps})

    def stop(self) -> None:
        """Leave the group and close the envs."""
        self.collectives.close()
        super().stop()

    def _preemption(self, finishers: str) -> Callable[[int], bool]:
        """A stop condition: enough workers have a full rollout, and this one is long enough.

        Workers count themselves in the driver's store, under the key `finishers`.
        """
        store, full = self._store, self.config.rollout_fragment_length
        assert store is not None, "collect before join"
        needed = quorum(self.config.sync_fraction, self.collectives.size)
        # If all are needed, nobody stops before its own full rollout, also if one dies: asking costs a round trip.
        enough = full if needed >= self.collectives.size else max(1, math.ceil(self.config.shortest_rollout * full))
        counted = False

        def stop(step: int) -> bool:
            nonlocal counted
            if step < enough:
                return False
            new = step >= full and not counted
            counted |= new
            return store.add(finishers, int(new)) >= needed

        return stop
