"""A headless Chromium, driven over its debugging pipe with nothing but the standard library."""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ANSWER_S = 180
_PAGE_LEFT = "Inspected target navigated or closed"
"""The error of a question to a page that another one replaced before the answer."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Chromium:
    """One page of a headless Chromium; notes what the page logs and asks of the network."""

    def __init__(self, profile: Path) -> None:
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()

        # Chromium reads commands from descriptor 3 and writes answers to 4.
        wire = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        command = ["bash", "-c", wire, str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(to_browser, from_browser), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last_id = 0
        self._session: str | None = None
        self.logged: list[dict[str, Any]] = []
        self.requested: list[str] = []

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(timeout=ANSWER_S)
        os.close(self._commands)
        os.close(self._answers)

    def call(self, method: str, **params: Any) -> Any:
        """One command; events that come before its answer are noted."""
        answer = self._answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last_id:
                return answer

    def open(self, page: Path | str) -> None:
        """Go to a file or an address, and wait until it is loaded."""
        self.requested.clear()
        self.logged.clear()
        self.call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page)
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def becomes(self, expression: str) -> bool:
        """Whether a JavaScript expression becomes true within `ANSWER_S`, on whatever page is then shown."""
        end_s = time.monotonic() + ANSWER_S
        while time.monotonic() < end_s:
            answer = self._answer("Runtime.evaluate", {"expression": expression, "returnByValue": True})
            if answer.get("error", {}).get("message") == _PAGE_LEFT:
                continue
            assert "error" not in answer, answer
            if answer["result"]["result"].get("value") is True:
                return True
        return False

    def press(self, key: str) -> None:
        """One key, by its name: a letter or sign, or one that has no letter."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Escape": 27}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], ANSWER_S)
            assert ready, f"chromium answered nothing for {ANSWER_S} s"
            chunk = os.read(self._answers, 1 << 20)
            assert chunk, "chromium ended"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if message.get("method") in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self.logged.append(message)
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])
        return message
