"""The timeline in a real Chromium: it zooms, pans, shows the moment of a time, and leaves lanes out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from results.report import write_report
from results.report.drawing.frame import GUTTER, PLOT
from tests.results.chromium import CHROMIUM, Chromium
from tests.results.story import Run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]
SHOWN = "document.querySelector('#timeline-shown').textContent"
ZOOMED = "document.querySelector('#timeline').matches('.zoomed')"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
REMEMBER = """(() => {
  window.all = [...document.querySelectorAll("#timeline *")].filter((e) => !e.closest("#cursor, #moment"));
  window.was = all.map((e) => e.cloneNode(false).outerHTML);
})()"""
UNCHANGED = "all.filter((e, i) => e.cloneNode(false).outerHTML !== was[i]).length"
WIDTH, HEIGHT = 1_200, 1_600


@pytest.fixture(scope="module")
def red_page(red_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoomed")
    return write_report(folder, red_run.history, red_run.verdict, red_run.identity)


@pytest.fixture
def page(chromium: Chromium, red_page: Path) -> Iterator[Chromium]:
    """The report of the red run, as it is when it has been opened."""
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    chromium.call("Emulation.setDeviceMetricsOverride", **size)
    chromium.open(red_page)
    chromium.evaluate("document.querySelector('#timeline').scrollIntoView()")
    yield chromium
    chromium.call("Emulation.clearDeviceMetricsOverride")


def focus(page: Chromium) -> None:
    page.evaluate("document.querySelector('.figure').focus()")


def press(page: Chromium, *keys: str) -> None:
    for key in keys:
        page.press(key)
        page.evaluate(DRAWN)


def click(page: Chromium, selector: str) -> None:
    page.evaluate(f"document.querySelector({selector!r}).click()")
    page.evaluate(DRAWN)


def span(page: Chromium) -> tuple[float, float]:
    """What is shown, in seconds, as the page has it."""
    begin, _, end = page.evaluate(SHOWN).partition(" s")[0].partition(" to ")
    return float(begin), float(end)


def mouse(page: Chromium, kind: str, x: float, **more: Any) -> None:
    """An event of the mouse within the latency lane, at a share of the plot's width."""
    # A lane is wider than the plot while the timeline is zoomed: what lies outside is only clipped.
    left, right, top = page.evaluate(
        "(() => { const chart = document.querySelector('#timeline'), box = chart.getBoundingClientRect();"
        f" const scale = box.width / chart.viewBox.baseVal.width, left = box.left + {GUTTER} * scale;"
        " const lane = chart.querySelector('.dots').parentElement.getBoundingClientRect();"
        f" return [left, left + {PLOT} * scale, lane.top]; }})()"
    )
    at = {"x": left + x * (right - left), "y": min(top + 40, HEIGHT - 20)}
    page.call("Input.dispatchMouseEvent", type=kind, **at, **more)


def test_keys_zoom_move_and_come_back_to_the_page_as_it_was(page: Chromium) -> None:
    page.evaluate(REMEMBER)
    focus(page)
    assert page.evaluate(SHOWN) == "the whole run"
    press(page, "ArrowRight")
    assert page.evaluate(SHOWN) == "the whole run"
    press(page, "+", "=")
    first = span(page)
    assert first[1] - first[0] == pytest.approx(50 / 4, abs=0.2)
    press(page, "ArrowRight")
    moved = span(page)
    assert moved[0] - first[0] == pytest.approx((first[1] - first[0]) / 4, abs=0.2)
    press(page, "ArrowLeft", "ArrowLeft")
    assert span(page)[0] < first[0]
    press(page, "-")
    assert span(page)[1] - span(page)[0] == pytest.approx(25, abs=0.2)
    press(page, "0")
    assert page.evaluate(SHOWN) == "the whole run"
    assert page.evaluate(UNCHANGED) == 0


