"""Removes credentials from text that goes into logs, files, tags or artifacts."""

from __future__ import annotations

import os
import re

HIDDEN = "***"

_SECRET_NAME = r"(?:password|passwd|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key)"
# Each pattern starts with fixed characters, so that matching is linear in the length of the text.
# Greedy to the last @: a password may contain anything but spaces, and hiding too much does no harm.
_USER = re.compile(r"://(?!/)\S*@")
_URI_QUERY = re.compile(r"(?P<base>:/[^\s?#]*)\?(?P<query>[^\s'\"<>]+)")
_QUERY_VALUE = re.compile(r"(?P<name>[^=&;#]+)=[^&;#]*")
_ASSIGNMENT = re.compile(rf"(?i)(?P<name>{_SECRET_NAME}['\"]?\s*[=:]\s*['\"]?)[^\s,;&'\"]+")
_SECRET_VARIABLE = re.compile(rf"(?i){_SECRET_NAME}$")
_SHORTEST_SECRET = 6
"""Shorter values, such as `1` or `true`, are switches and occur in any text."""


def redacted(text: str) -> str:
    """Text without the user, password and query values of URIs, and without secrets of environment variables."""
    text = _USER.sub(f"://{HIDDEN}@", text)
    text = _URI_QUERY.sub(_without_values, text)
    text = _ASSIGNMENT.sub(rf"\g<name>{HIDDEN}", text)
    for value in _environment_secrets():
        text = text.replace(value, HIDDEN)
    return text


def is_redacted(uri: str) -> bool:
    """Whether something was removed from this URI, so that it no longer works."""
    return HIDDEN in uri


def _without_values(found: re.Match[str]) -> str:
    query = _QUERY_VALUE.sub(rf"\g<name>={HIDDEN}", found["query"])
    return f"{found['base']}?{query}"


def _environment_secrets() -> list[str]:
    """Values of variables such as MLFLOW_TRACKING_TOKEN, longest first."""
    values = {value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
    return sorted((value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)
