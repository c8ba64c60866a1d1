"""How a peer trains when asked: `training.train` sends a number of updates on a line and reads the answer."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any

from bonuslab.experiments.benchmarks.process_memory import tree_cpu_seconds


@dataclass(frozen=True)
class Work:
    """What every side does: the `laptop` preset's."""

    task: str
    seed: int
    num_envs: int
    unroll: int
    epochs: int
    minibatches: int
    lr: float
    clip: float
    gamma: float
    decay: float
    """λ of GAE."""
    entropy: float
    value: float
    """Weights in the loss."""
    grad_clip: float

    @property
    def batch_steps(self) -> int:
        """Environment steps per update."""
        return self.num_envs * self.unroll

    @property
    def minibatch_steps(self) -> int:
        """Environment steps per minibatch."""
        return self.batch_steps // self.minibatches


def work_from_command_line() -> tuple[Work, list[str]]:
    """The work that `training.start_worker` passes, and the arguments after it."""
    values: dict[str, Any] = json.loads(sys.argv[1])
    return Work(**values), sys.argv[2:]


class Turns:
    """Answers each input line with the CPU seconds of this process tree and the environment steps."""

    def __init__(self, batch_steps: int) -> None:
        self._batch_steps = batch_steps
        self._begin: tuple[float, int] | None = None
        self._end = 0

    def go_on(self, steps: int) -> bool:
        """Whether to train further; called after each update with all steps so far, it waits between turns."""
        if self._begin is not None:
            if steps < self._end:
                return True
            seconds, before = tree_cpu_seconds(os.getpid()) - self._begin[0], self._begin[1]
            print("answer", json.dumps([seconds, steps - before, None]), flush=True)
        line = sys.stdin.readline()
        if not line:
            return False
        self._begin = tree_cpu_seconds(os.getpid()), steps
        self._end = steps + int(line) * self._batch_steps
        return True