def test_zoom_ends_where_numbers_end(page: Chromium) -> None:
    focus(page)
    press(page, *("+" * 12))
    begin, end = span(page)
    assert 0.1 < end - begin < 0.3
    press(page, *("-" * 14))
    assert page.evaluate(SHOWN) == "the whole run"


def test_all_lanes_share_one_axis_whose_ticks_follow(page: Chromium) -> None:
    """Shapes that began at one place are at one place, and the axis shows the time there."""
    page.evaluate(
        "window.rects = [...document.querySelectorAll('#timeline rect')].filter((r) => !r.closest('defs'));"
        "window.xs = rects.map((r) => r.getAttribute('x'))"
    )
    whole = page.evaluate("[...document.querySelectorAll('#ticks .tick')].map((t) => t.textContent)")
    focus(page)
    press(page, "+", "+")
    apart = page.evaluate(
        "(() => { const places = {}; rects.forEach((r, i) => r.getAttribute('display') ||"
        " (places[xs[i]] ??= new Set()).add(r.getAttribute('x')));"
        " return Object.values(places).filter((s) => s.size > 1).length; })()"
    )
    assert apart == 0
    ticks = page.evaluate(
        "[...document.querySelectorAll('#ticks .tick')]"
        ".map((t) => [Number(t.textContent), Number(t.getAttribute('x'))])"
    )
    begin, end = span(page)
    assert [seconds for seconds, _ in ticks] != [float(label) for label in whole]
    assert 5 <= len(ticks) <= 12
    for seconds, x in ticks:
        assert x == pytest.approx(GUTTER + PLOT * (seconds - begin) / (end - begin), abs=2)


def test_texts_keep_their_size_and_bars_get_the_names_that_now_fit(page: Chromium) -> None:
    texts = "[...document.querySelectorAll('#timeline .plot .in')].filter((t) => !t.getAttribute('display'))"
    sizes = f"{texts}.map((t) => Math.round(t.getBoundingClientRect().height * 10))"
    before = page.evaluate(sizes)
    click(page, ".where .show-at")
    after = page.evaluate(sizes)
    assert set(after) == set(before)
    overflow = page.evaluate(
        f"{texts}.filter((t) => !t.previousElementSibling.matches('.stale')).filter((t) => {{"
        " const bar = t.previousElementSibling.getBoundingClientRect();"
        " const own = t.getBoundingClientRect(); return own.width > bar.width + 1; }).length"
    )
    assert overflow == 0
    click(page, "[data-act=whole]")
    press(page, "t")
    focus(page)
    press(page, "+", "+", "+")
    assert page.evaluate(f"{texts}.some((t) => t.textContent === 'send')")


def test_nothing_is_drawn_outside_the_plot(page: Chromium) -> None:
    focus(page)
    press(page, "+", "+", "+", "ArrowLeft")
    outside = page.evaluate(
        "[...document.querySelectorAll('#timeline .plot rect')].filter((r) => !r.getAttribute('display'))"
        ".map((r) => [r.x.baseVal.value, r.x.baseVal.value + r.width.baseVal.value])"
        ".filter(([begins, ends]) => begins < 58 || ends > 1038.1).length"
    )
    assert outside == 0
    assert page.evaluate(
        "[...document.querySelectorAll('.dots, .marks, .curve.isr')]"
        ".every((e) => getComputedStyle(e).clipPath.includes('#inside'))"
    )


def test_the_wheel_zooms_about_the_pointer_only_with_ctrl_or_the_focus(page: Chromium) -> None:
    under = "document.querySelector('#cursor .cursor-time').textContent"
    page.evaluate("document.activeElement.blur()")
    page.evaluate("addEventListener('wheel', () => (window.wheels = (window.wheels ?? 0) + 1))")
    mouse(page, "mouseWheel", 0.3, deltaX=0, deltaY=-10)
    assert page.becomes("window.wheels === 1")
    assert page.evaluate(ZOOMED) is False
    page.evaluate("document.querySelector('#timeline').scrollIntoView()")
    mouse(page, "mouseMoved", 0.3)
    under_pointer = float(page.evaluate(under).removesuffix(" s"))
    mouse(page, "mouseWheel", 0.3, deltaX=0, deltaY=-200, modifiers=2)
    assert page.becomes(ZOOMED)
    begin, end = span(page)
    assert end - begin < 50
    mouse(page, "mouseMoved", 0.3)
    assert float(page.evaluate(under).removesuffix(" s")) == pytest.approx(under_pointer, abs=0.2)
    focus(page)
    before = page.evaluate(SHOWN)
    mouse(page, "mouseWheel", 0.3, deltaX=0, deltaY=-200)
    assert page.becomes(f"{SHOWN} !== {before!r}")


