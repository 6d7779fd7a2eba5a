"""Reports in a real Chromium, driven over its debugging pipe with nothing but the standard library."""

import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from results.report import write_report
from tests.results.story import Run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ANSWER_S = 60
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
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]


class Browser:
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
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last_id:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, page: Path) -> None:
        self.requested.clear()
        self.logged.clear()
        self.call("Page.navigate", url=page.as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], ANSWER_S)
            assert ready, f"chromium said nothing for {ANSWER_S} s"
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, Browser(Path(profile)) as opened:
        yield opened


@pytest.fixture(scope="module")
def red_page(red_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("red")
    return write_report(folder, red_run.history, red_run.verdict, red_run.identity)


def focused(browser: Browser) -> str:
    return str(browser.evaluate("document.activeElement.id"))


def test_page_logs_nothing_and_asks_the_network_for_nothing(browser: Browser, red_page: Path) -> None:
    browser.open(red_page)
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    assert browser.logged == []
    assert [url for url in browser.requested if not url.startswith("data:")] == [red_page.as_uri()]


def test_keys_lead_from_anomaly_to_anomaly_and_round(browser: Browser, red_page: Path) -> None:
    browser.open(red_page)
    seen = []
    for key in "nnjjnnpk":
        browser.press(key)
        seen.append(focused(browser))
    forth = ["anomaly-1", "anomaly-2", "anomaly-3", "anomaly-4", "legal-1", "anomaly-1"]
    assert seen == [*forth, "legal-1", "anomaly-4"]
    assert browser.evaluate("document.querySelector('#position').textContent") == "4 of 5"


def test_a_folded_anomaly_is_opened_when_it_is_reached(browser: Browser, red_page: Path) -> None:
    browser.open(red_page)
    opened = "document.querySelector('details.legal-findings').open"
    assert browser.evaluate(opened) is False
    browser.press("p")
    assert focused(browser) == "legal-1"
    assert browser.evaluate(opened) is True


def test_a_mark_on_the_timeline_leads_to_its_section(browser: Browser, red_page: Path) -> None:
    browser.open(red_page)
    browser.evaluate(
        "document.querySelector('#timeline a[href=\"#anomaly-4\"]')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert focused(browser) == "anomaly-4"


def test_question_mark_shows_and_hides_the_keys(browser: Browser, red_page: Path) -> None:
    browser.open(red_page)
    shown = "document.querySelector('#keys').open"
    browser.press("?")
    assert browser.evaluate(shown) is True
    browser.press("?")
    assert browser.evaluate(shown) is False


@pytest.mark.parametrize("width", [360, 1280])
def test_page_never_scrolls_sideways(browser: Browser, red_page: Path, width: int) -> None:
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
    )
    browser.open(red_page)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_texts_are_readable_on_their_ground_in_light_and_dark(browser: Browser, red_page: Path) -> None:
    """Contrast of body, soft and verdict colours against the page, by WCAG's formula: at least 4.5."""
    ratio = """(() => {
      const style = getComputedStyle(document.documentElement);
      const light = (name) => {
        const hex = style.getPropertyValue(name).trim();
        const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
        const linear = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
      };
      const against = (name) => {
        const pair = [light(name), light("--page")].sort((a, b) => b - a);
        return (pair[0] + 0.05) / (pair[1] + 0.05);
      };
      return ["--ink", "--soft", "--good", "--bad", "--doubt", "--violet", "--link"].map(against);
    })()"""
    for scheme in ("light", "dark"):
        browser.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        browser.open(red_page)
        assert min(browser.evaluate(ratio)) >= 4.5, scheme
