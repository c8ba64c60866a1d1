"""A trained policy and its bonus, read from a checkpoint without starting Ray or changing any file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.core import COMPONENT_LEARNER, COMPONENT_LEARNER_GROUP, COMPONENT_RL_MODULE, DEFAULT_MODULE_ID

from bonuslab.algorithms.acting.evaluation import evaluate_modes
from bonuslab.algorithms.acting.policy_module import PolicyModule
from bonuslab.algorithms.acting.rollout import sample
from bonuslab.algorithms.bonuses.algebra.combinators import restrict
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.learning.checkpoint import Trust, verify
from bonuslab.algorithms.learning.state_file import read_state
from bonuslab.algorithms.learning.trust import require_trust
from bonuslab.algorithms.networks import PolicyNetwork, PolicyOutput
from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.intrinsic_reward import IntrinsicReward
from bonuslab.envs.catalogue import find as find_family
from bonuslab.envs.catalogue import make_vector_env
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.family import Album, Family
from bonuslab.platform.run.checkpoint_config import read_description
from bonuslab.platform.run.checkpoints import newest_checkpoint
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.find import Found

Observation = dict[str, np.ndarray]
WEIGHTS = (COMPONENT_LEARNER_GROUP, COMPONENT_LEARNER, COMPONENT_RL_MODULE, DEFAULT_MODULE_ID)
BONUS = ("bonus", IntrinsicReward.__name__)
"""Where a checkpoint keeps the policy and the state of the bonus."""
PLAYBACK_STREAM = 2**31
"""A stream of contexts that no env runner uses."""


@dataclass(frozen=True)
class Recording:
    """One episode of T steps."""

    context: int
    observations: list[Observation]
    """T + 1, the final one included."""
    captions: list[str]
    """T + 1, from the album."""
    actions: list[int]
    rewards: list[float]
    outcome: str
    """How the episode ended: `won`, `died`, …"""
    bonus: np.ndarray
    """[T]: raw bonus."""
    bonus_episodic: np.ndarray
    """[T]: episodic part."""
    bonus_global: np.ndarray
    """[T]: global part."""


@dataclass
class TrainedAgent:
    """A policy, the bonus it was trained with, and the task and contexts it was trained on."""

    config: FragmentConfig
    network: PolicyNetwork
    bonus: IntrinsicModel

    @classmethod
    def load(cls, checkpoint: Path, trust: bool = False) -> TrainedAgent:
        """Read a checkpoint; rejects damaged ones, and those with code that this user neither wrote nor trusts."""
        # Only what acting and the bonus need: building the whole algorithm would also create optimisers and envs.
        folder = Path(checkpoint).resolve()
        config, allowed = read_config(folder, trust)
        try:
            return cls._built(config, folder, allowed)
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:  # a state of another network or bonus
            raise InvalidInput(f"{checkpoint} does not fit its own configuration: {error}") from error

    @classmethod
    def _built(cls, config: FragmentConfig, folder: Path, allowed: Trust) -> TrainedAgent:
        envs = make_vector_env(config.env, 1, seed=config.seed or 0, **config.env_config)
        spaces = (envs.observation_space, envs.action_space)
        envs.close()
        module: PolicyModule = config.get_rl_module_spec(spaces={DEFAULT_MODULE_ID: spaces}).build()
        module.set_state(read_state(folder, *WEIGHTS, require_trust=allowed.require))
        pipeline = config.build_learner_connector(*spaces, device="cpu")
        piece = next(piece for piece in pipeline.connectors if isinstance(piece, IntrinsicReward))
        if config.bonus_expression != "none":  # which has no state; a checkpoint of the zoo may lack it
            piece.set_state(read_state(folder, *BONUS, require_trust=allowed.require))
        return cls(config, module.network.eval(), piece.model)

    @property
    def parts(self) -> dict[str, str]:
        """Expressions of the episodic and the global part; empty unless the bonus has both."""
        found = {scope: restrict(self.bonus.bonus, scope) for scope in ("episodic", "global")}
        return {} if None in found.values() else {scope: str(part) for scope, part in found.items()}

    @property
    def family(self) -> Family:
        """The task's environment family."""
        return find_family(self.config.env)

    def evaluate(self, episodes: int, seed: int = 0) -> dict[str, dict[str, float]]:
        """Metrics on held-out contexts, by mode: greedy and sampled."""
        return evaluate_modes(self.network, self.config, episodes, seed)

    def make_env(self, seed: int) -> gym.Env[Any, Any]:
        """The run's environment with its contexts, drawn in an order that depends on `seed`."""
        config = self.config
        stream = (PLAYBACK_STREAM, seed)
        return self.family.make_env(config.env, seed=config.seed or 0, stream=stream, **config.env_config)

    def play(
        self, env: gym.Env[Any, Any], album: Album, random: torch.Generator, greedy: bool, context: int | None
    ) -> Recording:
        """Play one episode, add its frames to `album` and compute its bonus; nothing is trained."""
        observation, info = env.reset(options={"context": context})
        observations, outputs = [observation], []
        captions = [album.add(observation, env)]
        actions: list[int] = []
        rewards: list[float] = []
        state, truncated, terminated = self.network.initial_state(1), False, False
        while not (terminated or truncated):
            rows = {key: torch.from_numpy(value)[None] for key, value in observations[-1].items()}
            with torch.no_grad():
                output = self.network.act(rows, torch.tensor([not actions]), state)
            state = output.state
            action = output.logits.argmax(-1) if greedy else sample(output.logits, random)
            observation, reward, terminated, truncated, info = env.step(int(action))
            observations.append(observation)
            captions.append(album.add(observation, env))
            outputs.append(output)
            actions.append(int(action))
            rewards.append(float(reward))
        fragment = _fragment(observations, outputs, actions, rewards, truncated, int(info["context"]))
        values = self.bonus.process(fragment, learn=False)
        return Recording(
            context=int(info["context"]),
            observations=observations,
            captions=captions,
            actions=actions,
            rewards=rewards,
            outcome=str(info["end_status"]).replace("_", " "),
            bonus=values.bonus_raw[:, 0],
            bonus_episodic=values.bonus_episodic[:, 0],
            bonus_global=values.bonus_global[:, 0],
        )