def test_a_drag_moves_what_is_shown(page: Chromium) -> None:
    focus(page)
    press(page, "+", "+")
    begin, end = span(page)
    mouse(page, "mousePressed", 0.6, button="left", buttons=1, clickCount=1)
    mouse(page, "mouseMoved", 0.5, button="left", buttons=1)
    mouse(page, "mouseMoved", 0.4, button="left", buttons=1)
    mouse(page, "mouseReleased", 0.4, button="left", clickCount=1)
    page.evaluate(DRAWN)
    assert span(page)[0] - begin == pytest.approx((end - begin) * 0.2, rel=0.2)
    assert span(page)[1] - span(page)[0] == pytest.approx(end - begin, abs=0.2)


def test_buttons_do_it_too_and_say_what_they_do(page: Chromium) -> None:
    buttons = "[...document.querySelectorAll('#timeline-tools button:not([hidden])')]"
    named = f"{buttons}.map((b) => [b.textContent, b.disabled])"
    assert page.evaluate(named) == [
        ["Zoom in", False],
        ["Zoom out", True],
        ["Earlier", True],
        ["Later", True],
        ["Whole run", True],
    ]
    click(page, "[data-act=in]")
    assert not any(disabled for _, disabled in page.evaluate(named))
    begin = span(page)[0]
    click(page, "[data-act=later]")
    assert span(page)[0] > begin
    click(page, "[data-act=out]")
    assert page.evaluate(SHOWN) == "the whole run"
    assert page.evaluate("document.querySelector('#timeline-shown').getAttribute('role')") == "status"


def test_an_anomaly_is_shown_on_the_timeline_and_leads_back(page: Chromium) -> None:
    click(page, "#anomaly-2 .where .show-at")
    seconds = float(page.evaluate("document.querySelector('#anomaly-2 .where [data-at]').dataset.at"))
    begin, end = span(page)
    assert begin < seconds < end
    assert end - begin == pytest.approx(50 / 12, abs=0.2)
    assert f"{seconds:.3f} s is marked" in page.evaluate(SHOWN)
    mark = page.evaluate("document.querySelector('#moment').transform.baseVal[0].matrix.e")
    assert mark == pytest.approx(GUTTER + PLOT * (seconds - begin) / (end - begin), abs=3)
    lines = page.evaluate(
        "[...document.querySelectorAll('#timeline > .anomaly-line:not([display])')]"
        ".map((line) => line.x1.baseVal.value)"
    )
    assert min(abs(line - mark) for line in lines) < 2
    assert page.evaluate("document.activeElement.matches('.figure')")
    click(page, "#timeline-back")
    assert page.evaluate("document.activeElement.closest('article').id") == "anomaly-2"
    click(page, "[data-act=whole]")
    assert page.evaluate("document.querySelector('#moment').getAttribute('display')") == "none"


def test_every_row_that_shows_a_time_leads_to_it(page: Chromium) -> None:
    for place in ("[aria-label=Faults]", "[aria-label='Node logs']", ".witness", ".chronology", ".where"):
        assert page.evaluate(f"document.querySelectorAll({place + ' .show-at'!r}).length") > 0, place
    click(page, "[aria-label=Faults] .show-at")
    assert "6.000 s is marked" in page.evaluate(SHOWN)
    label = page.evaluate("document.querySelector('[aria-label=Faults] .show-at').getAttribute('aria-label')")
    assert label == "6.0 s: show on the timeline"


