"""The driver's side of DD-PPO: group membership, preemption and recovery.

The driver hosts the rendezvous store, so the store outlives any worker. While collecting, workers are independent; if
one dies, the others continue. Learning is a sequence of collectives: if a worker dies, the others lose contact, and
resume from the state of the most advanced one.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import ray
import torch.distributed as dist
from ray.exceptions import RayActorError, RayError

from bonuslab.algorithms.acting.runner import Failure
from bonuslab.algorithms.ddppo.worker import Collected, DDPPOWorker, Learnt, Lost, Restarted, quorum
from bonuslab.algorithms.learning.collectives import Rendezvous
from bonuslab.algorithms.rllib.remote import get_result

logger = logging.getLogger(__name__)
POLL_SECONDS = 1.0
"""Timeout of each poll for finished work."""
RECOVERY_TIMEOUT_SECONDS = 60
"""How long to wait for a worker to recover if all have died."""
MAX_FAILURES = 3
"""How often in a row workers may lose contact without an update."""
SNAPSHOT_INTERVAL = 20
"""Updates between snapshots of the state, from which training resumes if all workers die."""


class LocalWorker:
    """One worker in this process (serial mode)."""

    def __init__(self, worker: DDPPOWorker) -> None:
        self._worker = worker

    def warm_up(self) -> None:
        """Initialise observation normalisers with random rollouts."""
        self._worker.warm_up()

    def collect(self) -> list[Collected]:
        """Collect a rollout."""
        return [self._worker.collect()]

    def learn(self, env_steps: int) -> list[Learnt]:
        """Update on the rollout."""
        return [self._worker.learn(env_steps)]

    def state(self) -> dict[str, Any]:
        """State of the learner and the bonus."""
        return self._worker.replica_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `state`."""
        self._worker.learner.set_replica_state(state["learner"])
        self._worker.bonus.set_state(state["bonus"])


