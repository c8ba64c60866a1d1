"""RLlib's EnvRunner around a `Rollout`."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from typing import Any, NamedTuple, NoReturn

import gymnasium as gym
import ray
import torch
from ray.rllib.callbacks.utils import make_callback
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.env import INPUT_ENV_SPACES
from ray.rllib.env.env_runner import EnvRunner
from ray.rllib.utils import force_list
from ray.rllib.utils.checkpoints import Checkpointable
from ray.rllib.utils.metrics import (
    NUM_ENV_STEPS_SAMPLED,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES,
    NUM_EPISODES_LIFETIME,
    WEIGHTS_SEQ_NO,
)

from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.acting.rollout import Rollout, Stop
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.learning.no_compile import no_inductor
from bonuslab.envs.catalogue import make_vector_env
from bonuslab.envs.vector_env import TRUNCATIONS, FinishedEpisode

STREAMS_PER_INCARNATION = 1_000_003
"""More than the number of runners, so no two incarnations of any two runners share a random stream."""


class Failure:
    """Returned by a runner in place of a fragment if its environment or policy raised.

    RLlib kills an actor whose method raises and reports only "actor died", which would hide the real error.
    """

    def __init__(self, error: BaseException, kind: str = "runner") -> None:
        self.kind = kind
        self.text = f"{type(error).__name__}: {error}"
        self.details = "".join(traceback.format_exception(error))

    def raise_here(self) -> NoReturn:
        """Raise the error in this process, with the original traceback as a note."""
        error = RunnerError(f"a {self.kind} failed: {self.text}")
        error.add_note(self.details)
        raise error


class RunnerError(RuntimeError):
    """An exception in a runner, re-raised in the driver."""


class EpisodeSummary(NamedTuple):
    """The part of a finished episode that results report."""

    total_reward: float
    length: int
    won: bool
    metrics: dict[str, float] = {}  # noqa: RUF012 (never written to)
    seen: dict[str, frozenset[int]] = {}  # noqa: RUF012 (never written to)


class EndedEpisode:
    """What `on_episode_end` callbacks get: the parts of RLlib's episode that are known without its steps."""

    def __init__(self, episode: FinishedEpisode) -> None:
        self.finished = episode
        self.is_terminated = episode.end_status not in TRUNCATIONS
        self.is_truncated = not self.is_terminated

    def get_return(self) -> float:
        """The sum of extrinsic rewards."""
        return float(self.finished.total_reward)

    def __len__(self) -> int:
        return self.finished.length


