"""Which files this user wrote: a keyed signature tells them from files that came from elsewhere.

Loading user code runs it, so a checkpoint or run from somebody else must not be able to bring its own. What we write is
signed with a secret key of this user, which lies outside all runs; nobody else can make a signature that fits.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput

KEY_BYTES = 32
_received: list[bytes] = []
"""The key of the grid that this process works for, if it came from another machine."""


def key_file() -> Path:
    """Where the user's key is."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "bonuslab" / "key"


def key() -> bytes:
    """The key, made at first use; where it cannot be kept, it lasts as long as this process."""
    return _received[-1] if _received else _key_in(key_file())


def use_key(received: bytes) -> None:
    """Use another machine's key from now on: the trials of a grid sign with the key of its driver."""
    _received[:] = [received]


def signature(content: Any) -> str:
    """The signature of a JSON value."""
    return hmac.new(key(), json.dumps(content, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def is_signed(content: Any, found: Any) -> bool:
    """Whether `found` is this user's signature of a JSON value."""
    return isinstance(found, str) and hmac.compare_digest(signature(content).encode(), found.encode())


def require_trust(what: str, written_here: bool, trust: bool) -> None:
    """Refuse to run code that this user did not write, unless told to `trust` it."""
    if not (written_here or trust):
        raise InvalidInput(
            f"{what}, and it was not written by you on this machine: loading it would run code of whoever wrote it; "
            "if you trust them, use --trust (in Python: trust=True)"
        )


@lru_cache
def _key_in(file: Path) -> bytes:
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Written aside and linked: two processes may make it at the same time, and both must get the same.
        building = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        if not file.exists():
            with os.fdopen(os.open(building, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
                written.write(secrets.token_bytes(KEY_BYTES))
            with suppress(FileExistsError):
                os.link(building, file)
            building.unlink()
        found = file.read_bytes()
        # A key that others can read or replace proves nothing.
        if len(found) == KEY_BYTES and not file.stat().st_mode & 0o077:
            return found
    return secrets.token_bytes(KEY_BYTES)
