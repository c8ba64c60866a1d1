"""The examples run as they are, print returns and bonuses, and stay short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "experiments" / "examples"
ARGUMENTS = {
    "plain_loop.py": ["--steps", "12000"],
    "cleanrl_ppo.py": ["--steps", "1200", "--num-steps", "64", "--num-envs", "4"],
    "sb3_callback.py": ["--steps", "1000"],
    "rllib_ppo.py": ["--steps", "2048"],
}
LAST_LINE = re.compile(r"mean return (-?\d+\.\d+)  mean bonus (\d+\.\d+)$")


def run(name: str, *arguments: str) -> list[tuple[float, float]]:
    """(mean return, mean bonus) of every line that has them."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # RLlib's own deprecation warnings are not ours to prevent.
    assert name.startswith("rllib") or "Warning" not in done.stderr
    found = [LAST_LINE.search(line) for line in done.stdout.splitlines()]
    return [(float(match[1]), float(match[2])) for match in found if match]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_it_runs_alone(name: str) -> None:
    lines = run(name, *ARGUMENTS[name])
    assert lines
    assert all(bonus > 0 for _, bonus in lines)
    if name == "plain_loop.py":  # the bonus has led to the goal
        assert lines[-1][0] > 0.8


@pytest.mark.slow
def test_rllib_ppo_learns_only_with_the_bonus() -> None:
    """About a minute each; six rooms are too many for a policy that finds the goal by chance."""
    arguments = ("rllib_ppo.py", "--steps", "80000", "--bonus")
    assert run(*arguments, "count.episodic(agent_position)")[-1][0] > 0.4
    assert run(*arguments, "none")[-1] == (0.0, 0.0)


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ARGUMENTS)
