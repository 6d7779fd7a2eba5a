"""The store browser in a real Chromium: keys, filters, reports in their frame, and no trust in any."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.report import write_report
from results.serve import open_browser
from tests.results.chromium import CHROMIUM, Chromium
from tests.results.stores import broken, put_run
from tests.results.story import Run

RUN = "runs/smoke/partition/20261120T100000Z-1"
HOSTILE = """<!doctype html><title>hostile</title><script>
document.title = "ran";
var seen = [];
try { seen.push(String(parent.document.title)); } catch (error) { seen.push(error.name); }
try { seen.push(String(localStorage.length)); } catch (error) { seen.push(error.name); }
fetch("/api/runs.json").then(() => seen.push("fetched"), () => seen.push("blocked"));
</script><img src="/api/runs.json"><form action="/" id="f"></form><body>"""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, red_run: Run) -> Path:
    root = tmp_path_factory.mktemp("served") / "runs"
    folder = put_run(root, "20261120T100000Z-1", broken(), faults=("kill", "partition"))
    write_report(folder, red_run.history, red_run.verdict, red_run.identity)
    put_run(root, "20261121T100000Z-2", scenario="kips/grow")
    odd = put_run(root, "20261122T100000Z-3", None, scenario="kips/grow")
    (odd / "report.html").write_text(HOSTILE)
    return root


@pytest.fixture(scope="module")
def url(root: Path) -> Iterator[str]:
    with open_browser(root, 0) as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield opened.url
        opened.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store whose names have no place to break."""
    root = tmp_path_factory.mktemp("long") / "runs"
    put_run(root, "20261120T100000Z-1", version="4.3.1-" + "rc" * 30)
    scenario = "exploratory/" + "gambits" * 20
    kinds = ("kill", "partition", "held-requests", "lost-answers", "packet-loss", "power-loss")
    put_run(root, "20261121T100000Z-276541239076", broken("x" * 90), scenario=scenario, faults=kinds)
    with open_browser(root, 0) as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield opened.url
        opened.shutdown()
        thread.join()


def focused(chromium: Chromium) -> str:
    return str(chromium.evaluate("document.activeElement.getAttribute('href') || document.activeElement.id"))


def gone_to(chromium: Chromium, address: str) -> bool:
    """Whether the page becomes another one within a minute."""
    return chromium.becomes(f"location.href === {address!r} && document.readyState === 'complete'")


def test_keys_lead_along_the_rows_into_a_run_and_to_the_filter(chromium: Chromium, url: str) -> None:
    chromium.open(url)
    assert chromium.logged == []
    rows = ["/runs/kips/grow/20261122T100000Z-3", "/runs/kips/grow/20261121T100000Z-2", f"/{RUN}"]
    seen = []
    for key in ("j", "ArrowDown", "j", "j", "k", "ArrowUp"):
        chromium.press(key)
        seen.append(focused(chromium))
    assert seen == [*rows, rows[2], rows[1], rows[0]]
    chromium.press("/")
    assert focused(chromium) == "text"
    chromium.press("j")
    assert chromium.evaluate("document.querySelector('#text').value") == "j"
    chromium.press("Escape")
    chromium.press("k")
    chromium.press("Enter")
    assert gone_to(chromium, f"{url}{RUN}")


def test_a_chosen_filter_applies_itself_and_leaves_a_short_address(chromium: Chromium, url: str) -> None:
    chromium.open(url)
    chromium.evaluate(
        "(() => { const chosen = document.querySelector('select[name=verdict]'); chosen.value = 'invalid';"
        " chosen.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )
    assert gone_to(chromium, f"{url}?verdict=invalid")
    assert chromium.evaluate("document.querySelectorAll('a.run').length") == 1


def test_a_run_shows_its_report_and_asks_nobody_else(chromium: Chromium, url: str) -> None:
    chromium.open(url + RUN)
    assert chromium.evaluate("document.activeElement.id") == "report"
    assert {address.split("?")[0] for address in chromium.requested if address.startswith("http")} == {
        url + RUN,
        f"{url}{RUN}/report.html",
        f"{url}static/report.css",
        f"{url}static/serve.css",
        f"{url}static/serve.js",
    }
    assert chromium.logged == []


def test_a_report_by_itself_works_in_its_sandbox(chromium: Chromium, url: str) -> None:
    chromium.open(f"{url}{RUN}/report.html")
    chromium.press("n")
    assert chromium.evaluate("document.activeElement.id") == "anomaly-1"
    assert chromium.logged == []


def test_a_hostile_report_reaches_nothing(chromium: Chromium, url: str) -> None:
    """It may run, in a world of its own: no page of ours, no storage, no request, no form."""
    chromium.open(f"{url}runs/kips/grow/20261122T100000Z-3/report.html")
    assert chromium.becomes("seen.length === 3")
    assert chromium.evaluate("seen") == ["ran", "SecurityError", "blocked"]
    assert chromium.evaluate("window.origin") == "null"


@pytest.mark.parametrize("page", ["", "trends", RUN])
@pytest.mark.parametrize("width", [400, 1400])
def test_pages_never_scroll_sideways(chromium: Chromium, url: str, page: str, width: int) -> None:
    chromium.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
    )
    chromium.open(url + page)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("page", ["", "trends"])
def test_tables_fit_a_phone(chromium: Chromium, long_names: str, page: str) -> None:
    """No page and no table of runs scrolls sideways, and every cell says what it is."""
    chromium.call(
        "Emulation.setDeviceMetricsOverride", width=375, height=667, deviceScaleFactor=1, mobile=True
    )
    chromium.open(long_names + page)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= 375
    wide = (
        "[...document.querySelectorAll('.runs, .runs td')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
    )
    assert chromium.evaluate(f"{wide}.map((e) => e.className)") == []
    edge = (
        "Math.max(...[...document.querySelectorAll('.runs td')].map((e) => e.getBoundingClientRect().right))"
    )
    assert chromium.evaluate(edge) <= 375
    before = "getComputedStyle(document.querySelector('.runs td.short'), '::before').content"
    assert "Kafka" in chromium.evaluate(before)
    chromium.call(
        "Emulation.setDeviceMetricsOverride", width=1_400, height=800, deviceScaleFactor=1, mobile=False
    )
    chromium.open(long_names + page)
    assert (
        chromium.evaluate("getComputedStyle(document.querySelector('.runs tbody tr')).display") == "table-row"
    )
    assert chromium.evaluate(before) == "none"


def test_dark_where_dark_is_wanted(chromium: Chromium, url: str) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.call("Emulation.setEmulatedMedia", features=wanted)
        chromium.open(url)
        grounds.append(chromium.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(253, 253, 251)", "rgb(22, 24, 26)"]


def test_all_of_it_works_without_javascript(chromium: Chromium, url: str) -> None:
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(url)
        document = chromium.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        found = chromium.call("DOM.querySelectorAll", nodeId=document, selector="a.run")["nodeIds"]
        assert len(found) == 3
        (button,) = chromium.call("DOM.querySelectorAll", nodeId=document, selector=".filters button")[
            "nodeIds"
        ]
        assert chromium.call("DOM.getBoxModel", nodeId=button)["model"]["height"] > 10
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)
