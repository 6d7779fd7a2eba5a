"""Reports in a real Chromium: nothing logged, nothing asked, keys that lead, light and dark."""

import re
from pathlib import Path

import pytest

from checkers.foreign.judging import judge_foreign
from checkers.history.operations import History
from checkers.verdict.verdict import Validity, Verdict
from results.report import HistoryFile, write_page, write_report
from tests.checkers.foreign.texts import edn_of, foreign
from tests.results.chromium import CHROMIUM, Chromium
from tests.results.report.test_report import hostile_run
from tests.results.story import Run

HOSTILE = "<img src=x onerror=ran=1><b>bold</b><script>ran=2</script>"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def red_page(red_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("red")
    return write_report(folder, red_run.history, red_run.verdict, red_run.identity)


@pytest.fixture(scope="module")
def pages(
    red_page: Path,
    green_run: Run,
    killed_run: Run,
    crowded_run: Run,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    runs = {
        "valid": green_run,
        "unknown": killed_run,
        "hostile": hostile_run(HOSTILE),
        "empty": Run(History("", "", ()), Verdict(Validity.UNKNOWN, ()), None),
        "crowded": crowded_run,
    }
    folder = tmp_path_factory.mktemp("pages")
    for name in runs:
        (folder / name).mkdir()
    drawn = {name: write_report(folder / name, r.history, r.verdict, r.identity) for name, r in runs.items()}
    return {"invalid": red_page, "file": page_of_a_file(folder / "file.html"), **drawn}


def page_of_a_file(path: Path) -> Path:
    """The page of a history of another harness, without times, whose values are hostile."""
    lines = f'0 invoke write "{HOSTILE}"\n0 ok write "{HOSTILE}"\n1 invoke read nil\n1 ok read 7'
    judgement = judge_foreign(foreign(re.sub(r":time \d+", ":time -1", edn_of(lines))))
    about = HistoryFile(path=HOSTILE, workload="register", lines=range(1, 5), timed=False)
    return write_page(path, judgement.history, judgement.verdict, about)


def focused(chromium: Chromium) -> str:
    return str(chromium.evaluate("document.activeElement.id"))


@pytest.mark.parametrize("name", ["invalid", "valid", "unknown", "hostile", "empty", "crowded", "file"])
def test_pages_log_nothing_and_ask_the_network_for_nothing(
    chromium: Chromium, pages: dict[str, Path], name: str
) -> None:
    chromium.open(pages[name])
    chromium.press("n")
    # On a busy machine nothing is ever idle.
    idle = "requestIdleCallback(() => done(), {timeout: 1000})"
    chromium.evaluate(f"new Promise((done) => requestAnimationFrame(() => {idle}))")
    assert chromium.logged == []
    assert [url for url in chromium.requested if not url.startswith("data:")] == [pages[name].as_uri()]


def test_a_value_full_of_html_is_shown_as_text(chromium: Chromium, pages: dict[str, Path]) -> None:
    chromium.open(pages["hostile"])
    assert chromium.evaluate("typeof ran") == "undefined"
    counts = "['img', 'b', 'script'].map((tag) => document.querySelectorAll(tag).length)"
    assert chromium.evaluate(counts) == [0, 0, 1]
    text = chromium.evaluate("document.querySelector('main').textContent")
    assert text.count(HOSTILE) > 20


def test_a_page_without_times_shows_positions(chromium: Chromium, pages: dict[str, Path]) -> None:
    chromium.open(pages["file"])
    assert chromium.evaluate("typeof ran") == "undefined"
    chromium.evaluate("document.querySelector('.where .show-at').click()")
    shown = "document.querySelector('#timeline-shown').textContent"
    assert chromium.becomes(f"{shown}.endsWith('operation 3 is marked')")
    assert chromium.evaluate("document.querySelector('.moment-time').textContent") == "operation 3"
    chromium.evaluate("document.querySelector('[data-act=in]').click()")
    assert chromium.becomes(f"/^operation \\d to \\d, operation 3 is marked$/.test({shown})")


def test_dark_where_dark_is_wanted_and_light_on_paper(chromium: Chromium, red_page: Path) -> None:
    found = []
    for media, scheme in (("", "light"), ("", "dark"), ("print", "dark")):
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.call("Emulation.setEmulatedMedia", media=media, features=wanted)
        chromium.open(red_page)
        found.append(
            chromium.evaluate(
                "[getComputedStyle(document.body).backgroundColor,"
                " getComputedStyle(document.querySelector('nav.jump')).display]"
            )
        )
    chromium.call("Emulation.setEmulatedMedia", media="", features=[])
    assert found == [
        ["rgb(253, 253, 251)", "flex"],
        ["rgb(22, 24, 26)", "flex"],
        ["rgb(255, 255, 255)", "none"],
    ]


def test_what_is_folded_is_printed(chromium: Chromium, red_page: Path) -> None:
    chromium.open(red_page)
    assert chromium.call("Page.printToPDF")["data"].startswith("JVBERi")
    assert chromium.evaluate("document.querySelector('details.legal-causes').open") is True


def test_a_crowded_page_is_light_enough_to_be_smooth(chromium: Chromium, pages: dict[str, Path]) -> None:
    """Of 100,000 operations so few elements are left that nothing on the page needs a thought."""
    chromium.open(pages["crowded"])
    assert pages["crowded"].stat().st_size < 2_000_000
    assert chromium.evaluate("document.querySelectorAll('*').length") < 10_000


def test_every_anomaly_of_a_failing_run_is_drawn_where_it_can_be_seen(
    chromium: Chromium, red_page: Path
) -> None:
    chromium.open(red_page)
    chromium.press("p")
    heights = chromium.evaluate(
        "[...document.querySelectorAll('.anomaly .drawn')].map((a) => a.getBoundingClientRect().height)"
    )
    assert len(heights) == 5
    assert min(heights) > 30


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
    opened = "document.querySelector('details.legal-causes').open"
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
