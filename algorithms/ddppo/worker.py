"""A worker of DD-PPO: plays, computes and learns its bonus, and learns its policy, in step with the others."""

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
from bonuslab.algorithms.acting.runner import STREAMS_PER_LIFE, EpisodeSummary, Failure, FragmentRunner
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.bonuses.reward.shared import SharedBonus
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.learning.collectives import Disconnected, Rendezvous, SingleProcess
from bonuslab.algorithms.rllib.intrinsic_reward import IntrinsicReward


@dataclass(frozen=True)
class Collected:
    """What a worker says of its rollout; the rollout itself stays with it."""

    num_steps: int
    """Steps in each environment."""
    seconds: float
    metrics: Any
    episodes: list[EpisodeSummary]


@dataclass(frozen=True)
class Learnt:
    """What came out of an update."""

    learner_metrics: Any
    bonus_metrics: dict[str, float]


@dataclass(frozen=True)
class Lost:
    """Work that was cut short, because another worker has gone."""

    exchanges: int
    """How far this one came."""
    reason: str


def reported(method: Callable[..., Any]) -> Callable[..., Any]:
    """Hand back what is raised, as `Lost` or `Failure`: RLlib kills workers whose methods raise, and shows nobody why.

    A worker that fails leaves its group, so that no other waits for it. In serial mode errors are the caller's.
    """

    @functools.wraps(method)
    def call(self: DDPPOWorker, *arguments: Any, **options: Any) -> Any:
        if self.config.serial:
            return method(self, *arguments, **options)
        try:
            return method(self, *arguments, **options)
        except Disconnected as error:
            return Lost(self.replicas.exchanges, str(error))
        except Exception as error:
            self.replicas.close()
            return Failure(error, "worker")

    return call


class DDPPOWorker(FragmentRunner):
    """One of several replicas, each with its own environments."""

    keep_values = True

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        self.replicas = SingleProcess()
        self._on_gpu = config.num_gpus_per_env_runner > 0
        self._stop_signals: dist.Store | None = None
        self._fragment: Fragment | None = None
        super().__init__(config=config, **kwargs)
        device = "cuda" if self._on_gpu else "cpu"
        self.bonus = SharedBonus(config, self.env.observation_space, self.env.action_space, device=device)
        torch.set_num_threads(config.threads_per_learner)

    def make_module(self) -> None:
        """The policy is the learner's own, so that nothing has to be copied after an update."""
        settings = self.config.copy(copy_frozen=False)
        settings.num_gpus_per_learner = self.config.num_gpus_per_env_runner
        self.adopt(settings.build_learner(spaces=self.get_spaces()))

    def adopt(self, learner: Any) -> None:
        """Learn with this learner, and act with its policy."""
        self.learner = learner
        self.learner.replicas = self.replicas
        self.module = learner.module[DEFAULT_MODULE_ID]
        if hasattr(self, "rollout"):
            self.rollout.network = self.module.network

    @property
    def model(self) -> IntrinsicModel:
        """The bonus's models."""
        return self.bonus.find(IntrinsicReward).model

    @reported
    def join(self, rendezvous: Rendezvous) -> None:
        """Become one of a group of replicas."""
        self.replicas.close()
        self.replicas = rendezvous.join(ray.util.get_node_ip_address(), self._on_gpu)
        self.learner.replicas = self.model.setting.collectives = self.replicas
        if rendezvous.size > 1:
            timeout = timedelta(seconds=rendezvous.timeout_seconds)
            self._stop_signals = dist.TCPStore(rendezvous.host, rendezvous.port, is_master=False, timeout=timeout)

    @reported
    def warm_up(self) -> None:
        """Show random play to the bonus's observation normalisers, if it has any; then begin anew."""
        if not self.model.warms_up:
            return
        length = self.config.rollout_fragment_length
        seed = (self._seed or 0) + STREAMS_PER_LIFE
        policy = uniform_policy(int(self.env.action_space.n))
        play = Rollout(self.env, policy, runner=self.worker_index, seed=seed, keep_features=False)
        for _ in range(math.ceil(self.config.warm_up_steps / length)):
            fragment, _ = play.collect(length)
            self.model.warm_up(fragment)
        self._begin()

    @reported
    def collect(self, stop_signal: str | None = None) -> Collected:
        """Play a rollout, or at least `shortest_rollout` of it if the driver sets `stop_signal` meanwhile."""
        started = time.perf_counter()
        self._fragment = self.sample(stop=None if stop_signal is None else self._preemption(stop_signal))
        seconds = time.perf_counter() - started
        return Collected(self._fragment.num_steps, seconds, self.get_metrics(), self.take_episodes())

    @reported
    def learn(self) -> Learnt:
        """Turn the rollout into rewards and learn from it, together with the other replicas."""
        fragment, self._fragment = self._fragment, None
        assert fragment is not None, "learn before collect"
        rewards, bonus_metrics = self.bonus.process(fragment)
        fragment.extra |= rewards.columns
        self.learner.learn_from(fragment)
        self._weights_version = self.learner._weights_seq_no
        return Learnt(self.learner.metrics.reduce(), bonus_metrics)

    @reported
    def replica_state(self) -> dict[str, Any]:
        """All that replicas have in common: the learner and the bonus (with the episodic memory of our envs)."""
        return {"learner": self.learner.get_state(), "bonus": self.bonus.get_state()}

    @reported
    def set_replica_state(self, state: dict[str, Any], env_steps: int) -> None:
        """Become a copy of another replica, `env_steps` after the beginning of the run.

        A worker that has not played yet begins episodes that nobody has met. If it has, its episodes go on, but what
        the bonus remembers of them is lost.
        """
        self.learner.set_replica_state(state["learner"])
        self.bonus.set_state(state["bonus"])
        self._weights_version = self.learner._weights_seq_no
        self._fragment = None
        self.set_state({NUM_ENV_STEPS_SAMPLED_LIFETIME: env_steps})

    def stop(self) -> None:
        """Leave the group and close the environments."""
        self.replicas.close()
        super().stop()

    def _preemption(self, signal: str) -> Callable[[int], bool]:
        """True once enough of the rollout is collected and the driver has set the signal."""
        store = self._stop_signals
        assert store is not None, "collect before join"
        enough = max(1, math.ceil(self.config.shortest_rollout * self.config.rollout_fragment_length))
        return lambda step: step >= enough and store.check([signal])
