"""The driver's side of DD-PPO: who takes part, who is waited for, and what happens when one is lost.

The driver hosts the store at which workers meet, so that it outlives any of them. A round has two halves. While
workers collect they need nothing from each other; one that dies is missed by nobody. Learning is one long
conversation: if a worker dies in it, the others lose each other, and go on from the state of whoever came furthest.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import ray
import torch.distributed as dist
from ray.exceptions import RayActorError, RayError, RayTaskError

from bonuslab.algorithms.acting.runner import Failure
from bonuslab.algorithms.bonuses.reward.client import cause_of
from bonuslab.algorithms.ddppo.worker import Collected, DDPPOWorker, Learnt, Lost
from bonuslab.algorithms.learning.collectives import Rendezvous

logger = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
"""How long one look for finished work may wait."""
RETURN_PATIENCE_SECONDS = 60
"""How long all workers may be gone before training gives up."""
MOST_FAILURES = 3
"""How often in a row workers may lose each other without an update between."""
SNAPSHOT_INTERVAL = 20
"""Updates between two copies of the state that the driver keeps for the case that all workers die."""


class LocalWorker:
    """Serial mode: one worker in this process."""

    def __init__(self, worker: DDPPOWorker) -> None:
        self._worker = worker

    def warm_up(self) -> None:
        """Random play before training."""
        self._worker.warm_up()

    def collect(self) -> list[Collected]:
        """Play a rollout."""
        return [self._worker.collect()]

    def learn(self) -> list[Learnt]:
        """Learn from it."""
        return [self._worker.learn()]

    def state(self) -> dict[str, Any]:
        """The state of the learner and of the bonus."""
        return self._worker.replica_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `state`."""
        self._worker.learner.set_replica_state(state["learner"])
        self._worker.bonus.set_state(state["bonus"])


