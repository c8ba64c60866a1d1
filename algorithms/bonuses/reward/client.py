"""The driver's side of the shared bonus: a queue in, a queue out, and recovery when the actor dies."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import ray
from ray.exceptions import GetTimeoutError, ObjectLostError, OwnerDiedError, RayActorError, RayTaskError

from bonuslab.algorithms.bonuses.reward.shared import SharedBonus

logger = logging.getLogger(__name__)
SNAPSHOT_INTERVAL = 20
"""Batches between two snapshots of the actor; the batches since then are kept to be replayed."""
MOST_DEATHS = 3
"""How often the actor may die without finishing a single batch before we give up."""
LOST = (OwnerDiedError, ObjectLostError)
"""How Ray says that an object went with the process that owned it."""


@dataclass
class _Pending:
    """A batch on its way through the actor."""

    number: int
    fragments: list[ray.ObjectRef]
    rewards: ray.ObjectRef
    metrics: ray.ObjectRef


@dataclass
class _Snapshot:
    """A copy of the actor's state that is being made."""

    submitted: int
    """It contains the batches with a smaller number."""
    state: ray.ObjectRef
    done: ray.ObjectRef
    """A small value that arrives with the state, or the error that came in its place."""


@dataclass
class Processed:
    """A batch that is ready to be learnt from."""

    parts: list[Any]
    """The fragments and their `RewardColumns`, or references to them."""
    metrics: dict[str, float]


class LocalBonus:
    """The shared bonus in this process (serial mode): a batch is ready as soon as it is submitted."""

    def __init__(self, config: Any, observation_space: gym.Space, action_space: gym.Space) -> None:
        self._bonus = SharedBonus(config, observation_space, action_space)
        self._ready: deque[Processed] = deque()

    @property
    def depth(self) -> int:
        """Batches that were submitted and not taken."""
        return len(self._ready)

    def submit(self, fragments: list[Any]) -> None:
        """Process now."""
        rewards, metrics = self._bonus.process(*fragments)
        self._ready.append(Processed([*fragments, rewards], metrics))

    def take(self, timeout_seconds: float) -> list[Processed]:
        """Everything that is ready."""
        ready = list(self._ready)
        self._ready.clear()
        return ready

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

    If the actor dies, a new one starts from the last snapshot, replays the batches since then, and goes on with those
    that were on their way: the counts lose at most fragments whose runner died as well.
    """

    def __init__(self, config: Any, observation_space: gym.Space, action_space: gym.Space) -> None:
        self._config = config
        self._arguments = (config, observation_space, action_space)
        self._pending: deque[_Pending] = deque()
        self._journal: deque[_Pending] = deque()
        """Batches that came out since the last snapshot."""
        self._snapshot: ray.ObjectRef | None = None
        self._next_snapshot: _Snapshot | None = None
        self._submitted = self._snapshot_asked = 0
        self._deaths_without_progress = 0
        self.restarts = 0
        self.lost_batches = 0
        self._start()

    @property
    def depth(self) -> int:
        """Batches that were submitted and not taken."""
        return len(self._pending)

    def submit(self, fragments: list[ray.ObjectRef]) -> None:
        """Send references to fragments through the actor."""
        self._send(self._submitted, fragments)
        self._submitted += 1
        if self._next_snapshot is None and self._submitted - self._snapshot_asked >= SNAPSHOT_INTERVAL:
            # Calls run in order, so this snapshot holds exactly the batches submitted so far.
            state, done = self._actor.snapshot.options(num_returns=2).remote()
            self._next_snapshot = _Snapshot(self._submitted, state, done)
            self._snapshot_asked = self._submitted

    def take(self, timeout_seconds: float) -> list[Processed]:
        """The batches that are ready, oldest first, waiting at most `timeout_seconds` for the first."""
        ready: list[Processed] = []
        while self._pending:
            oldest = self._pending[0]
            try:
                metrics = ray.get(oldest.metrics, timeout=0 if ready else timeout_seconds)
            except GetTimeoutError:
                break
            except LOST as error:
                # The runner that owned the fragment died before the actor had read it.
                logger.warning("a fragment was lost with its runner: %s", type(error).__name__)
                self._pending.popleft()
                self.lost_batches += 1
                continue
            except RayTaskError as error:
                raise cause_of(error) from error
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
                return ray.get(self._actor.get_state.remote())
            except RayTaskError as error:
                raise cause_of(error) from error
            except RayActorError as error:
                self._recover(error)

    def set_state(self, state: dict[str, Any]) -> None:
        """Give the actor a state; what was on its way before no longer counts."""
        self._journal.clear()
        self._pending.clear()
        self._next_snapshot = None
        self._snapshot = ray.put(state)
        try:
            ray.get(self._actor.set_state.remote(self._snapshot))
        except RayTaskError as error:
            raise cause_of(error) from error
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
        """Start a new actor where the dead one's last snapshot and the journal say it was."""
        self._deaths_without_progress += 1
        if error.actor_init_failed or self._deaths_without_progress > MOST_DEATHS:
            raise RuntimeError(f"the bonus actor died and cannot be brought back: {error}") from error
        self.restarts += 1
        logger.warning("the bonus actor died; replaying %d batches since its last snapshot", len(self._journal))
        self._next_snapshot = None
        self.close()  # it may only have been out of reach
        self._start()
        for item in self._journal:
            self._actor.process.options(num_returns=2).remote(*item.fragments)
        waiting, self._pending = self._pending, deque()
        for item in waiting:
            self._send(item.number, item.fragments)

    def _trim_journal(self) -> None:
        """Forget the batches that the newest finished snapshot contains."""
        snapshot = self._next_snapshot
        if snapshot is None or (self._pending and self._pending[0].number < snapshot.submitted):
            return
        if not ray.wait([snapshot.done], timeout=0)[0]:
            return
        self._next_snapshot = None
        try:
            ray.get(snapshot.done)
        except RayTaskError as error:
            raise cause_of(error) from error
        except RayActorError:
            return  # the actor died before; the old snapshot and the whole journal stay good
        self._snapshot = snapshot.state
        while self._journal and self._journal[0].number < snapshot.submitted:
            self._journal.popleft()


def cause_of(error: RayTaskError) -> BaseException:
    """What was raised in the other process, with its own type and message where it could be carried over."""
    cause = error.cause
    return cause if isinstance(cause, Exception) else error.as_instanceof_cause()
