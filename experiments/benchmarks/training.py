"""Serial training: CPU time per environment step of this code beside that of an earlier revision.

    python experiments/speed.py training --against 54a96d8

Both train the same settings from the start in processes of their own, one thread each, and take turns. The earlier
revision comes from `git archive`; without one, only this code is measured.
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
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import announce

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("training_worker.py")
WARM_UP, TURN = 3, 10
"""Updates of 2,048 steps before the first turn, and per turn."""
END_SECONDS = 20
CASES: dict[str, dict[str, Any]] = {
    "MultiRoom-N8-S5, count": {"task": "MultiRoom-N8-S5", "bonus": "count.episodic(position)"},
    "MultiRoom-N8-S5, e3b * rnd": {"task": "MultiRoom-N8-S5", "bonus": "e3b * rnd"},
    "Freeze-Horn-Restricted, count": {"task": "Freeze-Horn-Restricted", "bonus": "count.episodic(position)"},
    "KeyRoom-S5, count": {"task": "KeyRoom-S5", "bonus": "count.episodic(message)"},
    "DD-PPO, Apartments-64, e3b": {"task": "Apartments-64", "bonus": "e3b", "algorithm": "ddppo"},
}


def run(quick: bool, against: str | None = None) -> list[Measurement]:
    """CPU µs per step of each case; `quick` measures the first with few updates."""
    turns = 3 if quick else 4
    rows = []
    with ExitStack() as stack:
        peer = None if against is None else stack.enter_context(checkout(against))
        for name, settings in list(CASES.items())[: 1 if quick else None]:
            announce(f"training, {name}")
            ours, theirs = _compare(settings | {"serial": True, "seed": 1}, peer, turns, 2 if quick else TURN)
            suffix = f"; peer: {against}" if against else ""
            rows.append(Measurement(f"serial training, {name}{suffix}", ours, theirs, "CPU µs/step"))
    return rows


def _compare(settings: dict[str, Any], peer: Path | None, turns: int, updates: int) -> tuple[float, float | None]:
    folders = [None] if peer is None else [None, peer]
    with ExitStack() as stack:
        workers = [stack.enter_context(start_worker(settings, folder)) for folder in folders]
        for worker in workers:
            train(worker, WARM_UP)
        seconds, steps = [0.0, 0.0], [0, 0]
        for _ in range(turns):
            for side, worker in enumerate(workers):
                used, taken, _won = train(worker, updates)
                seconds[side] += used
                steps[side] += taken
    each = [1e6 * seconds[side] / steps[side] for side in range(len(workers))]
    return each[0], each[1] if peer else None


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
