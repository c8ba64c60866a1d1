"""The driver's client of the shared bonus: queues batches and recovers if the actor dies."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import ray
from ray.exceptions import GetTimeoutError, ObjectLostError, RayActorError

from bonuslab.algorithms.rllib.remote import get_result
from bonuslab.algorithms.rllib.shared_bonus import SharedBonus

logger = logging.getLogger(__name__)
SNAPSHOT_INTERVAL = 20
"""Batches between snapshots of the actor; later batches are kept for replay."""
MAX_DEATHS = 3
"""How often in a row the actor may die without finishing a batch."""


@dataclass
class _Pending:
    """A batch in the actor's queue."""

    number: int
    fragments: list[ray.ObjectRef]
    rewards: ray.ObjectRef
    metrics: ray.ObjectRef


@dataclass
class _Snapshot:
    """A snapshot of the actor's state in progress."""

    submitted: int
    """It includes all batches with a smaller number."""
    state: ray.ObjectRef
    done: ray.ObjectRef
    """A small object that becomes available with the state, or holds the error."""


@dataclass
class Processed:
    """A batch ready for the learner."""

    parts: list[Any]
    """The fragments and their `RewardColumns`, or references to them."""
    metrics: dict[str, float]


class LocalBonus:
    """The shared bonus in this process (serial mode); a batch is ready once submitted."""

    def __init__(self, config: Any, observation_space: gym.Space, action_space: gym.Space) -> None:
        self._bonus = SharedBonus(config, observation_space, action_space)
        self._ready: deque[Processed] = deque()

    @property
    def depth(self) -> int:
        """Batches submitted but not taken."""
        return len(self._ready)

    def submit(self, fragments: list[Any]) -> None:
        """Process a batch."""
        rewards, metrics = self._bonus.process(*fragments)
        self._ready.append(Processed([*fragments, rewards], metrics))

    def take(self, timeout_seconds: float) -> list[Processed]:
        """All batches that are ready."""
        ready = list(self._ready)
        self._ready.clear()
        return ready

    def request_snapshot(self) -> None:
        """Nothing to copy: a crash of this process is a crash of the run."""

    def get_state(self) -> dict[str, Any]:
        """The bonus's state."""
        return self._bonus.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self._bonus.set_state(state)

    def close(self) -> None:
        """Nothing to stop."""


class RemoteBonus:
    """The shared bonus as a Ray actor.

    If the actor dies, a new one loads the last snapshot, replays the batches since then and processes those still in
    flight. Only fragments whose runner has died too are missing from its counts.
    """

    def __init__(self, config: Any, observation_space: gym.Space, action_space: gym.Space) -> None:
        self._config = config
        self._arguments = (config, observation_space, action_space)
        self._pending: deque[_Pending] = deque()
        self._journal: deque[_Pending] = deque()
        """Batches finished since the last snapshot."""
        self._snapshot: ray.ObjectRef | None = None
        self._next_snapshot: _Snapshot | None = None
        self._submitted = self._snapshot_requested = 0
        self._deaths_without_progress = 0
        self.restarts = 0
        self.lost_batches = 0
        self._start()

    @property
    def depth(self) -> int:
        """Batches submitted but not taken."""
        return len(self._pending)

    def submit(self, fragments: list[ray.ObjectRef]) -> None:
        """Queue a batch of references to fragments."""
        self._send(self._submitted, fragments)
        self._submitted += 1
        if self._submitted - self._snapshot_requested >= SNAPSHOT_INTERVAL:
            self.request_snapshot()

    def request_snapshot(self) -> None:
        """Copy the actor's state as soon as possible: after a runner's death its fragments cannot be replayed."""
        if self._next_snapshot is not None:
            self._snapshot_requested = self._submitted - SNAPSHOT_INTERVAL  # again, once the present one has arrived
            return
        # Calls run in order, so this snapshot includes exactly the batches submitted so far.
        state, done = self._actor.snapshot.options(num_returns=2).remote()
        self._next_snapshot = _Snapshot(self._submitted, state, done)
        self._snapshot_requested = self._submitted

    def take(self, timeout_seconds: float) -> list[Processed]:
        """Batches that are ready, oldest first; wait at most `timeout_seconds` for the first."""
        ready: list[Processed] = []
        while self._pending:
            oldest = self._pending[0]
            try:
                metrics = get_result(oldest.metrics, timeout=0 if ready else timeout_seconds)
            except GetTimeoutError:
                break
            except ObjectLostError as error:
                # Its runner died before the actor read the fragment.
                logger.warning("a fragment was lost with its runner: %s", type(error).__name__)
                self._pending.popleft()
                self.lost_batches += 1
                continue
            except RayActorError as error:
                self._recover(error)
                continue
            self._pending.popleft()
            self._journal.append(oldest)
            self._deaths_without_progress = 0
            ready.append(Processed([*oldest.fragments, oldest.rewards], metrics))
        self._trim_journal()
        return ready

    def get_state(self) -> dict[str, Any]:
        """The actor's state after everything submitted so far."""
        while True:
            try:
                return get_result(self._actor.get_state.remote())
            except RayActorError as error:
                self._recover(error)

    def set_state(self, state: dict[str, Any]) -> None:
        """Load a state into the actor; batches in flight are dropped."""
        self._journal.clear()
        self._pending.clear()
        self._next_snapshot = None
        self._snapshot = ray.put(state)
        try:
            get_result(self._actor.set_state.remote(self._snapshot))
        except RayActorError as error:
            self._recover(error)

    def close(self) -> None:
        """Stop the actor."""
        ray.kill(self._actor)

    def _start(self) -> None:
        self._actor = (
            ray.remote(SharedBonus)
            .options(num_cpus=self._config.num_cpus_for_bonus, num_gpus=self._config.num_gpus_for_bonus)
            .remote(*self._arguments, self._snapshot)
        )

    def _send(self, number: int, fragments: list[ray.ObjectRef]) -> None:
        rewards, metrics = self._actor.process.options(num_returns=2).remote(*fragments)
        self._pending.append(_Pending(number, fragments, rewards, metrics))

    def _recover(self, error: RayActorError) -> None:
        """Start a new actor from the last snapshot and the journal."""
        self._deaths_without_progress += 1
        if error.actor_init_failed or self._deaths_without_progress > MAX_DEATHS:
            raise RuntimeError(f"the bonus actor died and cannot be restarted: {error}") from error
        self.restarts += 1
        logger.warning("the bonus actor died; replaying %d batches since its last snapshot", len(self._journal))
        self._next_snapshot = None
        self.close()  # it may still be alive but unreachable
        self._start()
        for batch in self._journal:
            self._actor.process.options(num_returns=2).remote(*batch.fragments)
        in_flight, self._pending = self._pending, deque()
        for batch in in_flight:
            self._send(batch.number, batch.fragments)

    def _trim_journal(self) -> None:
        """Drop the batches that a finished snapshot includes."""
        snapshot = self._next_snapshot
        if snapshot is None or (self._pending and self._pending[0].number < snapshot.submitted):
            return
        if not ray.wait([snapshot.done], timeout=0)[0]:
            return
        self._next_snapshot = None
        try:
            get_result(snapshot.done)
        except RayActorError:
            return  # the actor died first; keep the old snapshot and the whole journal
        self._snapshot = snapshot.state
        while self._journal and self._journal[0].number < snapshot.submitted:
            self._journal.popleft()
