"""IMPALA as an RLlib algorithm: runners → shared bonus → learner → weights."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import ray
from ray.rllib.algorithms.algorithm import Algorithm
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

from bonuslab.algorithms.bonus_client import LocalBonus, Processed, RemoteBonus
from bonuslab.algorithms.checkpoint import seal, verify
from bonuslab.algorithms.evaluation import evaluate
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.learner import STATE_AFTER_UPDATE
from bonuslab.algorithms.telemetry import Telemetry
from bonuslab.algorithms.without_ray import plain_objects
from bonuslab.envs.catalogue import make_lanes

BONUS_RESULTS = "bonus"
"""Key of the bonus's metrics in results."""
WAIT_SECONDS = 0.05
"""How long one look for finished work may wait; without it the driver would keep a core busy."""
EVALUATION_LANES = 16


class IMPALA(Algorithm):
    """Importance-weighted actor–learner with intrinsic rewards."""

    config: IMPALAConfig

    @classmethod
    def get_default_config(cls) -> IMPALAConfig:
        """The paper's."""
        return IMPALAConfig()

    @classmethod
    def default_resource_request(cls, config: Any) -> PlacementGroupFactory:
        """RLlib's bundles, and one for the bonus actor where it asks for CPUs or GPUs."""
        request = super().default_resource_request(config)
        settings = cls.get_default_config().update_from_dict(config)
        bundle = {"CPU": settings.num_cpus_for_bonus, "GPU": settings.num_gpus_for_bonus}
        if settings.serial or not any(bundle.values()):
            return request
        return PlacementGroupFactory([*request.bundles, bundle], strategy=request.strategy)

    @classmethod
    def _should_create_evaluation_env_runners(cls, eval_config: Any) -> bool:
        """Evaluation plays its own lanes; RLlib's evaluation runners are not needed."""
        return False

    def setup(self, config: IMPALAConfig) -> None:
        """Start runners and learners as RLlib does, then the shared bonus."""
        with plain_objects() if config.serial else nullcontext():
            super().setup(config)
        client = LocalBonus if self.config.serial else RemoteBonus
        self.bonus: LocalBonus | RemoteBonus = client(self.config, *self.spaces[DEFAULT_MODULE_ID])
        self._telemetry = Telemetry(self.config)
        self._fragments: list[Any] = []
        self._batches: list[Processed] = []
        self._updates = 0

    def step(self) -> dict[str, Any]:
        """One training iteration; its results go to Prometheus too."""
        results = super().step()
        self._telemetry.publish(results)
        return results

    def training_step(self) -> None:
        """Work until the learner has been updated at least once."""
        updates = self._updates
        while self._updates == updates:
            with self.metrics.log_time((TIMERS, SAMPLE_TIMER)):
                self._collect_fragments()
            self._batches += self.bonus.take(0 if self._batches else WAIT_SECONDS)
            with self.metrics.log_time((TIMERS, LEARNER_UPDATE_TIMER)):
                self._learn()
        self.metrics.log_value("queue_depth", self.bonus.depth + len(self._batches), window=20)

    def _collect_fragments(self) -> None:
        """Take finished fragments from the runners, unless enough batches wait already (back-pressure)."""
        if self.bonus.depth + len(self._batches) >= self.config.max_queued_batches:
            return
        if self.config.serial:
            self._fragments.append(self.env_runner.sample())
            metrics = [self.env_runner.get_metrics()]
        else:
            results = self.env_runner_group.foreach_env_runner_async_fetch_ready(
                func="sample_get_state_and_metrics", tag="sample", timeout_seconds=WAIT_SECONDS
            )
            self._fragments += [fragment for fragment, _, _ in results]
            metrics = [values for _, _, values in results]
        if metrics:
            self.metrics.aggregate(metrics, key=ENV_RUNNER_RESULTS)
        size = self.config.fragments_per_batch
        while len(self._fragments) >= size:
            self.bonus.submit(self._fragments[:size])
            del self._fragments[:size]

    def _learn(self) -> None:
        """Update the learners as often as there are batches for all of them."""
        needed = max(1, self.config.num_learners)
        while len(self._batches) >= needed:
            batches, self._batches = self._batches[:needed], self._batches[needed:]
            for batch in batches:
                for name, value in batch.metrics.items():
                    self.metrics.log_value((BONUS_RESULTS, name), value, window=20)
            self._update([batch.batch for batch in batches])

    def _update(self, batches: list[Any]) -> None:
        self._updates += 1
        broadcast = self._updates % self.config.broadcast_interval_updates == 0
        data = TrainingData(batch=batches[0]) if self.config.serial else TrainingData(batch_refs=batches)
        results = self.learner_group.update(
            training_data=data, return_state=broadcast, timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: self.env_steps}
        )
        weights = None
        for result in results:
            weights = result.pop(STATE_AFTER_UPDATE, weights)
        self.metrics.aggregate(results, key=LEARNER_RESULTS)
        if weights is not None:
            with self.metrics.log_time((TIMERS, SYNCH_WORKER_WEIGHTS_TIMER)):
                self._tell_runners(weights)

    def _tell_runners(self, state: dict[str, Any]) -> None:
        if self.config.serial:
            self.env_runner.set_state(state)
        else:
            self.env_runner_group.foreach_env_runner(
                func="set_state", kwargs={"state": state}, local_env_runner=False, timeout_seconds=0.0
            )

    @property
    def env_steps(self) -> int:
        """Environment steps sampled since the run began."""
        return int(self.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0))

    def evaluate(self, parallel_train_future: Any = None) -> dict[str, dict[str, float]]:
        """Play `evaluation_duration` episodes on held-out contexts, greedily and sampled; always the same contexts."""
        module = self.config.get_rl_module_spec(spaces=self.spaces, inference_only=True).build()
        module.set_state(self.learner_group.get_weights()[DEFAULT_MODULE_ID])
        episodes = int(self.config.evaluation_duration)
        settings = {**self.config.env_config, "contexts": "inf", "held_out": True, "seed": self.config.seed or 0}
        results = {}
        for mode in ("greedy", "sampled"):
            lanes = make_lanes(self.config.env, min(EVALUATION_LANES, episodes), **settings)
            try:
                outcome = evaluate(module.network, lanes, episodes, greedy=mode == "greedy", seed=settings["seed"])
            finally:
                lanes.close()
            results[mode] = outcome.metrics()
        return results

    def get_state(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """RLlib's state (in serial mode with the running episodes) and the bonus's."""
        state = super().get_state(*arguments, **options)
        return state | {"bonus": self.bonus.get_state(), "updates": self._updates}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`. Remote runners begin new episodes, with contexts they have not met."""
        super().set_state(state)
        if "bonus" in state:
            self.bonus.set_state(state["bonus"])
            self._updates = state["updates"]
        if not self.config.serial:
            self._tell_runners({NUM_ENV_STEPS_SAMPLED_LIFETIME: self.env_steps})

    def save_to_path(self, path: str | Path | None = None, **options: Any) -> str:
        """RLlib's checkpoint, sealed with checksums as the last act of writing it."""
        written = super().save_to_path(path, **options)
        seal(Path(written))
        return written

    def restore_from_path(self, path: str | Path, *arguments: Any, **options: Any) -> None:
        """Restore a checkpoint after making sure that it is whole."""
        verify(Path(path))
        with plain_objects() if self.config.serial else nullcontext():
            super().restore_from_path(path, *arguments, **options)

    def cleanup(self) -> None:
        """Stop everything this algorithm has started."""
        if hasattr(self, "bonus") and (self.config.serial or ray.is_initialized()):
            self.bonus.close()
        super().cleanup()
