"""Serial training: CPU time per environment step and peak memory of this code beside an earlier revision's.

    python experiments/speed.py training --against 54a96d8

Both train the same settings from the start in processes of their own, one thread each, and take turns: the network and
hyperparameters of that revision's `laptop` preset, and once those of the present one. The earlier revision comes from
`git archive`; without one, only this code is measured.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.process_memory import peak_mb
from bonuslab.experiments.benchmarks.timing import announce

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("training_worker.py")
END_SECONDS = 20
BEFORE = {"network": "small", "lr": 1e-3, "num_minibatches": 4, "clip_param": 0.2}
"""What the `laptop` preset of 54a96d8 has and the present one has not."""


@dataclass(frozen=True)
class Case:
    """A run that both sides train."""

    settings: dict[str, Any]
    """Fields of `Config`."""
    before: dict[str, Any] = field(default_factory=dict)
    """What replaces them before version 0.2."""
    updates: int = 10
    """Updates per turn."""
    warm_up: int = 3
    """Updates before the first turn."""

    def of_seed(self, seed: int) -> dict[str, Any]:
        """What the worker reads."""
        return self.settings | {"serial": True, "seed": seed, "before": self.before}


def same_network(task: str, bonus: str) -> Case:
    """The `laptop` preset of 54a96d8 on both sides."""
    return Case({"task": task, "bonus": bonus, "preset": "laptop", "hyperparameters": BEFORE})


_COUNT = "count.episodic(position)"
CASES = {
    "preset, MultiRoom-N8-S5, count": Case({"task": "MultiRoom-N8-S5", "bonus": _COUNT}),
    "MultiRoom-N8-S5, count": same_network("MultiRoom-N8-S5", _COUNT),
    "MultiRoom-N8-S5, e3b * rnd": same_network("MultiRoom-N8-S5", "e3b * rnd"),
    "Freeze-Horn-Restricted, count": same_network("Freeze-Horn-Restricted", _COUNT),
    "KeyRoom-S5, count": same_network("KeyRoom-S5", "count.episodic(message)"),
}
QUICK_CASES = 2
"""`--quick` measures the first ones."""


def run(case: str, quick: bool, against: str | None = None) -> list[Measurement]:
    """CPU µs per step and peak memory; `quick` makes few updates."""
    return compare(case, CASES[case], quick, against)


def compare(name: str, case: Case, quick: bool, against: str | None) -> list[Measurement]:
    """One case beside the revision, if there is one."""
    announce(f"training, {name}")
    with ExitStack() as stack:
        peer = None if against is None else stack.enter_context(checkout(against))
        ours, *theirs = _compare(case, peer, turns=3 if quick else 4, updates=2 if quick else case.updates)
    suffix = f"; peer: {against}" if against else ""
    return [
        Measurement(f"{what}, {name}{suffix}", ours[place], theirs[0][place] if theirs else None, unit)
        for what, unit, place in (("serial training", "CPU µs/step", 0), ("peak memory", "MB", 1))
    ]


def _compare(case: Case, peer: Path | None, turns: int, updates: int) -> list[tuple[float, float]]:
    """CPU µs per step and peak memory of each side."""
    folders = [None] if peer is None else [None, peer]
    with ExitStack() as stack:
        workers = [stack.enter_context(start_worker(case.of_seed(1), folder)) for folder in folders]
        for worker in workers:
            train(worker, case.warm_up)
        seconds, steps = [0.0, 0.0], [0, 0]
        for _ in range(turns):
            each = []
            for side, worker in enumerate(workers):
                used, taken, _won = train(worker, updates)
                seconds[side] += used
                steps[side] += taken
                each.append(1e6 * used / taken)
            announce("  " + " / ".join(f"{value:,.0f}" for value in each) + " µs per step")
        return [(1e6 * seconds[side] / steps[side], peak_mb(worker.pid)) for side, worker in enumerate(workers)]


def train(worker: subprocess.Popen[str], updates: int) -> tuple[float, int, float | None]:
    """CPU seconds and environment steps of some updates, and the share of recent episodes won."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    print(updates, file=worker.stdin, flush=True)
    for line in worker.stdout:
        if line.startswith("answer "):
            seconds, steps, won = json.loads(line.removeprefix("answer "))
            return seconds, steps, won
    raise RuntimeError(f"the benchmark's worker ended with status {worker.wait()}; its messages are above")


@contextmanager
def start_worker(
    settings: dict[str, Any],
    folder: Path | None,
    script: Path = WORKER,
    arguments: Sequence[str] = (),
    python: str = sys.executable,
) -> Iterator[subprocess.Popen[str]]:
    """A process that trains when asked, with this code or with that of a `checkout`."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", **({"PYTHONPATH": str(folder)} if folder else {})}
    # A script's folder comes first on the path; -P leaves it out, so that only the package of the revision is found.
    command = [python, "-P", str(script), json.dumps(settings), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tempfile.gettempdir()
    ) as process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Without input a worker ends by itself, and Ray with it; one that is busy is killed."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def require_revision(revision: str) -> None:
    """Refuse a revision that cannot be checked out."""
    known = ["git", "-C", str(ROOT), "cat-file", "-e", f"{revision}^{{commit}}"]
    if subprocess.run(known, capture_output=True).returncode:
        raise InvalidInput(f"git knows no revision {revision!r} here")


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A folder from which `import bonuslab` gets the code of a revision."""
    require_revision(revision)
    answer = subprocess.run(["git", "-C", ROOT, "archive", revision], capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "bonuslab"
        package.mkdir()
        with tarfile.open(fileobj=io.BytesIO(answer.stdout)) as archive:
            archive.extractall(package, filter="data")
        inner = package / "platform" / "bonuslab" / "__init__.py"
        (package / "__init__.py").write_text(inner.read_text() if inner.exists() else "")
        yield Path(folder)
