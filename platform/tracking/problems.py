"""MLflow's exceptions, each in one sentence."""

from __future__ import annotations

from typing import Any

from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.tracking.store import Store

_ABOUT_ONE_RUN = {
    "INVALID_PARAMETER_VALUE",
    "INVALID_STATE",
    "RESOURCE_ALREADY_EXISTS",
    "RESOURCE_DOES_NOT_EXIST",
}
_SENTENCES = (
    ("database is locked", "{store} is locked by another program"),
    ("readonly database", "{store} cannot be written: it is read-only"),
    ("read-only file system", "{store} cannot be written: it is on a read-only file system"),
    ("permission denied", "{store} cannot be written: permission denied"),
    ("unable to open database", "{store} cannot be opened: its folder is missing or read-only"),
    ("disk is full", "{store} cannot be written: the disk is full"),
    ("no space left", "{store} cannot be written: the disk is full"),
    ("disk i/o error", "{store} cannot be written: the disk reports an error"),
    ("malformed", "{store} is damaged; move it away and a new one gets everything again"),
    ("not a database", "{store} is damaged or not a database; move it away and a new one gets everything again"),
    ("out of date", "{store} was written by another version of MLflow; run `mlflow db upgrade`"),
    ("no module named", "{store} needs a Python package that is not installed ({reason})"),
    ("error code 401", "{store} denies access; set MLFLOW_TRACKING_USERNAME and _PASSWORD, or MLFLOW_TRACKING_TOKEN"),
    ("error code 403", "{store} denies access; this account may not write there"),
    ("failed with exception", "{store} does not respond"),
    ("timed out", "{store} does not respond"),
    ("too many 50", "{store} responds with errors"),
)


class OtherContents(RuntimeError):  # noqa: N818 (it reads as what it is)
    """A run does not hold its trial's rows although they were sent."""


def is_about_one_run(error: Exception) -> bool:
    """Whether the other runs can still be delivered after this error."""
    return isinstance(error, OtherContents) or getattr(error, "error_code", None) in _ABOUT_ONE_RUN


def is_about_damage(error: Exception) -> bool:
    """Whether SQLite says that the database is damaged."""
    return any(sign in str(error).lower() for sign in ("malformed", "not a database"))


def sentence(error: Exception, store: Store) -> str:
    """The problem for a user, without credentials."""
    place = ("the tracking server " if store.is_server else "the MLflow store ") + store.name
    text = redacted(str(error))
    reason = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)[:200]
    for sign, known in _SENTENCES:
        if sign in text.lower():
            return known.format(store=place, reason=reason)
    return f"{place} rejects our requests: {reason}" if _is_answer(error) else f"{place} cannot be used: {reason}"


def _is_answer(error: Any) -> bool:
    return getattr(error, "error_code", "") not in ("", "INTERNAL_ERROR")
