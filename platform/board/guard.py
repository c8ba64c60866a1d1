"""Protects the board: it answers to its own host names only, and its page loads nothing from elsewhere."""

from __future__ import annotations

import ipaddress
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Guard:
    """Rejects requests for foreign host names, by which a web page elsewhere could reach a local server."""

    def __init__(self, app: ASGIApp, own_names: frozenset[str]) -> None:
        self._app = app
        self._names = own_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward requests that are meant for the board."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if is_own(host, self._names):
            await self._app(scope, receive, send_guarded)
        else:
            refusal = PlainTextResponse(f"this board does not answer to the name {host!r}\n", status_code=403)
            await refusal(scope, receive, send_guarded)


def own_names(bound_to: str) -> frozenset[str]:
    """Host names of this machine."""
    return frozenset(name.lower() for name in ("localhost", socket.gethostname(), socket.getfqdn(), bound_to))


def is_own(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header names this machine. An IP address does: DNS rebinding needs a name."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return name.lower().rstrip(".") in names
    return True
