"""IMPALA as an RLlib algorithm: runners → shared bonus → learner → weights."""

from __future__ import annotations

import logging
import time
from typing import Any, NoReturn

import ray
from ray.exceptions import ObjectLostError, RayActorError, RayError, RayTaskError
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    LEARNER_RESULTS,
    LEARNER_UPDATE_TIMER,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    SAMPLE_TIMER,
    SYNCH_WORKER_WEIGHTS_TIMER,
    TIMERS,
)
from ray.tune.execution.placement_groups import PlacementGroupFactory

from bonuslab.algorithms.acting.runner import Failure
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.learner import STATE_AFTER_UPDATE
from bonuslab.algorithms.rllib.algorithm import FragmentAlgorithm
from bonuslab.algorithms.rllib.bonus_client import LocalBonus, Processed, RemoteBonus
from bonuslab.algorithms.rllib.remote import cause_of

logger = logging.getLogger(__name__)
POLL_SECONDS = 0.05
"""Timeout of each poll for finished work; without it the driver would busy-wait."""
RECOVERY_TIMEOUT_SECONDS = 60
"""How long to wait for a runner to recover if all have died."""
MAX_RESTARTS = 3
"""How often in a row all runners may die without finishing a fragment."""


class IMPALA(FragmentAlgorithm):
    """IMPALA (Espeholt et al., 2018) with intrinsic rewards."""

    config: IMPALAConfig

    @classmethod
    def get_default_config(cls) -> IMPALAConfig:
        """The paper's for MiniHack."""
        return IMPALAConfig()

    @classmethod
    def default_resource_request(cls, config: Any) -> PlacementGroupFactory:
        """RLlib's bundles, and one for the bonus actor if it needs CPUs or GPUs."""
        request = super().default_resource_request(config)
        settings = cls.get_default_config().update_from_dict(config)
        bundle = {"CPU": settings.num_cpus_for_bonus, "GPU": settings.num_gpus_for_bonus}
        if settings.serial or not any(bundle.values()):
            return request
        return PlacementGroupFactory([*request.bundles, bundle], strategy=request.strategy)

    def setup(self, config: IMPALAConfig) -> None:
        """Start runners, learners and the shared bonus."""
        super().setup(config)
        client = LocalBonus if self.config.local_bonus else RemoteBonus
        self.bonus: LocalBonus | RemoteBonus = client(self.config, *self.spaces[DEFAULT_MODULE_ID])
        self._fragments: list[Any] = []
        self._batches: list[Processed] = []
        self._restarts = self._healthy = 0

    def training_step(self) -> None:
        """Run until the learner has made at least one update."""
        updates = self._updates
        while self._updates == updates:
            with self.metrics.log_time((TIMERS, SAMPLE_TIMER)):
                self._collect_fragments()
            self._batches += self.bonus.take(0 if self._batches else POLL_SECONDS)
            with self.metrics.log_time((TIMERS, LEARNER_UPDATE_TIMER)):
                self._learn()
        self.metrics.log_value("queue_depth", self.bonus.depth + len(self._batches), window=20)
        self._log_episodes()

    def _collect_fragments(self) -> None:
        """Take finished fragments from the runners, unless the queue is full (back-pressure)."""
        if self.bonus.depth + len(self._batches) >= self.config.max_queued_batches:
            return
        if self.config.serial:
            self._fragments.append(self.env_runner.sample())
            self._add_episodes(self.env_runner.take_episodes())
            metrics = [self.env_runner.get_metrics()]
        else:
            self._recover_runners()
            results = self.env_runner_group.foreach_env_runner_async_fetch_ready(
                func="sample_with_episodes_and_metrics", tag="sample", timeout_seconds=POLL_SECONDS
            )
            for fragment, episodes, _ in results:
                if isinstance(fragment, Failure):
                    fragment.raise_here()
                self._add_fragment(fragment)
                self._add_episodes(episodes)
                self._restarts = 0
            metrics = [values for _, _, values in results]
        if metrics:
            self.metrics.aggregate(metrics, key=ENV_RUNNER_RESULTS)
        size = self.config.fragments_per_batch
        while len(self._fragments) >= size:
            self.bonus.submit(self._fragments[:size])
            del self._fragments[:size]

    def _add_fragment(self, fragment: ray.ObjectRef) -> None:
        """Queue a fragment by reference, or its arrays in shared memory if the bonus is in this process."""
        try:
            self._fragments.append(ray.get(fragment) if self.config.local_bonus else fragment)
        except ObjectLostError as error:
            logger.warning("a fragment was lost with its runner: %s", type(error).__name__)

    def _recover_runners(self) -> None:
        """Wait for a runner to recover if all have died; RLlib restores them only between training steps."""
        healthy = self.env_runner_group.num_healthy_remote_workers()
        advice = f"if {self.config.env} ended their process, serial mode shows where; see also Ray's logs"
        if healthy < self._healthy:
            logger.warning("%d of %d runners died and will restart; %s", self._healthy - healthy, self._healthy, advice)
            self.bonus.request_snapshot()
        self._healthy = healthy
        if healthy:
            return
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            raise RuntimeError(f"all runners died {self._restarts} times without finishing a fragment; {advice}")
        deadline = time.monotonic() + RECOVERY_TIMEOUT_SECONDS
        while not self.restore_env_runners(self.env_runner_group):
            if time.monotonic() > deadline:
                raise RuntimeError(f"all runners died and none recovered within {RECOVERY_TIMEOUT_SECONDS} s; {advice}")
            time.sleep(POLL_SECONDS)

    def _learn(self) -> None:
        """Update the learners while there is a batch for each."""
        needed = max(1, self.config.num_learners)
        while len(self._batches) >= needed:
            batches, self._batches = self._batches[:needed], self._batches[needed:]
            for batch in batches:
                self._log_bonus(batch.metrics)
            self._update([part for batch in batches for part in batch.parts])

    def _update(self, parts: list[Any]) -> None:
        self._updates += 1
        broadcast = self._updates % self.config.broadcast_interval_updates == 0
        data = TrainingData(batches=parts) if self.config.local_bonus else TrainingData(batch_refs=parts)
        try:
            results = self.learner_group.update(
                training_data=data, return_state=broadcast, timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: self.env_steps}
            )
        except (ObjectLostError, RayTaskError, RayActorError) as error:
            if not any(isinstance(found, ObjectLostError) for found in (error, getattr(error, "cause", None))):
                self._explain_learner_error(error)
            logger.warning("a batch was lost with its runner before the learner read it: %s", type(error).__name__)
            self._updates -= 1
            return
        weights = None
        for result in results:
            weights = result.pop(STATE_AFTER_UPDATE, weights)
        self.metrics.aggregate(results, key=LEARNER_RESULTS)
        if weights is not None:
            with self.metrics.log_time((TIMERS, SYNCH_WORKER_WEIGHTS_TIMER)):
                self._broadcast(weights)

    def _explain_learner_error(self, error: RayError) -> NoReturn:
        """Raise the learner's own error, or name the death of one, which the others see only as a lost connection."""
        try:
            for learner in self.learner_group._workers or []:
                ray.get(learner.apply.remote(lambda _: None))
        except RayActorError as death:
            raise RuntimeError(f"a learner process died; resume from the last checkpoint. {death}") from error
        raise (cause_of(error) if isinstance(error, RayTaskError) else error) from error

    def _broadcast(self, state: dict[str, Any]) -> None:
        """Send weights or counters to all runners."""
        if self.config.serial:
            self.env_runner.set_state(state)
        else:
            self.env_runner_group.foreach_env_runner(
                func="set_state", kwargs={"state": state}, local_env_runner=False, timeout_seconds=0.0
            )

    def get_state(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """RLlib's state (in serial mode including episodes in progress) and the bonus's."""
        return super().get_state(*arguments, **options) | {"bonus": self.bonus.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`. Remote runners start new episodes, in contexts they have not seen."""
        super().set_state(state)
        self._fragments.clear()
        self._batches.clear()
        if "bonus" in state:
            self.bonus.set_state(state["bonus"])
        if not self.config.serial:
            self._broadcast({NUM_ENV_STEPS_SAMPLED_LIFETIME: self.env_steps})

    def cleanup(self) -> None:
        """Stop the bonus, runners and learners."""
        if hasattr(self, "bonus") and (self.config.serial or ray.is_initialized()):
            self.bonus.close()
        super().cleanup()
