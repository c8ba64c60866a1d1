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