class FragmentRunner(EnvRunner, Checkpointable):
    """Steps a vector env; fragments are returned by reference."""

    keep_values = False
    """Whether fragments contain the policy's values."""
    worker_index: int
    num_env_steps_sampled_lifetime: int

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        with no_inductor():
            super().__init__(config=config, **kwargs)
        self.worker_index = self.worker_index or 0
        torch.set_num_threads(config.threads_per_runner)
        self._weights_version = 0
        self._incarnation = 0
        self._episodes: list[EpisodeSummary] = []
        self._callbacks = [callback() for callback in force_list(config.callbacks_class)]
        self.make_env()
        self._call("on_environment_created", env_context=self.config.env_config)
        self.make_module()
        self._begin()

    def make_env(self) -> None:
        """Create the vector env; every runner and every incarnation of it draws its own stream of contexts."""
        self.env = make_vector_env(
            self.config.env,
            num_envs=self.config.num_envs_per_env_runner,
            seed=self.config.seed or 0,
            stream=self.worker_index + STREAMS_PER_INCARNATION * self._incarnation,
            **self.config.env_config,
        )

    def _begin(self) -> None:
        self.rollout = Rollout(
            self.env,
            self.module.network,
            runner=self.worker_index,
            seed=(self._seed or 0) + STREAMS_PER_INCARNATION * (1 + self._incarnation),
            keep_features=self.config.needs_policy_features(),
            incarnation=self._incarnation,
            keep_values=self.keep_values,
            explore=self.config.explore,
        )

    def make_module(self) -> None:
        """Create the policy."""
        spec = self.config.get_rl_module_spec(spaces=self.get_spaces(), inference_only=True)
        self.module: PolicyModule = spec.build()

    def get_spaces(self) -> dict[str, tuple[gym.Space, gym.Space]]:
        """Spaces of a single env."""
        spaces = (self.env.observation_space, self.env.action_space)
        return {INPUT_ENV_SPACES: spaces, DEFAULT_MODULE_ID: spaces}

    def sample(self, stop: Stop | None = None, longest: float = 1.0, **_: Any) -> Fragment:
        """Collect the next fragment; `take_episodes` returns its finished episodes.

        `stop` may end it early, or let it go on to `longest` times its length.
        """
        most_steps = round(longest * self.config.rollout_fragment_length)
        fragment, finished = self.rollout.collect(most_steps, self._weights_version, stop)
        steps = fragment.action.size
        self.num_env_steps_sampled_lifetime += steps
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED, steps, reduce="sum")
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED_LIFETIME, steps, reduce="lifetime_sum", with_throughput=True)
        whole = [episode for episode in finished if not episode.had_less_time]
        self.metrics.log_value(NUM_EPISODES, len(whole), reduce="sum")
        self.metrics.log_value(NUM_EPISODES_LIFETIME, len(whole), reduce="lifetime_sum")
        self._episodes += [
            EpisodeSummary(
                float(episode.total_reward),
                episode.length,
                episode.end_status == "won",
                dict(episode.metrics),
                dict(episode.seen),
            )
            for episode in whole
        ]
        for episode in finished:
            self._call(
                "on_episode_end", episode=EndedEpisode(episode), env_index=episode.env_index, prev_episode_chunks=[]
            )
        return fragment

    def _call(self, name: str, **arguments: Any) -> None:
        """Call the user's RLlib callbacks of this name."""
        common = {"env_runner": self, "metrics_logger": self.metrics, "env": self.env}
        if name == "on_episode_end":
            common["rl_module"] = self.module
        make_callback(
            name,
            callbacks_objects=self._callbacks,
            callbacks_functions=getattr(self.config, f"callbacks_{name}"),
            kwargs=common | arguments,
        )

    def take_episodes(self) -> list[EpisodeSummary]:
        """Episodes finished since the last call."""
        episodes, self._episodes = self._episodes, []
        return episodes

    def sample_with_episodes_and_metrics(self) -> tuple[Any, list[EpisodeSummary], Any]:
        """A reference to the next fragment (or a `Failure`), its finished episodes, and metrics."""
        try:
            fragment = self.sample()
        except Exception as error:
            return Failure(error), self.take_episodes(), self.get_metrics()
        return ray.put(fragment), self.take_episodes(), self.get_metrics()

    def get_metrics(self) -> Any:
        """Everything logged since the last call."""
        return self.metrics.reduce()

    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Counters, episodes in progress, and the weights unless excluded."""
        state: dict[str, Any] = {
            NUM_ENV_STEPS_SAMPLED_LIFETIME: self.num_env_steps_sampled_lifetime,
            "rollout": self.rollout.get_state(),
        }
        if self._check_component(COMPONENT_RL_MODULE, components, not_components):
            state[COMPONENT_RL_MODULE] = self.module.get_state(**kwargs)
            state[WEIGHTS_SEQ_NO] = self._weights_version
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Load weights, episodes in progress and counters, as far as given."""
        if COMPONENT_RL_MODULE in state:
            self._set_weights(state[COMPONENT_RL_MODULE], state.get(WEIGHTS_SEQ_NO, 0))
        steps = int(state.get(NUM_ENV_STEPS_SAMPLED_LIFETIME, 0))
        if "rollout" in state:
            self.rollout.set_state(state["rollout"])
        elif steps > 0 and self.num_env_steps_sampled_lifetime == 0:
            # A new runner in a run under way (the runner or the run was restarted) must not repeat its contexts.
            self._incarnation = steps
            self.env.close()
            self.make_env()
            self._begin()
        self.num_env_steps_sampled_lifetime = max(steps, self.num_env_steps_sampled_lifetime)

    def _set_weights(self, weights: Any, version: int) -> None:
        """Load weights, unless this version is loaded already; 0 is always loaded."""
        if 0 < version == self._weights_version:
            return
        if isinstance(weights, ray.ObjectRef):
            weights = ray.get(weights)
        self.module.set_state(weights.get(DEFAULT_MODULE_ID, weights))
        self._weights_version = version or self._weights_version

    def get_ctor_args_and_kwargs(self) -> tuple[tuple, dict[str, Any]]:
        """Arguments with which RLlib recreates this runner."""
        return (), {"config": self.config}

    def assert_healthy(self) -> None:
        """Raise unless the runner was fully built."""
        if self.env is None or self.module is None:
            raise AssertionError("this runner was not fully built")

    def stop(self) -> None:
        """Close the envs, which removes their game directories."""
        self.env.close()
