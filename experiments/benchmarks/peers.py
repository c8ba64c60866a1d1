"""CPU time per environment step of training beside other trainers: Sample Factory, RLlib and a plain PyTorch loop.

    python experiments/speed.py peers [--quick] [--cache FOLDER]

The same MiniHack task without a bonus, the same network, number of envs, fragment length, epochs and minibatches.
All have our environments; peers have the network in PyTorch's own modules. Each side is a process of its own with one
thread; they take turns, and the CPU time of all their processes counts. Building is not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bonuslab.algorithms.impala.hyperparameters import LAPTOP
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.peer_environment import PeerUnavailableError, default_cache, peer_python
from bonuslab.experiments.benchmarks.peer_turns import Work
from bonuslab.experiments.benchmarks.timing import announce
from bonuslab.experiments.benchmarks.training import start_worker, train

TASK = "MultiRoom-N6-S5"
SEED = 1
WARM_UP = 2
"""Updates before the first turn."""
OURS = "ours"
FOLDER = Path(__file__).parent
PEERS: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "Sample Factory 2.1.1": ("peer_sample_factory.py", (), "sample-factory"),
    "RLlib's PPO": ("peer_rllib.py", ("PPO",), None),
    "RLlib's APPO": ("peer_rllib.py", ("APPO",), None),
    "RLlib's IMPALA": ("peer_rllib.py", ("IMPALA",), None),
    "plain PyTorch loop": ("peer_loop.py", (), None),
}
"""Script, arguments and environment of each."""


def laptop_work() -> Work:
    """What the `laptop` preset does."""
    values = LAPTOP.values
    assert values.clip_param is not None
    assert values.grad_clip is not None
    return Work(
        task=TASK,
        seed=SEED,
        num_envs=values.num_envs_per_env_runner,
        unroll=values.rollout_fragment_length,
        epochs=values.num_epochs,
        minibatches=values.num_minibatches,
        lr=values.lr,
        clip=values.clip_param,
        gamma=values.gamma,
        decay=values.lambda_,
        entropy=values.entropy_coeff,
        value=values.vf_loss_coeff,
        grad_clip=values.grad_clip,
    )


def run(quick: bool, cache: Path | None = None) -> list[Measurement]:
    """One row per peer that can be set up; the others are named with the reason."""
    turns, updates = (2, 2) if quick else (5, 10)
    with ExitStack() as stack:
        workers = {OURS: stack.enter_context(_ours())}
        for name in PEERS:
            announce(f"peers, {name}: starting")
            try:
                worker = stack.enter_context(_peer(name, cache or default_cache()))
                train(worker, WARM_UP)
                workers[name] = worker
            except PeerUnavailableError as error:
                print(error, file=sys.stderr, flush=True)
            except RuntimeError:
                print(f"{name} is left out: it ended before it had trained.", file=sys.stderr, flush=True)
        train(workers[OURS], WARM_UP)
        spent = take_turns({name: lambda each=each: train(each, updates)[:2] for name, each in workers.items()}, turns)  # type: ignore[misc]
    return [
        Measurement(f"training, {TASK}, no bonus; peer: {name}", spent[OURS], value, "CPU µs/step")
        for name, value in spent.items()
        if name != OURS
    ]


def take_turns(sides: dict[str, Callable[[], tuple[float, int]]], turns: int) -> dict[str, float]:
    """CPU µs per step of each side over all its turns; each call gives CPU seconds and steps."""
    seconds, steps = dict.fromkeys(sides, 0.0), dict.fromkeys(sides, 0)
    for turn in range(turns):
        announce(f"peers, turn {turn + 1} of {turns}")
        for name, call in sides.items():
            used, taken = call()
            seconds[name] += used
            steps[name] += taken
    return {name: 1e6 * seconds[name] / steps[name] for name in sides}


def _ours() -> Any:
    return start_worker({"task": TASK, "bonus": "none", "serial": True, "seed": SEED}, None)


def _peer(name: str, cache: Path) -> Any:
    script, arguments, environment = PEERS[name]
    python = sys.executable if environment is None else str(peer_python(environment, cache))
    return start_worker(asdict(laptop_work()), None, FOLDER / script, arguments, python)
