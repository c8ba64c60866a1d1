"""Fragments of the episode chunks that RLlib hands its learners.

A batch has chunks of any length and of any episodes, without an env index; for several learners RLlib cuts them again.
A fragment is rectangular. Padding would be counted and learnt, so chunks are cut into pieces whose lengths are powers
of two, the longest first: 37 steps are 32 + 4 + 1. Pieces of equal length form a fragment, and episodic memory carries
over from piece to piece as it does between fragments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.rllib.stock_chunks import Chunk
from bonuslab.envs.errors import InvalidInput

Array = np.ndarray


class WithoutLogits(Fragment):
    """A fragment of a policy whose logits are unknown: a bonus that reads them is refused."""

    @property
    def behaviour_logits(self) -> Array:
        """Unknown."""
        raise InvalidInput(
            "this bonus needs the policy's logits, which RLlib records only for stochastic policies with Discrete "
            "actions (PPO, APPO, IMPALA)"
        )

    @behaviour_logits.setter
    def behaviour_logits(self, value: Array) -> None:
        """Ignored."""


@dataclass(frozen=True)
class Place:
    """Where a running episode is remembered."""

    env_index: int
    number: int
    """The episode's, unique."""
    step: int
    """Steps of the episode so far."""
    sequence: int
    """Its pieces so far."""
    batch: int
    """Number of the batch that had its last chunk."""


class EpisodePlaces:
    """The env index of every running episode: episodic memory is kept by env index, which RLlib's episodes lack."""

    IDLE_BATCHES = 50
    """An episode that does not continue for so many batches never will: its runner died, or it was truncated, which
    looks like a cut once RLlib has added a step."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._free: list[int] = []
        self._ended: list[int] = []
        """Env indices that are free after this batch."""
        self._num_envs = self._numbers = self._batch = 0

    def __len__(self) -> int:
        return len(self._places)

    def begin_batch(self) -> None:
        """Forget episodes that do not continue."""
        self._batch += 1
        for name in [name for name, place in self._places.items() if self._batch - place.batch > self.IDLE_BATCHES]:
            self._ended.append(self._places.pop(name).env_index)
        self._free += self._ended
        self._ended = []

    def find(self, run: Chunk) -> Place:
        """The place of the episode before `run`; a fresh one unless its last steps end where `run` starts."""
        place = self._places.pop(run.episode, None)
        if place is None or place.step != run.start:
            if place is not None:
                self._ended.append(place.env_index)
            if not self._free:
                self._free.append(self._num_envs)
                self._num_envs += 1
            self._numbers += 1
            place = Place(self._free.pop(), self._numbers, run.start, 0, self._batch)
        if run.terminated or run.truncated:
            self._ended.append(place.env_index)
        else:
            sequence = place.sequence + len(run).bit_count()
            self._places[run.episode] = replace(place, step=run.stop, sequence=sequence, batch=self._batch)
        return place

    def state_dict(self) -> dict[str, Any]:
        """Everything."""
        return {name: value.copy() if isinstance(value, dict | list) else value for name, value in vars(self).items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        for name, value in state.items():
            setattr(self, name, value.copy() if isinstance(value, dict | list) else value)


def fragments_of(runs: Sequence[Chunk], places: EpisodePlaces) -> Iterator[tuple[Fragment, list[tuple[int, int]]]]:
    """Fragments of all steps of these chunks of different episodes, with (chunk, offset) of each column."""
    found = [places.find(run) for run in runs]
    for bit in reversed(range(max(map(len, runs), default=0).bit_length())):
        T = 1 << bit
        # A piece comes after the longer ones of its chunk.
        columns = [(index, len(run) & ~(2 * T - 1)) for index, run in enumerate(runs) if len(run) & T]
        if columns:
            joined = concat_envs([_column(runs[index], offset, T, found[index]) for index, offset in columns])
            known = joined.behaviour_logits.shape[-1] > 0
            yield joined if known else WithoutLogits(**vars(joined)), columns


def _column(chunk: Chunk, offset: int, T: int, place: Place) -> Fragment:
    """[T, 1]: one piece of a chunk."""
    stop = offset + T
    ends = stop == len(chunk) and (chunk.terminated or chunk.truncated)
    observations = {key: rows[offset : stop + 1, None] for key, rows in chunk.observations.items()}
    first = np.zeros((T + 1, 1), bool)
    first[0], first[T] = chunk.start + offset == 0, ends
    done = np.zeros((2, T, 1), bool)
    done[:, T - 1, 0] = (ends and chunk.terminated, ends and chunk.truncated)
    episode = np.full((T + 1, 1), place.number)
    episode[T] = -1 if ends else place.number
    logits = np.zeros((len(chunk), 0), np.float32) if chunk.logits is None else chunk.logits
    return Fragment(
        observations=observations,
        action=chunk.action[offset:stop, None],
        behaviour_logits=logits[offset:stop, None],
        reward=chunk.reward[offset:stop, None],
        first=first,
        terminated=done[0],
        truncated=done[1],
        episode=episode,
        context=np.zeros((T + 1, 1), np.int64),
        env_index=np.array([place.env_index]),
        sequence=np.array([place.sequence + offset.bit_count()]),
        # Row T holds it too: the next episode's first observation, which belongs there, is unknown and never used.
        finals={key: rows[T, : int(ends)] for key, rows in observations.items()},
        final_index=np.full((int(ends), 2), (T - 1, 0)),
    )


def runs_of(chunks: Sequence[Chunk]) -> Iterator[list[int]]:
    """Indices of chunks that follow each other in one episode; in the order in which episodes appear."""
    episodes: dict[str, list[int]] = {}
    for index, chunk in enumerate(chunks):
        if len(chunk):
            episodes.setdefault(chunk.episode, []).append(index)
    for members in episodes.values():
        run: list[int] = []
        for index in sorted(members, key=lambda index: chunks[index].start):
            if run and chunks[run[-1]].stop != chunks[index].start:
                yield run
                run = []
            run.append(index)
        yield run


def join(chunks: Sequence[Chunk]) -> Chunk:
    """One chunk of several that follow each other."""
    head, last = chunks[0], chunks[-1]
    if head is last:
        return head
    logits = [chunk.logits for chunk in chunks if chunk.logits is not None]
    return replace(
        last,
        start=head.start,
        observations={
            key: np.concatenate([*(chunk.observations[key][:-1] for chunk in chunks[:-1]), rows])
            for key, rows in last.observations.items()
        },
        action=np.concatenate([chunk.action for chunk in chunks]),
        logits=np.concatenate(logits) if logits else None,
        reward=np.concatenate([chunk.reward for chunk in chunks]),
    )
