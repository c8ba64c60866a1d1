"""Removes credentials from text that goes into logs, files, tags or artifacts.

A credential is recognised by its name (`password=…`, `WANDB_API_KEY: …`, `--token …`), its place (user and query of a
URI, an Authorization header) or its shape (`ghp_…`, `AKIA…`). Hiding too much of a text does little harm.
"""

from __future__ import annotations

import os
import re

HIDDEN = "***"

_WHOSE_KEY = "access|account|api|auth|client|encryption|license|master|private|secret|service|shared|signing|storage"
_SECRET_NAME = (
    r"(?i:password|passwd|passphrase|(?<![a-z])pwd|secret|token|credentials?|shared[_-]?access[_-]?signature"
    rf"|(?:{_WHOSE_KEY})[_-]?key)"
    # Variables. In lower case, as in `sort_key=name`, these are settings.
    r"|(?<=_)(?:KEY|PAT)"
)
_QUOTED = r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'"
# Each pattern starts with fixed characters, so that matching is linear in the length of the text.
# Greedy to the last @: a password may contain anything but spaces.
_USER = re.compile(r"://(?!/)\S*@")
_URI_QUERY = re.compile(r"(?P<base>:/[^\s?#]*)\?(?P<query>[^\s'\"<>]+)")
_QUERY_VALUE = re.compile(r"(?P<name>[^=&;#]+)=[^&;#]*")
_NAMED = (
    # The shell's own PWD=/folder is no secret.
    re.compile(rf"(?P<name>(?!PWD=/)(?:{_SECRET_NAME})['\"]?\s*[=:]\s*)(?P<value>{_QUOTED}|['\"]?[^\s,;&'\"]+)"),
    re.compile(rf"(?P<name>--(?:[a-z]+-)?(?:{_SECRET_NAME})\s+)(?P<value>{_QUOTED}|(?!-)\S+)"),
    re.compile(r"(?P<name>(?i:(?:authorization|cookie)['\"]?\s*[=:]\s*['\"]?))(?P<value>[^\s'\"][^\n'\"]*)"),
    re.compile(r"(?P<name>(?i:bearer)\s+)(?P<value>(?=\S*\d|\S{20})[\w.~+/=-]{6,})"),
    re.compile(r"(?P<name>(?i:login)\s+\S+\s+(?i:password)\s+)(?P<value>\S+)"),
    re.compile(r"(?P<name>(?<!\S)(?:-u|--user)\s+[^\s:/]+:)(?P<value>\S+)"),
)
_SHAPED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}"  # AWS
    r"|sk-(?:(?=[\w-]*\d)[\w-]{12,}|[A-Za-z0-9]{20,})"  # OpenAI, Anthropic
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}|dapi[0-9a-f]{32}|AIza[\w-]{30,}|xox[abeprs]-[\w-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # JSON web tokens
    r")(?![A-Za-z0-9_])"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
_SECRET_VARIABLE = re.compile(rf"(?:{_SECRET_NAME})$")
_WORKING_FOLDERS = ("PWD", "OLDPWD")
_SHORTEST_SECRET = 6
"""Shorter values, such as `1` or `true`, are switches and occur in any text."""


def redacted(text: str) -> str:
    """Text without the user, password and query values of URIs, and without secrets of environment variables."""
    text = _USER.sub(f"://{HIDDEN}@", text)
    text = _URI_QUERY.sub(_without_values, text)
    for pattern in _NAMED:
        text = pattern.sub(_without_value, text)
    text = _SHAPED.sub(HIDDEN, text)
    for value in _environment_secrets():
        text = text.replace(value, HIDDEN)
    return text


def is_redacted(uri: str) -> bool:
    """Whether something was removed from this URI, so that it no longer works."""
    return HIDDEN in uri


def _without_values(found: re.Match[str]) -> str:
    query = _QUERY_VALUE.sub(rf"\g<name>={HIDDEN}", found["query"])
    return f"{found['base']}?{query}"


def _without_value(found: re.Match[str]) -> str:
    value = found["value"]
    opening = value[0] if value[0] in "'\"" else ""
    closing = opening if len(value) > 1 and value.endswith(opening) else ""
    return f"{found['name']}{opening}{HIDDEN}{closing}"


def _environment_secrets() -> list[str]:
    """Values of variables such as MLFLOW_TRACKING_TOKEN, longest first; a plain word is a setting, as in SORT_KEY."""
    values = {
        value
        for name, value in os.environ.items()
        if _SECRET_VARIABLE.search(name) and name not in _WORKING_FOLDERS and not (value.isalpha() and value.islower())
    }
    return sorted((value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)
