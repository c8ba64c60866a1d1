"""Text without credentials: what may go into a log, a file, a tag or an artifact."""

from __future__ import annotations

import os
import re

HIDDEN = "***"

_SECRET_NAME = r"(?:password|passwd|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key)"
# Each begins with fixed signs, so that long texts take no longer than their length says.
# Greedy to the last @: a password may hold any sign but a space, and hiding too much does no harm.
_USER = re.compile(r"://(?!/)\S*@")
_URI_QUERY = re.compile(r"(?P<place>:/[^\s?#]*)\?(?P<query>[^\s'\"<>]+)")
_QUERY_VALUE = re.compile(r"(?P<name>[^=&;#]+)=[^&;#]*")
_ASSIGNMENT = re.compile(rf"(?i)(?P<name>{_SECRET_NAME}['\"]?\s*[=:]\s*['\"]?)[^\s,;&'\"]+")
_SECRET_VARIABLE = re.compile(rf"(?i){_SECRET_NAME}$")
_SHORTEST_SECRET = 6
"""A shorter value of a variable, `1` or `true`, is a switch and would be found in every text."""


def redacted(text: str) -> str:
    """A URI, or any text with URIs in it, without user, password, query values and secrets of the environment."""
    text = _USER.sub(f"://{HIDDEN}@", text)
    text = _URI_QUERY.sub(_without_values, text)
    text = _ASSIGNMENT.sub(rf"\g<name>{HIDDEN}", text)
    for value in _secrets_of_the_environment():
        text = text.replace(value, HIDDEN)
    return text


def is_redacted(uri: str) -> bool:
    """Whether something was taken out of this URI, so that it no longer leads anywhere."""
    return HIDDEN in uri


def _without_values(found: re.Match[str]) -> str:
    query = _QUERY_VALUE.sub(rf"\g<name>={HIDDEN}", found["query"])
    return f"{found['place']}?{query}"


def _secrets_of_the_environment() -> list[str]:
    """Values of variables such as MLFLOW_TRACKING_TOKEN, the longest first."""
    values = {value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
    return sorted((value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)
