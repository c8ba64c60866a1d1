"""A headless Chromium driven over the DevTools protocol: real clicks and keys, values of the page, screenshots."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE_SECONDS = 300
"""A limit for what never happens, not for what is slow."""
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """One tab. Everything the page opened last complains about is kept in `complaints`."""

    def __init__(self, profile: Path) -> None:
        self._process = subprocess.Popen(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._loop = asyncio.new_event_loop()
        self._number = 0
        self.complaints: list[str] = []
        self._origin = ""
        self._left: set[str] = set()
        try:
            port = self._port(profile / "DevToolsActivePort")
            self._session, self._socket = self._loop.run_until_complete(self._connect(port))
        except BaseException:
            self._process.kill()
            raise
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        """Close the browser."""
        self._loop.run_until_complete(self._socket.close())
        self._loop.run_until_complete(self._session.close())
        self._loop.close()
        self._process.terminate()
        self._process.wait()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        return self._loop.run_until_complete(asyncio.wait_for(self._send(method, parameters), PATIENCE_SECONDS))

    def size(self, width: int, height: int, dark: bool = False) -> None:
        """Set the window size in CSS pixels and the preferred colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Load a page, from an empty one: changing only the fragment would load nothing."""
        self.send("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.complaints.clear()
        self._left.add(self._origin)
        self._origin = _origin(address)
        self._left -= {self._origin, ""}
        self.send("Page.navigate", url=address)

    def read(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str) -> Any:
        """The value of an expression as soon as it is true."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (value := self.read(expression)):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"never true: {expression}; the page: {self.read('document.body.innerText')[:2000]}"
                )
            time.sleep(0.05)
        return value

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element."""
        found = json.dumps(selector)
        middle = (
            f"(() => {{ const e = document.querySelector({found}); if (!e) return null;"
            " e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        box, before = self.wait(middle), None
        while box != before:  # what loads above it moves it
            time.sleep(0.2)
            box, before = self.wait(middle), box
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def move(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = KEYS[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path) -> None:
        """Save a screenshot."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def _port(self, file: Path) -> int:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (file.is_file() and file.read_text().strip()):
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError("Chromium did not start")
            time.sleep(0.05)
        return int(file.read_text().split()[0])

    async def _connect(self, port: int) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
        session = aiohttp.ClientSession()
        async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = [page for page in await answer.json() if page["type"] == "page"]
        return session, await session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)

    async def _send(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = json.loads((await self._socket.receive()).data)
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message.get("result", {})
            self._listen(message)

    def _listen(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(given["exceptionDetails"])[:1000])
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            url = given["entry"].get("url", "")
            # The log may arrive late: an earlier page asked a server that has stopped since.
            if _origin(url) not in self._left:
                self.complaints.append(f"{given['entry']['text']} {url}")
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(given.get("args"))[:1000])


def _origin(address: str) -> str:
    return "/".join(address.split("/")[:3])
