"""The on-disk cache of compiled code."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bonuslab.envs.habitat import compiled

PROGRAM = """
from compiled import compiled
from width import WIDTH

@compiled
def area(height):
    return WIDTH * height

print(area(3), sum(area.stats.cache_hits.values()))
"""


def test_cache_is_valid_until_any_source_changes(tmp_path: Path) -> None:
    shutil.copy(compiled.__file__, tmp_path / "compiled.py")
    (tmp_path / "area.py").write_text(PROGRAM)

    def area(width: int) -> str:
        (tmp_path / "width.py").write_text(f"WIDTH = {width}\n")
        command = [sys.executable, str(tmp_path / "area.py")]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.strip()

    assert area(2) == "6 0"
    assert area(2) == "6 1"  # cached
    assert area(5) == "15 0"
