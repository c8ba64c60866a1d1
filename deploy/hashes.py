"""Writes deploy/hashes.txt: the packages of the images with the hash of each file, for `pip install --require-hashes`.

    python deploy/hashes.py        # on Linux x86-64 with Python 3.11, from pip's package index

Packages are those that pip would install for `.[all,aws]` under constraints.txt. PyTorch comes with other files for
machines with and without GPUs (`torch==2.13.0` and `2.13.0+cpu`); a local build has no hash that others could check, so
it is left out and named.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "deploy" / "hashes.txt"
EXTRAS = "all,aws"
HEAD = f"""\
# Written by deploy/hashes.py for Linux x86-64 and Python 3.11: the files of `.[{EXTRAS}]` under constraints.txt.
"""


def resolved() -> list[dict[str, Any]]:
    """What pip would install into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--report", str(report), "-c", str(ROOT / "constraints.txt"), f"{ROOT}[{EXTRAS}]"]
        subprocess.run(command, check=True)
        return json.loads(report.read_text())["install"]


def lines(packages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """A line for each package, and the names of those without a public file."""
    hashed, left_out = [], []
    for package in packages:
        name, version = package["metadata"]["name"], package["metadata"]["version"]
        digest = package["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if name == "bonuslab":
            continue
        if digest is None or "+" in version:
            left_out.append(f"{name}=={version}")
        else:
            hashed.append(f"{name}=={version} --hash=sha256:{digest}")
    return sorted(hashed, key=str.lower), sorted(left_out)


def text(packages: list[dict[str, Any]]) -> str:
    """The whole file."""
    hashed, left_out = lines(packages)
    note = f"# Without a public file where this was written, hence installed by version only: {', '.join(left_out)}.\n"
    return "\n".join([HEAD + (note if left_out else ""), *hashed, ""])


if __name__ == "__main__":
    FILE.write_text(text(resolved()))
    print(f"wrote {FILE}")
