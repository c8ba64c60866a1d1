"""An environment folder of its own for a peer whose requirements contradict ours.

It has the peer's packages first and ours behind them, so that both sides run the same PyTorch and NetHack. Packages
come from wherever the user's pip gets them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

REQUIREMENTS = {
    # setuptools: minihack imports pkg_resources, which setuptools 81 removed. wandb: the versions of its time.
    "sample-factory": ("sample-factory==2.1.1", "wandb<0.20", "setuptools<81"),
}
READY = "bonuslab-ready.txt"
"""Written last, with the requirements."""


class PeerUnavailableError(RuntimeError):
    """A peer that cannot be set up here; the message is one sentence."""


def default_cache() -> Path:
    """Where peers are installed unless the user names another folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bonuslab" / "peers"


def peer_python(peer: str, cache: Path) -> Path:
    """The Python of a peer's environment, which is created if it is not there or incomplete."""
    folder = cache / peer
    python, wanted = folder / "bin" / "python", "\n".join((*REQUIREMENTS[peer], *_our_packages()))
    if (folder / READY).exists() and (folder / READY).read_text() == wanted:
        return python
    print(f"installing {peer} into {folder}", file=sys.stderr, flush=True)
    try:
        venv.create(folder, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PeerUnavailableError(
            f"{peer} is left out: no environment could be created in {folder} ({error})."
        ) from error
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "bonuslab_behind.pth").write_text(
        "".join(f"import site; site.addsitedir({place!r})\n" for place in _our_packages())
    )
    # pip leaves packages outside the environment alone, even where it installs another version.
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    done = subprocess.run([*command, *REQUIREMENTS[peer]], capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (errors or ["pip failed"])[-1].removeprefix("ERROR: ").rstrip(".")
        raise PeerUnavailableError(f"{peer} is left out: it could not be installed ({reason}).")
    (folder / READY).write_text(wanted)
    return python


def _our_packages() -> list[str]:
    return sorted({sysconfig.get_path(kind) for kind in ("purelib", "platlib")})
