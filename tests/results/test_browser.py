"""Reports in a real Chromium: nothing logged, nothing asked, keys that lead, light and dark."""

from pathlib import Path

import pytest

from results.report import write_report
from tests.results.chromium import CHROMIUM, Chromium
from tests.results.story import Run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def red_page(red_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("red")
    return write_report(folder, red_run.history, red_run.verdict, red_run.identity)


def focused(chromium: Chromium) -> str:
    return str(chromium.evaluate("document.activeElement.id"))


def test_page_logs_nothing_and_asks_the_network_for_nothing(chromium: Chromium, red_page: Path) -> None:
    chromium.open(red_page)
    chromium.evaluate("new Promise(done => setTimeout(done, 200))")
    assert chromium.logged == []
    assert [url for url in chromium.requested if not url.startswith("data:")] == [red_page.as_uri()]


def test_keys_lead_from_anomaly_to_anomaly_and_round(chromium: Chromium, red_page: Path) -> None:
    chromium.open(red_page)
    seen = []
    for key in "nnjjnnpk":
        chromium.press(key)
        seen.append(focused(chromium))
    forth = ["anomaly-1", "anomaly-2", "anomaly-3", "anomaly-4", "legal-1", "anomaly-1"]
    assert seen == [*forth, "legal-1", "anomaly-4"]
    assert chromium.evaluate("document.querySelector('#position').textContent") == "4 of 5"


def test_a_folded_anomaly_is_opened_when_it_is_reached(chromium: Chromium, red_page: Path) -> None:
    chromium.open(red_page)
    opened = "document.querySelector('details.legal-findings').open"
    assert chromium.evaluate(opened) is False
    chromium.press("p")
    assert focused(chromium) == "legal-1"
    assert chromium.evaluate(opened) is True


def test_a_mark_on_the_timeline_leads_to_its_section(chromium: Chromium, red_page: Path) -> None:
    chromium.open(red_page)
    chromium.evaluate(
        "document.querySelector('#timeline a[href=\"#anomaly-4\"]')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    chromium.evaluate("new Promise(done => setTimeout(done, 100))")
    assert focused(chromium) == "anomaly-4"


def test_question_mark_shows_and_hides_the_keys(chromium: Chromium, red_page: Path) -> None:
    chromium.open(red_page)
    shown = "document.querySelector('#keys').open"
    chromium.press("?")
    assert chromium.evaluate(shown) is True
    chromium.press("?")
    assert chromium.evaluate(shown) is False


@pytest.mark.parametrize("width", [360, 1280])
def test_page_never_scrolls_sideways(chromium: Chromium, red_page: Path, width: int) -> None:
    chromium.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
    )
    chromium.open(red_page)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width


def test_texts_are_readable_on_their_ground_in_light_and_dark(chromium: Chromium, red_page: Path) -> None:
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
        chromium.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        chromium.open(red_page)
        assert min(chromium.evaluate(ratio)) >= 4.5, scheme
