"""IMPALA as an RLlib algorithm: runners → shared bonus → learner → weights."""

from __future__ import annotations

import time
from collections import deque
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayActorError, RayTaskError
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    EPISODE_LEN_MEAN,
    EPISODE_RETURN_MEAN,
    LEARNER_RESULTS,
    LEARNER_UPDATE_TIMER,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    SAMPLE_TIMER,
    SYNCH_WORKER_WEIGHTS_TIMER,
    TIMERS,
)
from ray.tune.execution.placement_groups import PlacementGroupFactory

from bonuslab.algorithms.bonus_client import LocalBonus, Processed, RemoteBonus, cause_of
from bonuslab.algorithms.checkpoint import seal, verify
from bonuslab.algorithms.evaluation import evaluate
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.learner import STATE_AFTER_UPDATE
from bonuslab.algorithms.runner import EpisodeSummary, Failure
from bonuslab.algorithms.telemetry import Telemetry
from bonuslab.algorithms.without_ray import plain_objects
from bonuslab.envs.catalogue import make_lanes

BONUS_RESULTS = "bonus"
"""Key of the bonus's metrics in results."""
WAIT_SECONDS = 0.05
"""How long one look for finished work may wait; without it the driver would keep a core busy."""
EPISODE_WINDOW = 100
"""Episodes over which running means are taken."""
RUNNER_PATIENCE_SECONDS = 60
"""How long all runners may be gone before training gives up."""
MOST_REVIVALS = 3
"""How often all runners may die without a fragment between."""
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
        if not config.serial:
            # RLlib does not say why a remote runner could not be built, so a bad task or setting is found here.
            make_lanes(config.env, 1, seed=config.seed or 0, **config.env_config).close()
        with plain_objects():
            super().setup(config)
        client = LocalBonus if self.config.serial else RemoteBonus
        self.bonus: LocalBonus | RemoteBonus = client(self.config, *self.spaces[DEFAULT_MODULE_ID])
        self._telemetry = Telemetry(self.config)
        self._fragments: list[Any] = []
        self._batches: list[Processed] = []
        self._episodes: deque[EpisodeSummary] = deque(maxlen=EPISODE_WINDOW)
        self._updates = 0
        self._revivals = 0

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
        self._log_episodes()

    def _log_episodes(self) -> None:
        """Means over the last episodes of all runners; RLlib would forget them after each iteration."""
        if not self._episodes:
            return
        returns, lengths, wins = zip(*self._episodes, strict=True)
        for name, values in ((EPISODE_RETURN_MEAN, returns), (EPISODE_LEN_MEAN, lengths), ("win_rate", wins)):
            self.metrics.log_value((ENV_RUNNER_RESULTS, name), float(np.mean(values)), window=1)

    def _collect_fragments(self) -> None:
        """Take finished fragments from the runners, unless enough batches wait already (back-pressure)."""
        if self.bonus.depth + len(self._batches) >= self.config.max_queued_batches:
            return
        if self.config.serial:
            self._fragments.append(self.env_runner.sample())
            self._episodes += self.env_runner.take_episodes()
            metrics = [self.env_runner.get_metrics()]
        else:
            self._revive_runners()
            results = self.env_runner_group.foreach_env_runner_async_fetch_ready(
                func="sample_with_episodes_and_metrics", tag="sample", timeout_seconds=WAIT_SECONDS
            )
            for fragment, episodes, _ in results:
                if isinstance(fragment, Failure):
                    fragment.raise_here()
                self._fragments.append(fragment)
                self._episodes += episodes
                self._revivals = 0
            metrics = [values for _, _, values in results]
        if metrics:
            self.metrics.aggregate(metrics, key=ENV_RUNNER_RESULTS)
        size = self.config.fragments_per_batch
        while len(self._fragments) >= size:
            self.bonus.submit(self._fragments[:size])
            del self._fragments[:size]

    def _revive_runners(self) -> None:
        """Wait for the runners to come back if all have died; RLlib looks after them only between training steps."""
        if self.env_runner_group.num_healthy_remote_workers():
            return
        self._revivals += 1
        if self._revivals > MOST_REVIVALS:
            raise RuntimeError(f"all runners died {self._revivals} times without finishing a fragment; see Ray's logs")
        deadline = time.monotonic() + RUNNER_PATIENCE_SECONDS
        while not self.restore_env_runners(self.env_runner_group):
            if time.monotonic() > deadline:
                raise RuntimeError(f"all runners died and did not come back within {RUNNER_PATIENCE_SECONDS} s")
            time.sleep(WAIT_SECONDS)

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
        try:
            results = self.learner_group.update(
                training_data=data, return_state=broadcast, timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: self.env_steps}
            )
        except (RayTaskError, RayActorError) as error:
            self._explain_learner_error(error)
        weights = None
        for result in results:
            weights = result.pop(STATE_AFTER_UPDATE, weights)
        self.metrics.aggregate(results, key=LEARNER_RESULTS)
        if weights is not None:
            with self.metrics.log_time((TIMERS, SYNCH_WORKER_WEIGHTS_TIMER)):
                self._tell_runners(weights)

    def _explain_learner_error(self, error: RayTaskError | RayActorError) -> None:
        """Raise what a learner raised, unless one has died: the others then know no more than a lost connection."""
        try:
            for learner in self.learner_group._workers or []:
                ray.get(learner.apply.remote(lambda _: None))
        except RayActorError as death:
            raise RuntimeError(f"a learner process died; go on from the last checkpoint. {death}") from error
        raise (cause_of(error) if isinstance(error, RayTaskError) else error) from error

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
        ours = {"bonus": self.bonus.get_state(), "updates": self._updates, "episodes": list(self._episodes)}
        return state | ours

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`. Remote runners begin new episodes, with contexts they have not met."""
        super().set_state(state)
        if "bonus" in state:
            self.bonus.set_state(state["bonus"])
            self._updates = state["updates"]
            self._episodes = deque(state["episodes"], maxlen=EPISODE_WINDOW)
        if not self.config.serial:
            self._tell_runners({NUM_ENV_STEPS_SAMPLED_LIFETIME: self.env_steps})

    def save_to_path(self, path: str | Path | None = None, **options: Any) -> str:
        """RLlib's checkpoint, sealed with checksums as the last act of writing it."""
        written = super().save_to_path(path, **options)
        seal(Path(written))
        return written

    @classmethod
    def from_checkpoint(cls, path: Any, filesystem: Any = None, **options: Any) -> Any:
        """An algorithm that goes on where the checkpoint was written; a damaged checkpoint is refused first of all."""
        folder = str(getattr(path, "path", path))
        if filesystem is None and "://" not in folder:
            verify(Path(folder))
        return super().from_checkpoint(path, filesystem, **options)

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
