"""Runs and grids as Python objects: configuration, metrics, checkpoints, policy, evaluation and videos."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bonuslab.algorithms.acting.rollout import sample
from bonuslab.platform.pictures import show, side_by_side
from bonuslab.platform.pictures.video import picture_path
from bonuslab.platform.run import zoo
from bonuslab.platform.run.agent import TrainedAgent, read_trial_config
from bonuslab.platform.run.checkpoints import newest_checkpoint
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.find import Found, find
from bonuslab.platform.run.folder import GridFolder, TrialFolder
from bonuslab.platform.run.state import TrialState


class Policy:
    """A trained policy; it keeps the state of the current episode."""

    def __init__(self, agent: TrainedAgent, greedy: bool = False, seed: int = 0) -> None:
        self._network = agent.network
        self._greedy = greedy
        self._random = torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        self._state = self._network.initial_state(1)
        self._first = True

    @torch.no_grad()
    def act(self, observation: Mapping[str, np.ndarray]) -> int:
        """The action for the next observation of the current episode."""
        rows = {key: torch.as_tensor(np.asarray(value))[None] for key, value in observation.items()}
        output = self._network.act(rows, torch.tensor([self._first]), self._state)
        self._state, self._first = output.state, False
        action = output.logits.argmax(-1) if self._greedy else sample(output.logits, self._random)
        return int(action)


class Player(ABC):
    """What has a trained agent, and can play."""

    @property
    @abstractmethod
    def agent(self) -> TrainedAgent:
        """Policy and bonus."""

    def policy(self, greedy: bool = False, seed: int = 0) -> Policy:
        """The trained policy."""
        return Policy(self.agent, greedy, seed)

    def make_env(self, seed: int = 0) -> Any:
        """Its environment and contexts, as a Gymnasium environment."""
        return self.agent.make_env(seed)

    def evaluate(self, episodes: int = 32, seed: int = 0) -> pd.DataFrame:
        """Evaluate on held-out contexts: one row per metric, one column per mode (greedy, sampled)."""
        return pd.DataFrame(self.agent.evaluate(episodes, seed))

    def video(
        self, path: str | Path, episodes: int = 1, greedy: bool = False, seed: int = 0, seconds_per_frame: float = 0.1
    ) -> Path:
        """Save episodes side by side, with the bonus per step, as .mp4 or .gif, or the last one as .png."""
        target = picture_path(str(path))
        shows = show.play(self.agent, seed, greedy, episodes=episodes)
        side_by_side.save(shows, [one.title for one in shows], target, seconds_per_frame)
        return target


@dataclass(frozen=True, repr=False)
class Run(Player):
    """One run, finished or not, read from its folder."""

    grid: GridFolder
    trial: TrialFolder
    trust: bool = False
    """Whether code that the run brings may run although somebody else wrote it."""

    @property
    def path(self) -> Path:
        """The run's folder; for a trial of a larger grid, the trial's."""
        return self.grid.path if len(self.grid.description().trials) == 1 else self.trial.path

    @cached_property
    def config(self) -> Config:
        """The run's configuration."""
        return read_trial_config(Found(self.grid, self.trial), self.trust)

    @property
    def labels(self) -> dict[str, str]:
        """task, contexts, bonus, scope, seed and variant."""
        return dict(self.trial.description().labels)

    @property
    def state(self) -> TrialState:
        """Status, steps, time and error."""
        return self.trial.state()

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per iteration, one column per metric."""
        return self.trial.rows()

    @property
    def checkpoints(self) -> list[str]:
        """Paths or URIs of the checkpoints, oldest first."""
        return list(self.state.checkpoints)

    @cached_property
    def agent(self) -> TrainedAgent:
        """Policy and bonus of the newest checkpoint."""
        self.grid.load_plugins(self.trial.description(), self.trust)
        return TrainedAgent.load(newest_checkpoint(Found(self.grid, self.trial)), self.trust)

    def __repr__(self) -> str:
        state, labels = self.state, self.labels
        what = f"{labels['task']}, bonus {labels['bonus']}, contexts {labels['contexts']}, seed {labels['seed']}"
        return f"<Run {what}: {state.status} at {state.env_steps:,} steps, {self.path}>"


@dataclass(frozen=True, repr=False)
class ZooAgent(Player):
    """A trained agent of the zoo, `bl.load("zoo:NAME")`."""

    path: Path

    @property
    def name(self) -> str:
        """Its name in `bonuslab zoo`."""
        return self.path.name

    @cached_property
    def entry(self) -> zoo.Entry:
        """Settings and scores."""
        return zoo.entries(self.path.parent)[self.name]

    @cached_property
    def agent(self) -> TrainedAgent:
        """Policy and bonus."""
        return TrainedAgent.load(self.path)

    def __repr__(self) -> str:
        return f"<ZooAgent {self.name}: {self.entry.task}, bonus {self.entry.bonus}, {self.entry.env_steps:,} steps>"


@dataclass(frozen=True, repr=False)
class Grid:
    """A grid of runs, finished or not, read from its folder."""

    folder: GridFolder
    trust: bool = False
    """Of its runs."""

    @property
    def path(self) -> Path:
        """The grid's folder."""
        return self.folder.path

    @property
    def runs(self) -> list[Run]:
        """All runs, in the grid's order."""
        return [Run(self.folder, trial, self.trust) for trial in self.folder.trials()]

    @property
    def metrics(self) -> pd.DataFrame:
        """The metrics of all runs, with their labels as columns."""
        frames = [run.metrics.assign(**run.labels) for run in self.runs]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def report(self) -> Path:
        """Write the report; returns the path of its page."""
        from bonuslab.platform.report.write import write_report

        return write_report(self.folder)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.folder.description().trials)

    def __repr__(self) -> str:
        finished = sum(run.state.status == "finished" for run in self.runs)
        return f"<Grid {self.folder.description().name}: {finished} of {len(self)} runs finished, {self.path}>"


def load(path: str | Path, trust: bool = False) -> Run | Grid | ZooAgent:
    """Open a run, a grid of several or `zoo:NAME`, by folder or name; `trust` lets code of somebody else's run."""
    if str(path).startswith(zoo.PREFIX):
        return ZooAgent(zoo.folder_of(str(path)))
    found = find(path)
    return Grid(found.grid, trust) if found.trial is None else Run(found.grid, found.trial, trust)
