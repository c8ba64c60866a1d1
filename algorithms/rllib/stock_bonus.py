"""The bonus of RLlib's episode chunks: in the learner's process, or in one actor for several learners."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import ray
import torch.distributed as dist

from bonuslab.algorithms.bonuses import IntrinsicModel, Setting, parse
from bonuslab.algorithms.bonuses.algebra.setting import setting_for
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.extensions import shipping
from bonuslab.algorithms.rllib.remote import get_result
from bonuslab.algorithms.rllib.stock_chunks import Chunk, Spaces
from bonuslab.algorithms.rllib.stock_fragments import EpisodePlaces, fragments_of, join, runs_of
from bonuslab.envs.errors import InvalidInput

Array = np.ndarray
Metrics = dict[str, float]


@dataclass(frozen=True)
class BonusOptions:
    """What a bonus is built from, besides the spaces."""

    expression: str
    network: str
    seed: int
    device: str
    model: dict[str, Any]
    """Arguments of `IntrinsicModel`."""
    extensions: bytes | None = None
    """The user's bonuses, features and networks, for other processes."""


@dataclass(frozen=True)
class Batch:
    """What a learner's connector sees in one call."""

    spaces: Spaces
    chunks: list[Chunk]
    replayed: bool
    """Whether the chunks come from a replay buffer."""


class ChunkBonus:
    """Computes the bonus of every step of every chunk and trains the bonus models on them."""

    def __init__(self, options: BonusOptions) -> None:
        shipping.install(options.extensions)
        self._options = options
        self._model: IntrinsicModel | None = None
        self._places = EpisodePlaces()
        self._restored: dict[str, Any] | None = None
        """A state to load once the spaces are known."""

    def process(self, batch: Batch) -> tuple[list[Array], Metrics]:
        """coefficient × normalised bonus [T] of each chunk, and the bonus's metrics."""
        model = self._build(batch.spaces)
        places, members = self._places, list(runs_of(batch.chunks))
        if batch.replayed:
            # Sampled transitions: neighbours are no trajectory, and none continues in the next batch.
            places, members = EpisodePlaces(), [[index] for index, chunk in enumerate(batch.chunks) if len(chunk)]
        places.begin_batch()
        runs = [join([batch.chunks[index] for index in run]) for run in members]
        bonus = [np.zeros(len(run), np.float32) for run in runs]
        reported: list[tuple[Fragment, Metrics]] = []
        for fragment, columns in fragments_of(runs, places):
            result = model.process(fragment)
            reported.append((fragment, result.metrics))
            for column, (index, offset) in enumerate(columns):
                bonus[index][offset : offset + fragment.num_steps] = result.bonus[:, column]
        found = [np.zeros(len(chunk), np.float32) for chunk in batch.chunks]
        for run, values in zip(members, bonus, strict=True):
            ends = np.cumsum([len(batch.chunks[index]) for index in run])
            for index, part in zip(run, np.split(values, ends[:-1]), strict=True):
                found[index] = part
        return found, _mean(reported)

    def state_dict(self) -> dict[str, Any] | None:
        """Everything learnt and remembered; None before the first batch."""
        if self._model is None:
            return self._restored
        return {"model": self._model.state_dict(), "places": self._places.state_dict()}

    def load_state_dict(self, state: dict[str, Any] | None) -> None:
        """The inverse of `state_dict`."""
        self._restored = state
        if self._model is not None and state is not None:
            self._load(self._model, state)

    def _build(self, spaces: Spaces) -> IntrinsicModel:
        if self._model is None:
            model = IntrinsicModel(parse(self._options.expression), self._setting(spaces), **self._options.model)
            if self._restored is not None:
                self._load(model, self._restored)
            self._model = model
        return self._model

    def _setting(self, spaces: Spaces) -> Setting:
        options = self._options
        refusal = f"bonus '{options.expression}' learns from actions: {spaces.not_discrete}"
        build = {"network": options.network, "seed": options.seed, "device": options.device}
        return setting_for(spaces.observations, spaces.num_actions, refusal, **build)

    def _load(self, model: IntrinsicModel, state: dict[str, Any]) -> None:
        model.load_state_dict(state["model"])
        self._places.load_state_dict(state["places"])
        self._restored = None