def _fragment(
    observations: list[Observation],
    outputs: list[PolicyOutput],
    actions: list[int],
    rewards: list[float],
    truncated: bool,
    context: int,
) -> Fragment:
    """A whole episode as a fragment of one env: T rows and the final state."""
    T = len(actions)
    ends = np.zeros((T, 1), bool)
    ends[-1] = True
    starts = np.zeros((T + 1, 1), bool)
    starts[[0, -1]] = True
    features = torch.cat([output.features for output in [*outputs, outputs[-1]]])[:, None]
    return Fragment(
        observations={key: np.stack([row[key] for row in observations])[:, None] for key in observations[0]},
        action=np.array(actions, np.int64)[:, None],
        behaviour_logits=torch.stack([output.logits for output in outputs]).numpy(),
        reward=np.array(rewards, np.float32)[:, None],
        first=starts,
        terminated=ends & (not truncated),
        truncated=ends & truncated,
        episode=np.array([0] * T + [1], np.int64)[:, None],
        context=np.full((T + 1, 1), context, np.int64),
        env_index=np.array([PLAYBACK_STREAM], np.int64),
        sequence=np.zeros(1, np.int64),
        finals={key: observations[-1][key][None] for key in observations[0]},
        final_index=np.array([[T - 1, 0]], np.int64),
        policy_features=features.numpy(),
    )


def read_config(checkpoint: Path, trust: bool = False) -> tuple[FragmentConfig, Trust]:
    """The configuration in a checkpoint, and what it may run; registers the user's own code if the config needs it."""
    allowed = Trust(checkpoint, verify(checkpoint), trust)
    return read_description(checkpoint, allowed), allowed


def read_trial_config(found: Found, trust: bool = False) -> Config:
    """A trial's configuration, with the user code it needs: from its plugins' copies and its newest checkpoint."""
    trial = found.require_trial()
    description = trial.description()
    found.grid.load_plugins(description, trust)
    task = description.config.get("task", "")
    if ":" in task:
        what = f"the run in {found.grid.path} imports its environment {task!r}"
        require_trust(what, trial.is_signed(), trust)
    try:
        return Config.from_dict(description.config)
    except InvalidInput:  # perhaps its bonus was defined in a script
        if not trial.state().checkpoints:
            raise
    read_config(newest_checkpoint(found), trust)
    return Config.from_dict(description.config)
