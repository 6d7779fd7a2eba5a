"""The drawing of the cluster in a real Chromium: it shows the moment under the cursor, or the marked one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from results.report import write_report
from tests.results.chromium import CHROMIUM, Chromium
from tests.results.report.test_report import hostile_run
from tests.results.story import MS, Run, S, Story

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]
HOSTILE = '"><img src=x onerror=ran=1>'
STATUS = "document.querySelector('#topology-told').textContent"
LIVE = "document.querySelector('#topology-marked').textContent"
FAULTS = (
    "[...document.querySelectorAll('#topology-faults li')].filter((l) => !l.hidden).map((l) => l.textContent)"
)
LINKS = "[...document.querySelectorAll('#topology .link')]"
CUT = (
    "[...document.querySelectorAll('#topology .link.cut')]"
    ".map((l) => [l.dataset.a, l.dataset.b, getComputedStyle(l).strokeDasharray])"
)
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def displayed(mark: str) -> str:
    """Names of nodes that show a mark."""
    return (
        "[...document.querySelectorAll('#topology .node')]"
        f".filter((n) => getComputedStyle(n.querySelector('.{mark}'))"
        ".display !== 'none').map((n) => n.dataset.name)"
    )


@pytest.fixture(scope="module")
def red_page(red_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topology")
    return write_report(folder, red_run.history, red_run.verdict, red_run.identity)


def opened(chromium: Chromium, page: Path, width: int = 1_200) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chromium.call("Emulation.setDeviceMetricsOverride", **size)
    chromium.open(page)
    chromium.evaluate("document.querySelector('#timeline').scrollIntoView()")


@pytest.fixture
def page(chromium: Chromium, red_page: Path) -> Iterator[Chromium]:
    """The report of the red run, with the timeline in sight."""
    opened(chromium, red_page)
    yield chromium
    chromium.call("Emulation.clearDeviceMetricsOverride")


def hover(page: Chromium, seconds: float) -> None:
    """Move the cursor to a moment of the timeline, within its upper lanes."""
    x, y = page.evaluate(
        "(() => { const chart = document.querySelector('#timeline'), box = chart.getBoundingClientRect();"
        " const { left, width, beginS, endS } = chart.dataset;"
        f" const at = +left + width * ({seconds} - beginS) / (endS - beginS);"
        " return [box.left + at * box.width / chart.viewBox.baseVal.width, box.top + 60]; })()"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def press(page: Chromium, *keys: str) -> None:
    page.evaluate("document.querySelector('.figure').focus()")
    for key in keys:
        page.press(key)
        page.evaluate(DRAWN)


def test_the_cut_link_is_broken_while_the_partition_lasts_and_whole_after_it(page: Chromium) -> None:
    hover(page, 9)
    assert page.evaluate(CUT) == [["n1", "n2", "38px, 24px"], ["n1", "n3", "38px, 24px"]]
    assert "Cut: n1 → n2, n1 → n3" in page.evaluate(STATUS)
    assert page.evaluate(FAULTS) == ["f1 partition n1"]
    hover(page, 14)
    assert page.evaluate(CUT) == []
    dashes = page.evaluate(LINKS + ".map((l) => getComputedStyle(l).strokeDasharray)")
    assert dashes == ["none"] * 3
    assert page.evaluate(FAULTS) == []
    assert "No link is cut, no node is dead or paused" in page.evaluate(STATUS)


def test_a_dead_node_has_a_cross_a_paused_one_two_bars_and_a_leader_a_star(page: Chromium) -> None:
    hover(page, 21)
    assert [page.evaluate(displayed(mark)) for mark in ("cross", "bars", "crown")] == [["n2"], [], ["n3"]]
    assert "Dead: n2" in page.evaluate(STATUS)
    hover(page, 33)
    assert [page.evaluate(displayed(mark)) for mark in ("cross", "bars", "crown")] == [[], ["n3"], ["n1"]]
    assert "Leads by its own answer: n1 (epoch 4). Paused: n3." in page.evaluate(STATUS)


def test_two_nodes_that_say_that_they_lead_both_have_a_star(page: Chromium) -> None:
    hover(page, 10)
    assert page.evaluate(displayed("crown")) == ["n1", "n2"]
    assert "Leads by its own answer: n1 (epoch 1), n2 (epoch 2)" in page.evaluate(STATUS)


def test_keys_mark_the_changes_one_after_the_other_and_announce_them(page: Chromium) -> None:
    assert page.evaluate(LIVE) == ""
    assert page.evaluate("document.querySelector('#topology-marked').getAttribute('aria-live')") == "polite"
    announced = []
    for _ in range(40):
        press(page, ".")
        announced.append(page.evaluate(LIVE))
        if page.evaluate(CUT):
            break
    assert announced[-1].startswith("At 6.30 s. ")
    assert len(set(announced)) == len(announced)
    press(page, ",")
    assert page.evaluate(LIVE) == announced[-2]
    assert page.evaluate(CUT) == []


def test_without_the_cursor_the_marked_moment_is_shown(page: Chromium) -> None:
    begun = page.evaluate(STATUS)
    hover(page, 21)
    assert page.evaluate(LIVE) == ""
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    assert page.evaluate(STATUS) == begun
    page.evaluate("document.querySelector('[aria-label=Faults] .show-at').click()")
    page.evaluate(DRAWN)
    assert page.evaluate(STATUS).startswith("At 6.00 s")
    assert page.evaluate(LIVE) == page.evaluate(STATUS)


def test_the_drawing_stays_in_sight_of_lower_lanes_and_covers_no_more_than_a_third(page: Chromium) -> None:
    top, bottom, height = page.evaluate(
        "(() => { const box = document.querySelector('#topology').getBoundingClientRect();"
        " return [box.top, box.bottom, innerHeight]; })()"
    )
    assert bottom <= height + 1
    assert bottom - top < height / 3


def test_on_a_phone_it_fits(chromium: Chromium, red_page: Path) -> None:
    opened(chromium, red_page, 375)
    hover(chromium, 9)
    assert len(chromium.evaluate(CUT)) == 2
    assert chromium.evaluate("document.documentElement.scrollWidth") <= 375
    edges = (
        "(({left, right}) => [left, right])(document.querySelector('#topology svg').getBoundingClientRect())"
    )
    left, right = chromium.evaluate(edges)
    assert 0 <= left < right <= 375


def test_paper_has_no_cursor_and_no_drawing_of_a_moment(page: Chromium) -> None:
    page.call("Emulation.setEmulatedMedia", media="print")
    shown = page.evaluate("getComputedStyle(document.querySelector('#topology')).display")
    page.call("Emulation.setEmulatedMedia", media="")
    assert shown == "none"


def test_names_full_of_html_stay_text(chromium: Chromium, tmp_path: Path) -> None:
    story = Story()
    plan = {"kind": "partition", "spec": {}}
    nodes = [{"name": name, "id": number, "roles": [HOSTILE]} for number, name in enumerate((HOSTILE, "n2"))]
    story.add(0, "runner", "ok", "setup", value={"nodes": nodes})
    story.add(1 * S, "nemesis", "invoke", "inject", HOSTILE, plan)
    done = plan | {"targets": [HOSTILE], "cut": [[HOSTILE, "n2"], ["n2", HOSTILE]]}
    story.add(1 * S + MS, "nemesis", "ok", "inject", HOSTILE, done)
    story.add(9 * S, "nemesis", "invoke", "heal", HOSTILE, plan)
    run = hostile_run(HOSTILE)
    opened(chromium, write_report(tmp_path, story.history(), run.verdict, run.identity))
    hover(chromium, 5)
    assert f"Cut: {HOSTILE} \u2013 n2" in chromium.evaluate(STATUS)
    assert chromium.evaluate("typeof ran") == "undefined"
    assert chromium.evaluate("document.querySelectorAll('img').length") == 0
    assert chromium.logged == []


def test_without_scripts_no_drawing_is_offered(chromium: Chromium, red_page: Path) -> None:
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    chromium.open(red_page)
    chromium.call("Emulation.setScriptExecutionDisabled", value=False)
    assert chromium.evaluate("document.querySelector('#topology').hidden") is True
