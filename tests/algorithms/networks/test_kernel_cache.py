"""Compiled loops give the same bits whether this process compiles them or reads them from numba's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DIGEST = """
import hashlib
from bonuslab.platform.run.config import Config

config = Config("MultiRoom-N2-S4", serial=True, seed=3)
algorithm = config.rllib().reporting(min_time_s_per_iteration=0).build_algo()
for _ in range(3):
    algorithm.train()
weights = algorithm.learner_group.get_weights()["default_policy"]
print(hashlib.sha256(b"".join(weights[name].tobytes() for name in sorted(weights))).hexdigest())
"""


@pytest.mark.slow
def test_compiled_now_or_before(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", DIGEST]
    outputs = [
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc")), "nothing was compiled"
    assert outputs[0] == outputs[1]