def _mean(reported: Sequence[tuple[Fragment, Metrics]]) -> Metrics:
    """Metrics of several fragments: means over their steps, but the largest of maxima."""
    values: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for fragment, metrics in reported:
        for name, value in metrics.items():
            values[name].append((value, fragment.action.size))
    return {
        name: max(value for value, _ in found)
        if name.endswith("/max")
        else float(np.average([value for value, _ in found], weights=[steps for _, steps in found]))
        for name, found in values.items()
    }


@dataclass
class _Round:
    """The batches of all learners for one update."""

    batches: dict[int, Batch] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    bonus: dict[int, list[Array]] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=dict)
    error: Exception | None = None


class SharedChunkBonus:
    """One `ChunkBonus` for all learners of an algorithm, as a Ray actor.

    RLlib cuts chunks in two to give every learner equally many steps. An update is therefore computed when the batches
    of all learners are here: the parts of an episode are joined again, whichever learners have them.
    """

    def __init__(self, options: BonusOptions, num_learners: int) -> None:
        self._bonus = ChunkBonus(options)
        self._num_learners = num_learners
        self._calls: dict[int, int] = defaultdict(int)
        self._rounds: dict[int, _Round] = defaultdict(_Round)

    async def process(self, rank: int, batch: Batch) -> tuple[list[Array], Metrics]:
        """The bonus of one learner's chunks, once the other learners' are here."""
        number = self._calls[rank]
        self._calls[rank] += 1
        current = self._rounds[number]
        current.batches[rank] = batch
        if len(current.batches) == self._num_learners:
            del self._rounds[number]
            self._compute(current)
            current.done.set()
        await current.done.wait()
        if current.error is not None:
            raise current.error
        return current.bonus[rank], current.metrics

    def _compute(self, current: _Round) -> None:
        ranks = sorted(current.batches)
        batches = [current.batches[rank] for rank in ranks]
        chunks = [chunk for batch in batches for chunk in batch.chunks]
        try:
            found, current.metrics = self._bonus.process(Batch(batches[0].spaces, chunks, batches[0].replayed))
        except Exception as error:  # every learner has to hear of it
            current.error = error
            return
        for rank, batch in zip(ranks, batches, strict=True):
            current.bonus[rank], found = found[: len(batch.chunks)], found[len(batch.chunks) :]

    async def state_dict(self) -> dict[str, Any] | None:
        """Everything learnt and remembered."""
        return self._bonus.state_dict()

    async def load_state_dict(self, state: dict[str, Any] | None) -> None:
        """The inverse of `state_dict`."""
        self._bonus.load_state_dict(state)


class RemoteChunkBonus:
    """A learner's side of `SharedChunkBonus`. The learner of rank 0 owns the actor, which ends with it."""

    def __init__(self, options: BonusOptions) -> None:
        if options.device != "cpu":
            raise InvalidInput(f"device {options.device!r} cannot be used with several learners; allowed: cpu")
        self._rank = dist.get_rank()
        # RLlib's learners share a store. Collectives are not safe here: IMPALA's learners learn in another thread.
        store = dist.distributed_c10d._get_default_store()
        key = f"bonuslab/{options.expression}"
        if self._rank == 0:
            name = f"bonuslab-{uuid.uuid4().hex}"
            made = ray.remote(SharedChunkBonus).options(name=name, num_cpus=0, max_concurrency=1000)
            self._actor = made.remote(options, dist.get_world_size())
            store.set(key, name)
        else:
            self._actor = ray.get_actor(store.get(key).decode())

    def process(self, batch: Batch) -> tuple[list[Array], Metrics]:
        """The bonus of this learner's chunks."""
        return get_result(self._actor.process.remote(self._rank, batch))

    def state_dict(self) -> dict[str, Any] | None:
        """State of the actor."""
        return get_result(self._actor.state_dict.remote())

    def load_state_dict(self, state: dict[str, Any] | None) -> None:
        """The inverse of `state_dict`."""
        get_result(self._actor.load_state_dict.remote(state))


def make_bonus(options: BonusOptions) -> ChunkBonus | RemoteChunkBonus:
    """The bonus of this learner: shared if there are others."""
    several = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    return RemoteChunkBonus(options) if several else ChunkBonus(options)