class RemoteWorkers:
    """All workers of a run, as Ray actors that may die and recover."""

    def __init__(self, runners: Any, config: Any, env_steps: Callable[[], int]) -> None:
        self._runners = runners
        self._manager = runners._worker_manager
        self._config = config
        self._env_steps = env_steps
        self._host = ray.util.get_node_ip_address()
        self._store = dist.TCPStore(self._host, 0, is_master=True, wait_for_workers=False)
        self._members: list[int] = []
        """Workers of the connected group in order of rank; empty if there is none."""
        self._stale = set(self._manager.actor_ids())
        """Workers that must copy another's state before they may do anything else."""
        self._most_advanced: int | None = None
        """The worker to copy from; None: any worker that is not stale."""
        self._ready: list[int] = []
        """Workers with a rollout to learn from."""
        self._rounds = self._groups = self._updates = self._failures = 0
        self._snapshot: Any = None
        self._next_snapshot: Any = None

    def warm_up(self) -> None:
        """Initialise observation normalisers on all workers with random rollouts."""
        self._call_collective("warm_up", self._assemble())

    def collect(self) -> list[Collected]:
        """Collect rollouts; stragglers stop once `sync_fraction` of the workers have a full one."""
        members = self._assemble()
        self._rounds += 1
        finishers = f"finishers/{self._rounds}"

        def excuse(dead: int) -> None:
            """Fewer workers need fewer finishers; the workers do not know that one more has died."""
            needed = [quorum(self._config.sync_fraction, len(members) - lost) for lost in (dead - 1, dead)]
            self._store.add(finishers, needed[0] - needed[1])

        found = self._call(members, "collect", finishers if len(members) > 1 else None, on_death=excuse)
        self._store.delete_key(finishers)
        if not found:
            self._count_failure(f"all died while collecting; {self._advice}")
        self._ready = list(found)
        return list(found.values())

    def learn(self, env_steps: int) -> list[Learnt]:
        """One update by all workers that have a rollout; empty if they lost contact."""
        if not self._ready:
            return []
        self._connect(self._ready)
        learnt = self._call_collective("learn", self._members, env_steps)
        if learnt:
            self._failures = 0
            self._updates += 1
            self._take_snapshot(next(iter(learnt)))
        return list(learnt.values())

    def state(self) -> dict[str, Any]:
        """The replicas' state."""
        while True:
            found = self._call(self._assemble()[:1], "replica_state")
            if found:
                return next(iter(found.values()))

    def set_state(self, state: dict[str, Any]) -> None:
        """Set the state of all workers."""
        self._snapshot, self._next_snapshot = ray.put(state), None
        self._stale = set(self._manager.actor_ids())
        self._most_advanced = None

    @property
    def _advice(self) -> str:
        return f"if {self._config.env} ended their process, serial mode shows where; see also Ray's logs"

    def _assemble(self) -> list[int]:
        """Readmit recovered workers, and connect all healthy ones."""
        if self._manager.num_healthy_actors() < self._manager.num_actors():
            self._stale |= set(self._runners.probe_unhealthy_env_runners())
        deadline = time.monotonic() + RECOVERY_TIMEOUT_SECONDS
        while not self._manager.healthy_actor_ids():
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"all workers died and none recovered within {RECOVERY_TIMEOUT_SECONDS} s; {self._advice}"
                )
            time.sleep(POLL_SECONDS)
            self._stale |= set(self._runners.probe_unhealthy_env_runners())
        self._connect(self._manager.healthy_actor_ids())
        return self._members

    def _connect(self, workers: list[int]) -> None:
        """Form one group of identical replicas from those of these workers that are alive."""
        while True:
            alive = [worker for worker in workers if self._manager.is_actor_healthy(worker)]
            if not alive:
                self._members, self._ready = [], []
                self._count_failure("no worker is left")
                return
            if alive == self._members and not self._stale & set(alive):
                return
            self._members = []
            if self._catch_up(alive) and self._join(alive):
                self._members = alive
                return

    def _call_collective(self, method: str, workers: list[int], *arguments: Any) -> dict[int, Any]:
        """Call a method that uses collectives; results of the workers that finished it."""
        found = self._call(workers, method, *arguments)
        finished = {worker: result for worker, result in found.items() if not isinstance(result, Lost)}
        if len(finished) < len(workers):
            self._members = []
        if len(finished) < len(found):
            self._handle_disconnect(found)
        return finished

    def _catch_up(self, workers: list[int]) -> bool:
        """Copy the current state to stale workers; False if a worker died meanwhile."""
        stale = self._stale & set(workers)
        if not stale:
            return True
        current = [worker for worker in workers if worker not in stale]
        if current:
            source = self._most_advanced if self._most_advanced in current else current[0]
            found = self._call([source], "replica_state")
            if not found:
                return False
            state = ray.put(found[source])
        else:
            state = self._newest_snapshot()
        updated = list(self._call(sorted(stale), "set_replica_state", state, self._env_steps()))
        self._stale -= set(updated)
        return len(updated) == len(stale)

    def _join(self, workers: list[int]) -> bool:
        """Connect these workers; False if one of them died."""
        self._groups += 1
        rendezvous = {
            worker: Rendezvous(
                host=self._host,
                port=self._store.port,
                name=f"group/{self._groups}",
                rank=rank,
                size=len(workers),
                timeout_seconds=self._config.collective_timeout_s,
            )
            for rank, worker in enumerate(workers)
        }
        found = self._call(workers, "join", rendezvous)
        lost = [result for result in found.values() if isinstance(result, Lost)]
        if lost:
            self._count_failure(lost[0].reason)
        return len(found) == len(workers) and not lost

    def _handle_disconnect(self, found: dict[int, Any]) -> None:
        """After an aborted update, keep the state of the most advanced worker; one that finished is ahead of all."""
        self._most_advanced = max(found, key=lambda worker: getattr(found[worker], "exchanges", math.inf))
        self._stale |= set(found) - {self._most_advanced}
        reason = next(result.reason for result in found.values() if isinstance(result, Lost))
        logger.warning("workers lost contact in an update; resuming from worker %d: %s", self._most_advanced, reason)
        self._count_failure(reason)

    def _count_failure(self, reason: str) -> None:
        self._failures += 1
        if self._failures > MAX_FAILURES:
            raise RuntimeError(f"workers lost contact {self._failures} times in a row without an update: {reason}")

    def _call(
        self,
        workers: list[int],
        method: str,
        *arguments: Any,
        on_death: Callable[[int], None] = lambda dead: None,
    ) -> dict[int, Any]:
        """Call a method on workers; results of those that survive, in the order of `workers`. Errors are raised here.

        A dict argument has one value per worker. `on_death` is told after each death how many have died. Workers that
        take `straggler_timeout_s` longer than the first are restarted.
        """
        actors = self._manager.actors()
        pending = {
            getattr(actors[worker], method).remote(
                *(argument[worker] if isinstance(argument, dict) else argument for argument in arguments)
            ): worker
            for worker in workers
        }
        found: dict[int, Any] = {}
        dead = 0
        deadline = math.inf
        while pending:
            ready, _ = ray.wait(list(pending), timeout=POLL_SECONDS)
            for reference in ready:
                worker = pending.pop(reference)
                try:
                    result = self._result(reference)
                except RayActorError as error:
                    result = error
                if isinstance(result, RayActorError | Restarted):
                    logger.warning("worker %d died and is excluded until it recovers: %s", worker, result)
                    self._mark_unhealthy(worker)
                    dead += 1
                    on_death(dead)
                else:
                    found[worker] = result
            if found and ready:
                deadline = min(deadline, time.monotonic() + self._config.straggler_timeout_s)
            if pending and time.monotonic() > deadline:
                for worker in pending.values():
                    logger.warning("worker %d timed out in `%s` and is restarted", worker, method)
                    ray.kill(actors[worker], no_restart=False)
                    self._mark_unhealthy(worker)
                break
        return {worker: found[worker] for worker in workers if worker in found}

    @staticmethod
    def _result(reference: ray.ObjectRef) -> Any:
        result = get_result(reference)
        if isinstance(result, Failure):
            result.raise_here()
        return result

    def _mark_unhealthy(self, worker: int) -> None:
        self._manager.set_actor_state(worker, healthy=False)

    def _take_snapshot(self, worker: int) -> None:
        """Request a worker's state every `SNAPSHOT_INTERVAL` updates."""
        if self._updates % SNAPSHOT_INTERVAL == 1:
            self._snapshot = self._newest_snapshot()
            self._next_snapshot = self._manager.actors()[worker].replica_state.remote()

    def _newest_snapshot(self) -> Any:
        """The newest complete snapshot."""
        if self._next_snapshot is None or not ray.wait([self._next_snapshot], timeout=0)[0]:
            return self._snapshot
        try:
            complete = not isinstance(ray.get(self._next_snapshot), Lost | Failure | Restarted)
        except RayError:
            complete = False  # lost with its worker
        return self._next_snapshot if complete else self._snapshot