def test_a_time_that_is_not_on_the_timeline_leads_nowhere(
    page: Chromium, red_run: Run, tmp_path: Path
) -> None:
    later = msgspec.structs.replace(red_run.history, began_at="2026-11-20T22:56:57Z")
    page.open(write_report(tmp_path, later, red_run.verdict, red_run.identity))
    times = "document.querySelectorAll('[aria-label=\"Node logs\"] [data-at]').length"
    assert page.evaluate(times) > 0
    assert page.evaluate(times.replace("[data-at]", ".show-at")) == 0
    assert page.evaluate("document.querySelectorAll('[aria-label=Faults] .show-at').length") > 0


def test_lanes_are_left_out_by_the_keyboard_and_come_back(page: Chromium) -> None:
    page.evaluate(REMEMBER)
    lanes = "[...document.querySelectorAll('.lane:not([display]) .caption')].map((c) => c.firstChild.data)"
    height = "document.querySelector('#timeline').viewBox.baseVal.height"
    every, tall = page.evaluate(lanes), page.evaluate(height)
    groups = page.evaluate(
        "[...document.querySelectorAll('#timeline-tools label')].map((l) => l.textContent)"
    )
    assert groups == ["Faults and anomalies", "Cluster", "Operations", "Load"]
    page.evaluate("document.querySelector('#timeline-tools [value=Cluster]').focus()")
    press(page, " ")
    latencies = ["Latency of sends", "Latency of polls"]
    left = ["Phases", "Faults", "Anomalies", "Operations", *latencies, "Records per second"]
    assert page.evaluate(lanes) == left
    assert page.evaluate(height) < tall - 200
    tops = page.evaluate(
        "[...document.querySelectorAll('.lane:not([display])')].map((l) => l.getBBox().height)"
    )
    assert len(tops) == len(left)
    press(page, " ")
    assert (page.evaluate(lanes), page.evaluate(height)) == (every, tall)
    assert page.evaluate(UNCHANGED) == 0


def test_on_paper_the_whole_run_is_shown_with_all_lanes(page: Chromium) -> None:
    click(page, "[value=Load]")
    click(page, ".where .show-at")
    shown = page.evaluate(SHOWN)
    printed = f"[document.querySelectorAll('.lane[display]').length, {ZOOMED}]"
    page.evaluate(f"addEventListener('beforeprint', () => (window.printed = {printed}))")
    page.call("Page.printToPDF")
    assert page.evaluate("window.printed") == [0, False]
    assert page.evaluate(SHOWN) == shown
    assert page.evaluate(printed) == [3, True]
    page.call("Emulation.setEmulatedMedia", media="print")
    hidden = page.evaluate("getComputedStyle(document.querySelector('#timeline-tools')).display")
    offered = page.evaluate("getComputedStyle(document.querySelector('.offer')).display")
    page.call("Emulation.setEmulatedMedia", media="")
    assert (hidden, offered) == ("none", "none")


def test_zoomed_pages_are_narrow_dark_and_ask_nobody(page: Chromium, red_page: Path) -> None:
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", features=dark)
    narrow = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **narrow)
    page.open(red_page)
    click(page, ".where .show-at")
    press(page, "+")
    stroke = page.evaluate("getComputedStyle(document.querySelector('.moment-line')).stroke")
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.call("Emulation.setEmulatedMedia", features=[])
    assert stroke == "rgb(124, 196, 242)"
    assert wide <= 360
    assert page.logged == []
    assert [url for url in page.requested if not url.startswith("data:")] == [red_page.as_uri()]


def test_without_scripts_the_page_offers_nothing_that_needs_one(page: Chromium, red_page: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open(red_page)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert page.evaluate("document.querySelector('#timeline-tools').hidden") is True
    assert page.evaluate("document.querySelectorAll('.show-at').length") == 0
    assert page.evaluate("document.querySelectorAll('.lane').length") == 11
