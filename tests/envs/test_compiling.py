"""Compiled functions from numba's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
import numpy as np
from bonuslab.envs.compiling import njit
before = len(sys.modules)

@njit(cache=True)
def total(rows):
    result = 0
    for x in rows:
        result += x
    return result

assert total(np.arange(4)) == 6
print(sum(total.stats.cache_hits.values()), len(sys.modules) > before)
if sys.argv[1:]:
    assert total(np.ones(3)) == 3.0  # another signature, which is not cached
"""


def test_a_cached_function_is_loaded_without_the_compiler(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CODE)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    answers = [
        subprocess.check_output([sys.executable, str(script), *words], text=True, env=environment)
        for words in ([], ["compile too"])
    ]
    assert answers == ["0 True\n", "1 False\n"]


CALLER = """
from pathlib import Path
from bonuslab.envs import compiling
compiling.PACKAGE = Path(__file__).parent
from bonuslab.envs.compiling import njit
from called import one

@njit(cache=True)
def two():
    return one() + one()

print(two(), sum(two.stats.cache_hits.values()))
"""
CALLED = "from bonuslab.envs.compiling import njit\n\n@njit\ndef one():\n    return {}\n"


def test_a_change_of_what_it_calls_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    answers = []
    for value in (1, 1, 5):
        (tmp_path / "called.py").write_text(CALLED.format(value))
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", "import caller"]  # numba caches functions of modules only
        answers.append(subprocess.check_output(command, text=True, env=environment))
    assert answers == ["2 0\n", "2 1\n", "10 0\n"]
