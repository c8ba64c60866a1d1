"""Base class of our algorithms: setup, results, evaluation on held-out contexts and sealed checkpoints."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    EPISODE_LEN_MEAN,
    EPISODE_RETURN_MEAN,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
)
from ray.tune import Trainable

from bonuslab.algorithms.acting.evaluation import add_seen, evaluate_modes
from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.acting.runner import EpisodeSummary
from bonuslab.algorithms.learning.checkpoint import Trust, seal, verify
from bonuslab.algorithms.learning.no_compile import no_inductor
from bonuslab.algorithms.learning.state_file import read_state, write_state
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.description import write_description
from bonuslab.algorithms.rllib.serial import no_object_store
from bonuslab.algorithms.rllib.telemetry import Telemetry
from bonuslab.envs.catalogue import make_vector_env

BONUS_RESULTS = "bonus"
"""Key of bonus metrics in results."""
EPISODE_METRICS = "episode_metrics"
"""Key, under RLlib's `env_runners`, of the environment's own episode metrics, such as coverage."""


class FragmentAlgorithm(Algorithm):
    """An RLlib algorithm that trains on fragments."""

    config: FragmentConfig

    @classmethod
    def _should_create_evaluation_env_runners(cls, eval_config: Any) -> bool:
        """`evaluate` creates its own envs instead of RLlib's evaluation runners."""
        return False

    def _setup_logdir(self) -> None:
        """Outside Tune, RLlib would create an empty folder in the user's home for every algorithm."""
        if self._storage:
            super()._setup_logdir()
        else:
            self._logdir = None

    def setup(self, config: FragmentConfig) -> None:
        """Start runners and learners."""
        if not config.serial:
            # RLlib hides why a remote runner failed to start, so check the environment's settings here.
            make_vector_env(config.env, 1, seed=config.seed or 0, **config.env_config).close()
        with no_object_store(), no_inductor():
            super().setup(config)
        self._telemetry = Telemetry(self.config)
        self._episodes: deque[EpisodeSummary] = deque(maxlen=self.config.metrics_num_episodes_for_smoothing)
        self._seen: dict[str, set[int]] = {}
        self._updates = 0
        self._settings = self.config.to_dict()

    def get_auto_filled_metrics(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Tune's, with the settings, of which RLlib would make another deep copy for every result."""
        return Trainable.get_auto_filled_metrics(self, *arguments, **options) | {"config": self._settings}

    def step(self) -> dict[str, Any]:
        """One training iteration; its results are exported to Prometheus."""
        results = super().step()
        self._telemetry.publish(results)
        return results

    def _log_bonus(self, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            self.metrics.log_value((BONUS_RESULTS, name), value, window=20)

    def _add_episodes(self, episodes: Sequence[EpisodeSummary]) -> None:
        """Take over the episodes that a runner has finished, and what it has seen."""
        self._episodes += episodes
        add_seen(self._seen, episodes)

    def _log_episodes(self) -> None:
        """Log means over recent episodes of all runners (RLlib keeps only those of one iteration) and what was seen."""
        counts = {(EPISODE_METRICS, f"{name}_ever"): float(len(seen)) for name, seen in self._seen.items()}
        for place, value in (episode_means(list(self._episodes)) | counts).items():
            self.metrics.log_value((ENV_RUNNER_RESULTS, *place), value, window=1)

    @property
    def env_steps(self) -> int:
        """Environment steps sampled since the start of the run."""
        return int(self.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0))

    def evaluate(self, parallel_train_future: Any = None) -> dict[str, dict[str, float]]:
        """Play `evaluation_duration` episodes, greedy and sampled, always on the same held-out contexts."""
        episodes, seed = int(self.config.evaluation_duration), self.config.seed or 0
        modes = evaluate_modes(self.get_module().network, self.config, episodes, seed)
        return modes | {ENV_RUNNER_RESULTS: modes["sampled"]}  # where RLlib's users look

    def get_module(self, module_id: str = DEFAULT_MODULE_ID) -> PolicyModule:
        """The policy with its present weights, on this machine's CPU."""
        module = self.config.get_rl_module_spec(spaces=self.spaces, inference_only=True).build()
        module.set_state(self.learner_group.get_weights()[module_id])
        return module

    def get_state(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """RLlib's state (in serial mode including episodes in progress), updates, recent episodes and what was seen."""
        state = super().get_state(*arguments, **options)
        return state | {"updates": self._updates, "episodes": list(self._episodes), "seen": self._seen}

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        super().set_state(state)
        if "updates" in state:
            self._updates = state["updates"]
            self._episodes = deque(state["episodes"], maxlen=self._episodes.maxlen)
            self._seen = {name: set(seen) for name, seen in state["seen"].items()}

    def save_to_path(self, path: str | Path | None = None, **options: Any) -> str:
        """Write a sealed checkpoint.

        Only RLlib's record of the class and its config, user code included, is a pickle; resuming a run and playing its
        policy do without it.
        """
        folder = Path(tempfile.mkdtemp() if path is None else path)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / self.CLASS_AND_CTOR_ARGS_FILE_NAME).open("wb") as file:
            arguments = self.get_ctor_args_and_kwargs()
            cloudpickle.dump({"class": type(self), "ctor_args_and_kwargs": arguments}, file)
        write_description(folder, self.config)
        write_state(folder, self.get_state())
        seal(folder)
        return str(folder)

    @classmethod
    def from_checkpoint(cls, path: Any, filesystem: Any = None, *, trust: bool = False, **options: Any) -> Any:
        """Build an algorithm that resumes from a checkpoint, after verifying it; see `Trust`."""
        folder = Path(getattr(path, "path", path))
        Trust(folder, verify(folder), trust).require("a pickled configuration")
        # Not the method of RLlib's Algorithm, which looks for RLlib's own files, but that of Checkpointable.
        return super(Algorithm, cls).from_checkpoint(str(folder.resolve()), filesystem, trust=trust, **options)

    def restore_from_path(self, path: str | Path, *, trust: bool = False, **options: Any) -> None:
        """Verify and restore a checkpoint."""
        folder = Path(path)
        allowed = Trust(folder, verify(folder), trust)
        with no_object_store() if self.config.serial else nullcontext():
            self.set_state(read_state(folder, require_trust=allowed.require))

    def describe_resume(self) -> str:
        """After `restore_from_path`: whether episodes in progress continue, in a few words."""
        if not self.config.serial:
            return "runners on Ray begin new episodes"
        restarted = getattr(self.env_runner.env, "restarted", None)  # [N] bool: envs that could not replay theirs
        if restarted is None or not restarted.any():
            return "episodes in progress continue exactly"
        return (
            f"{restarted.sum()} of {len(restarted)} episodes begin anew, because {self.config.env} did not repeat them"
        )


def episode_means(episodes: Sequence[EpisodeSummary]) -> dict[tuple[str, ...], float]:
    """Means over episodes, by path in RLlib's results."""
    if not episodes:
        return {}
    means: dict[tuple[str, ...], float] = {
        (EPISODE_RETURN_MEAN,): float(np.mean([episode.total_reward for episode in episodes])),
        (EPISODE_LEN_MEAN,): float(np.mean([episode.length for episode in episodes])),
        ("win_rate",): float(np.mean([episode.won for episode in episodes])),
    }
    for name in episodes[-1].metrics:
        values = [episode.metrics[name] for episode in episodes if name in episode.metrics]
        means[EPISODE_METRICS, name] = float(np.mean(values))
    return means
