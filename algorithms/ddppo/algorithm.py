"""DD-PPO as an RLlib algorithm: every worker acts and learns; the driver coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from ray.rllib.core import COMPONENT_LEARNER
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    LEARNER_RESULTS,
    LEARNER_UPDATE_TIMER,
    SAMPLE_TIMER,
    TIMERS,
)

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.worker import Collected, Learnt
from bonuslab.algorithms.ddppo.workers import LocalWorker, RemoteWorkers
from bonuslab.algorithms.rllib.algorithm import FragmentAlgorithm

WORKER_RESULTS = "workers"
"""Key in results: number of workers, preemption and rollout times."""


class DDPPO(FragmentAlgorithm):
    """Decentralised distributed PPO with intrinsic rewards; PPO if there is one worker."""

    config: DDPPOConfig

    @classmethod
    def get_default_config(cls) -> DDPPOConfig:
        """The paper's for Habitat."""
        return DDPPOConfig()

    def setup(self, config: DDPPOConfig) -> None:
        """Start the workers. The driver's learner is a copy for checkpoints and evaluation."""
        super().setup(config)
        self.workers: LocalWorker | RemoteWorkers
        if self.config.serial:
            self.env_runner.adopt(self.learner_group._learner)
            self.workers = LocalWorker(self.env_runner)
        else:
            self.workers = RemoteWorkers(self.env_runner_group, self.config, lambda: self.env_steps)

    def training_step(self) -> None:
        """One update by all workers; rollouts are repeated if a lost worker aborts it."""
        if self._updates == 0 and self.config.warm_up_steps:
            self.workers.warm_up()
        learnt: list[Learnt] = []
        while not learnt:
            with self.metrics.log_time((TIMERS, SAMPLE_TIMER)):
                collected = self.workers.collect()
            self._log_collected(collected)
            with self.metrics.log_time((TIMERS, LEARNER_UPDATE_TIMER)):
                learnt = self.workers.learn(self.env_steps)
        self._updates += 1
        self.metrics.aggregate([result.learner_metrics for result in learnt], key=LEARNER_RESULTS)
        self._log_bonus(mean_of_each([result.bonus_metrics for result in learnt]))
        self._log_episodes()

    def restore_env_runners(self, env_runner_group: Any) -> list[int]:
        """Do nothing: `RemoteWorkers` readmits workers, with a state that RLlib does not have."""
        return []

    def evaluate(self, parallel_train_future: Any = None) -> dict[str, dict[str, float]]:
        """Evaluate the workers' policy on held-out contexts."""
        self._fetch_state()
        return super().evaluate(parallel_train_future)

    def get_state(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """RLlib's state (in serial mode including episodes in progress) and the bonus's."""
        bonus = self._fetch_state()["bonus"]
        return super().get_state(*arguments, **options) | {"bonus": bonus}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`. Remote workers start new episodes, in contexts they have not seen."""
        super().set_state(state)
        if "bonus" in state:
            learner = self.learner_group.get_state()[COMPONENT_LEARNER]
            self.workers.set_state({"learner": learner, "bonus": state["bonus"]})

    def _fetch_state(self) -> dict[str, Any]:
        """Copy the workers' state into the driver's learner and return it."""
        state = self.workers.state()
        if not self.config.serial:
            self.learner_group._learner.set_replica_state(state["learner"])
        return state

    def _log_collected(self, collected: list[Collected]) -> None:
        if not collected:
            return
        self.metrics.aggregate([rollout.metrics for rollout in collected], key=ENV_RUNNER_RESULTS)
        for rollout in collected:
            self._add_episodes(rollout.episodes)
        steps = np.array([rollout.num_steps for rollout in collected])
        full = self.config.rollout_fragment_length
        values = {
            "num_workers": float(len(collected)),
            "preempted_share": float((steps < full).mean()),
            "rollout_share": float(steps.mean() / full),
            "rollout_seconds_mean": float(np.mean([rollout.seconds for rollout in collected])),
            "rollout_seconds_max": float(np.max([rollout.seconds for rollout in collected])),
        }
        for name, value in values.items():
            self.metrics.log_value((WORKER_RESULTS, name), value, window=1)


def mean_of_each(metrics: list[dict[str, float]]) -> dict[str, float]:
    """Means over workers, by name."""
    return {name: float(np.mean([values[name] for values in metrics])) for name in metrics[0]}
