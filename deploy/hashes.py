"""Writes deploy/hashes.txt: the packages of the images with the hash of each file, for `pip install --require-hashes`.

    python deploy/hashes.py        # on Linux x86-64 with Python 3.11; downloads 3 GB

Packages are those that pip would install for `.[all,aws]` under constraints.txt, with PyTorch's CUDA libraries. They
come from pip's package index alone: this machine may prefer local builds, whose hashes nobody else could check.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "deploy" / "hashes.txt"
EXTRAS = "all,aws"
LOCAL = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL")
"""Where pip is told to look besides its index."""
HEAD = f"""\
# Written by deploy/hashes.py for Linux x86-64 and Python 3.11: the files of `.[{EXTRAS}]` under constraints.txt.
"""


def resolved() -> list[dict[str, Any]]:
    """What pip would install into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--report", str(report), "-c", str(ROOT / "constraints.txt"), f"{ROOT}[{EXTRAS}]"]
        environment = {name: value for name, value in os.environ.items() if name not in LOCAL}
        subprocess.run(command, check=True, env=environment | {"PIP_CONFIG_FILE": os.devnull})
        return json.loads(report.read_text())["install"]


def text(packages: list[dict[str, Any]]) -> str:
    """The whole file: a line for each package but our own."""
    lines = []
    for package in packages:
        name, version = package["metadata"]["name"], package["metadata"]["version"]
        if name != "bonuslab":
            digest = package["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name}=={version} --hash=sha256:{digest}")
    return "\n".join([HEAD, *sorted(lines, key=str.lower), ""])


if __name__ == "__main__":
    FILE.write_text(text(resolved()))
    print(f"wrote {FILE}")