class RemoteWorkers:
    """All workers of a run, as Ray actors that may come and go."""

    def __init__(self, runners: Any, config: Any, env_steps: Callable[[], int]) -> None:
        self._runners = runners
        self._manager = runners._worker_manager
        self._config = config
        self._env_steps = env_steps
        self._host = ray.util.get_node_ip_address()
        self._store = dist.TCPStore(self._host, 0, is_master=True, wait_for_workers=False)
        self._members: list[int] = []
        """Workers of the group that is connected, in the order of their ranks; empty if none is."""
        self._behind: set[int] = set()
        """Workers that must take over another's state before they may learn."""
        self._furthest: int | None = None
        """The worker to take it from; None where all that are not behind agree."""
        self._ready: list[int] = []
        """Workers that have a rollout to learn from."""
        self._rounds = self._groups = self._updates = self._failures = 0
        self._snapshot: Any = None
        self._next_snapshot: Any = None

    def warm_up(self) -> None:
        """Random play by all workers, before training."""
        self._learn_together("warm_up", self._assemble())

    def collect(self) -> list[Collected]:
        """Rollouts of all workers; stragglers are stopped once the sync fraction of the workers is done."""
        members = self._assemble()
        self._rounds += 1
        signal = f"stop/{self._rounds}" if len(members) > 1 else None

        def preempt(done: int, alive: int) -> None:
            if signal is not None and done >= self._config.sync_fraction * alive:
                self._store.set(signal, "now")

        found = self._call(members, "collect", signal, watch=preempt)
        if signal is not None:
            self._store.delete_key(signal)
        if not found:
            self._fail("all died while they collected")
        self._ready = list(found)
        return list(found.values())

    def learn(self) -> list[Learnt]:
        """One update by all workers that have a rollout; nothing where workers lost each other in it."""
        if not self._ready:
            return []
        self._connect(self._ready)
        learnt = self._learn_together("learn", self._members)
        if learnt:
            self._failures = 0
            self._updates += 1
            self._take_snapshot(next(iter(learnt)))
        return list(learnt.values())

    def state(self) -> dict[str, Any]:
        """The state that all replicas share."""
        self._assemble()
        while True:
            found = self._call(self._members[:1], "replica_state")
            if found:
                return next(iter(found.values()))
            self._assemble()

    def set_state(self, state: dict[str, Any]) -> None:
        """Give every worker this state."""
        self._snapshot, self._next_snapshot = ray.put(state), None
        self._behind = set(self._manager.actor_ids())
        self._furthest = None

    def _assemble(self) -> list[int]:
        """Let back in who has returned, and connect all workers that are there."""
        if self._manager.num_healthy_actors() < self._manager.num_actors():
            self._behind |= set(self._runners.probe_unhealthy_env_runners())
        deadline = time.monotonic() + RETURN_PATIENCE_SECONDS
        while not self._manager.healthy_actor_ids():
            if time.monotonic() > deadline:
                raise RuntimeError(f"all workers died and none came back within {RETURN_PATIENCE_SECONDS} s")
            time.sleep(LOOK_SECONDS)
            self._behind |= set(self._runners.probe_unhealthy_env_runners())
        self._connect(self._manager.healthy_actor_ids())
        return self._members

    def _connect(self, workers: list[int]) -> None:
        """Make these workers, or those of them that still live, one group of equal replicas."""
        while True:
            alive = [worker for worker in workers if self._manager.is_actor_healthy(worker)]
            if not alive:
                self._members, self._ready = [], []
                self._fail("no worker is left")
                return
            if alive == self._members and not self._behind & set(alive):
                return
            self._members = []
            if self._catch_up(alive) and self._meet(alive):
                self._members = alive
                return

    def _learn_together(self, method: str, workers: list[int]) -> dict[int, Any]:
        """Call a method in which replicas talk to each other; the results of those that came to its end."""
        found = self._call(workers, method)
        finished = {worker: result for worker, result in found.items() if not isinstance(result, Lost)}
        if len(finished) < len(workers):
            self._members = []
        if len(finished) < len(found):
            self._part(found)
        return finished

    def _catch_up(self, workers: list[int]) -> bool:
        """Give the current state to those that are behind; false if a worker died over it."""
        behind = self._behind & set(workers)
        if not behind:
            return True
        ahead = [worker for worker in workers if worker not in behind]
        if ahead:
            source = self._furthest if self._furthest in ahead else ahead[0]
            found = self._call([source], "replica_state")
            if not found:
                return False
            state = ray.put(found[source])
        else:
            state = self._newest_snapshot()
        told = sorted(behind)
        if state is not None:
            told = list(self._call(told, "set_replica_state", state, self._env_steps()))
        self._behind -= set(told)
        return len(told) == len(behind)

    def _meet(self, workers: list[int]) -> bool:
        """Connect these workers; false if that failed because one of them died."""
        self._groups += 1
        rendezvous = {
            worker: Rendezvous(
                host=self._host,
                port=self._store.port,
                name=f"group/{self._groups}",
                rank=rank,
                size=len(workers),
                timeout_seconds=self._config.exchange_timeout_s,
            )
            for rank, worker in enumerate(workers)
        }
        found = self._call(workers, "join", rendezvous)
        lost = [result for result in found.values() if isinstance(result, Lost)]
        if lost:
            self._fail(lost[0].reason)
        return len(found) == len(workers) and not lost

    def _part(self, found: dict[int, Any]) -> None:
        """Remember who came furthest in an update that some did not finish."""
        # Who has come to the end is ahead of all.
        self._furthest = max(found, key=lambda worker: getattr(found[worker], "exchanges", math.inf))
        self._behind |= set(found) - {self._furthest}
        reason = next(result.reason for result in found.values() if isinstance(result, Lost))
        logger.warning("workers lost each other in an update and go on from worker %d: %s", self._furthest, reason)
        self._fail(reason)

    def _fail(self, reason: str) -> None:
        self._failures += 1
        if self._failures > MOST_FAILURES:
            raise RuntimeError(f"workers lost each other {self._failures} times without an update between: {reason}")

    def _call(
        self,
        workers: list[int],
        method: str,
        *arguments: Any,
        watch: Callable[[int, int], None] = lambda done, alive: None,
    ) -> dict[int, Any]:
        """Results by worker, of those that live, in the order of `workers`; what one raised is raised here.

        A dictionary among the arguments holds a value for each worker. `watch(done, alive)` is called whenever one
        has finished. `straggler_patience_s` after the first, the others count as dead, and are.
        """
        actors = self._manager.actors()
        pending = {
            getattr(actors[worker], method).remote(
                *(argument[worker] if isinstance(argument, dict) else argument for argument in arguments)
            ): worker
            for worker in workers
        }
        found: dict[int, Any] = {}
        dead: set[int] = set()
        deadline = math.inf
        while pending:
            ready, _ = ray.wait(list(pending), timeout=LOOK_SECONDS)
            for reference in ready:
                worker = pending.pop(reference)
                try:
                    found[worker] = self._result(reference)
                except RayActorError as error:
                    logger.warning("worker %d died and is left out until it returns: %s", worker, error)
                    self._leave_out(worker)
                    dead.add(worker)
            if found and ready:
                deadline = min(deadline, time.monotonic() + self._config.straggler_patience_s)
                watch(len(found), len(workers) - len(dead))
            if pending and time.monotonic() > deadline:
                for worker in pending.values():
                    logger.warning("worker %d did not finish `%s` in time and is restarted", worker, method)
                    ray.kill(actors[worker], no_restart=False)
                    self._leave_out(worker)
                break
        return {worker: found[worker] for worker in workers if worker in found}

    @staticmethod
    def _result(reference: ray.ObjectRef) -> Any:
        try:
            result = ray.get(reference)
        except RayTaskError as error:
            raise cause_of(error) from error
        if isinstance(result, Failure):
            result.raise_here()
        return result

    def _leave_out(self, worker: int) -> None:
        self._manager.set_actor_state(worker, healthy=False)

    def _take_snapshot(self, worker: int) -> None:
        """Ask a worker for a copy of its state now and then; the last one that arrived is kept."""
        if self._updates % SNAPSHOT_INTERVAL == 1:
            self._snapshot = self._newest_snapshot()
            self._next_snapshot = self._manager.actors()[worker].replica_state.remote()

    def _newest_snapshot(self) -> Any:
        """The newest copy that has arrived whole."""
        if self._next_snapshot is None or not ray.wait([self._next_snapshot], timeout=0)[0]:
            return self._snapshot
        try:
            whole = not isinstance(ray.get(self._next_snapshot), Lost | Failure)
        except RayError:
            whole = False  # it went with its worker
        return self._next_snapshot if whole else self._snapshot
