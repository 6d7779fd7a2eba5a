"""The timeline as it is written: short, exact enough to be zoomed in, and honest about what it leaves out."""

import re

import msgspec
import numpy as np
import pytest

from checkers.verdict.verdict import Validity, Verdict
from results.report import render_report
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import GUTTER, PLOT, Frame
from results.report.reading.calls import calls_of
from results.report.reading.spans import left_out_text
from results.report.size_limits import PAGE_BYTES_MAX, STEPS
from results.report.tables.logs import log_table
from results.report.timeline.cluster import nodes
from results.report.timeline.events import faults, phases
from results.report.timeline.load import latency, poll_latency
from results.report.timeline.operations import operations
from results.report.timeline.percentiles import bin_seconds, percentile_lines
from results.report.timeline.timeline import timeline
from results.run.load_results import OUTCOMES
from results.run.observation import CompletedCalls, observe
from tests.results.story import MS, Run, S, Story


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, ".5"),
        (-0.25, "-.25"),
        (12.0, "12"),
        (0.0, "0"),
        (-0.001, "0"),
        (100.0, "100"),
        (3.14159, "3.14"),
    ],
)
def test_coordinates_have_no_needless_digits(value: float, expected: str) -> None:
    assert svg.number(value) == expected


def test_a_bar_that_is_drawn_wider_than_its_time_shows_its_width() -> None:
    frame = Frame(0, int(PLOT) * S)
    assert frame.bar(S, 11 * S) == {"x": GUTTER + 1, "width": 10.0, "data_w": None}
    narrow = frame.bar(S, S + 250 * MS)
    assert narrow["width"] == 1.5
    assert narrow["data_w"] == pytest.approx(0.25)


def points_of(path: str) -> list[tuple[float, float]]:
    """Absolute places of a path of relative steps."""
    x = y = 0.0
    points = []
    for across, down in re.findall(r"[Mm](-?[\d.]+) ?(-?[\d.]+)", path):
        x, y = x + float(across), y + float(down)
        points.append((x, y))
    return points


def test_marks_are_one_path_from_which_every_place_can_be_read() -> None:
    generator = np.random.default_rng(3)
    places = sorted(
        zip(generator.uniform(GUTTER, GUTTER + PLOT, 500), generator.uniform(0, 118, 500), strict=True)
    )
    for kind in ("ok", "info", "fail"):
        drawn = str(glyphs.outcomes(kind, places))
        (path,) = re.findall(r' d="([^"]*)"', drawn)
        read = points_of(path)
        assert len(read) == 500
        assert np.abs(np.array(read) - np.array(places)).max(axis=0) == pytest.approx([0, 0], abs=0.051)
        assert np.abs(np.array(read) - np.array(places)).max(axis=0)[0] < 0.0051
        assert len(drawn) < 500 * 16
    assert glyphs.outcomes("ok", []) == ""


def test_every_shape_that_is_referred_to_is_defined(red_run: Run) -> None:
    page = render_report(red_run.history, red_run.verdict, red_run.identity)
    referred = set(re.findall(r'<use href="#([\w-]+)"', page)) | set(re.findall(r'url\("#([\w-]+)"\)', page))
    assert {"met", "unmet", "info", "fail", "at-info", "at-fail", "inside", "hatch-bad"} <= referred
    for name in referred:
        assert page.count(f'id="{name}"') == 1, name


def test_failures_that_lie_on_each_other_are_one_bar_with_their_number() -> None:
    story = Story()
    for tick in range(30):
        story.add(10 * S + tick * 100 * MS, 0, "invoke", "send", "t")
        story.add(10 * S + tick * 100 * MS + 10 * MS, 0, "fail", "send", "t")
    story.add(50 * S, 0, "invoke", "send", "t")
    story.add(50 * S + 10 * MS, 0, "info", "send", "t")
    lane = operations(calls_of(story.history()), Frame(0, 100 * S), STEPS[0])
    assert lane is not None
    numbers = re.findall(r"<title>(?:(\d+) )?send, process 0", lane.body)
    counts = [int(number or 1) for number in numbers]
    assert sum(counts) == 31
    assert len(counts) < 10
    assert counts[-1] == 1
    assert lane.body.count('class="call fail"') == len(counts) - 1


def test_failures_apart_from_each_other_stay_apart() -> None:
    story = Story()
    for tick in range(5):
        story.add(tick * 10 * S, 0, "invoke", "send", "t")
        story.add(tick * 10 * S + 10 * MS, 0, "fail", "send", "t")
    lane = operations(calls_of(story.history()), Frame(0, 100 * S), STEPS[0])
    assert lane is not None
    assert lane.body.count('class="call fail"') == 5


def test_sends_that_coincide_are_counted() -> None:
    story = Story()
    for number in range(60):
        story.add(10 * S + number, number, "invoke", "send", "log-0", [[0, number]])
        story.add(10 * S + 5 * MS + number, number, "ok", "send", "log-0", [[0, number, number, "ok"]])
    story.add(60 * S, "runner", "ok", "phase", "done")
    seen = observe(story.history())
    lane = latency(seen, Frame(0, 60 * S), STEPS[0])
    assert lane is not None
    assert (
        lane.note == "by when each began; lines: each second; 1 of 60 are drawn, one where several coincide"
    )


def test_faults_without_a_row_are_counted() -> None:
    story = Story()
    for number in range(12):
        plan = {"kind": "pause", "spec": {}}
        story.add(S + number * MS, "nemesis", "invoke", "inject", f"f{number}", plan)
        story.add(2 * S + number * MS, "nemesis", "ok", "inject", f"f{number}", plan | {"targets": ["n1"]})
    story.add(60 * S, "runner", "ok", "phase", "done")
    lane = faults(observe(story.history()), Frame(0, 60 * S), STEPS[0])
    assert lane is not None
    assert lane.note.endswith("; 4 more are in the table")


def test_titles_of_bars_begin_with_what_labels_them_where_there_is_room(red_run: Run) -> None:
    drawn = timeline(observe(red_run.history), (), STEPS[0], calls_of(red_run.history))
    for kind, label in (
        ("reign odd1", r"epoch \d+"),
        ("leader broker0", r"\d+ in epoch \d+"),
        ("paused", "paused"),
        ("exited", "exited"),
        ("phase", "[a-z-]+"),
    ):
        inside = re.findall(rf'class="{kind}"><title>([^<]*)<', drawn)
        before = re.findall(rf'<g><title>([^<]*)</title><rect [^>]*class="{kind}"', drawn)
        assert inside + before, kind
        assert all(re.match(f"{label}, ", title) for title in inside + before), kind


def test_each_lane_belongs_to_a_group(red_run: Run) -> None:
    drawn = timeline(observe(red_run.history), (), STEPS[0], calls_of(red_run.history))
    groups = re.findall(r'class="lane"[^>]*data-group="([^"]*)"', drawn)
    assert sorted(set(groups)) == ["Cluster", "Faults and anomalies", "Load", "Operations"]
    assert groups.count("Cluster") == 4


@pytest.mark.slow
def test_a_page_that_is_too_large_draws_less_before_it_shows_less(crowded_run: Run) -> None:
    assert PAGE_BYTES_MAX == 400_000
    first, second = STEPS[:2]
    assert second == msgspec.structs.replace(
        first, drawings=second.drawings, marks=second.marks, segments=second.segments
    )
    page = render_report(crowded_run.history, crowded_run.verdict)
    assert len(page.encode()) <= PAGE_BYTES_MAX


def logged(*lines: tuple[str, str, str]) -> Story:
    story = Story()
    for number, (node, at, text) in enumerate(lines):
        line = {"line": number + 1, "at": at, "level": "ERROR", "text": f"{at} ERROR {text}"}
        story.add(S, "o", "ok", "observe", "node-log", line, node=node)
    return story


def test_a_line_of_one_long_word_takes_no_time_that_is_squared() -> None:
    """A search for ids that begins anew at each letter would take many minutes here."""
    word = "x" * 300_000
    story = logged(("n1", "2026-11-20T21:57:10Z", f"{word} 1"), ("n1", "2026-11-20T21:57:11Z", f"{word} 2"))
    (row,) = log_table(observe(story.history()), STEPS[0]).rows
    assert row.alike == 1


def test_lines_that_differ_in_numbers_and_ids_are_one_row() -> None:
    story = logged(
        ("n1", "2026-11-20T21:57:10Z", "[handler-1] append failed on nQrsPDoWSNW-7l1juOA4ZA:log-0-4"),
        ("n1", "2026-11-20T21:57:12Z", "[handler-2] append failed on 2nufeChjTJiHUnyImy9smw:log-0-11"),
        ("n2", "2026-11-20T21:57:11Z", "[handler-2] append failed on 2nufeChjTJiHUnyImy9smw:log-0-11"),
        ("n1", "2026-11-20T21:57:13Z", "[handler-2] fetch failed on 2nufeChjTJiHUnyImy9smw:log-0-11"),
    )
    table = log_table(observe(story.history()), STEPS[0], "2026-11-20T21:56:57Z")
    rows = [(row.node, row.line, row.alike, row.until, row.seconds) for row in table.rows]
    assert rows == [
        ("n1", 1, 1, "2026-11-20T21:57:12Z", "13.000"),
        ("n2", 3, 0, "2026-11-20T21:57:11Z", "14.000"),
        ("n1", 4, 0, "2026-11-20T21:57:13Z", "16.000"),
    ]
    assert table.rows[0].text == "[handler-1] append failed on nQrsPDoWSNW-7l1juOA4ZA:log-0-4"
    assert table.left_out == 0
    page = render_report(story.history(), Verdict(Validity.VALID, ()))
    assert "1 more with other numbers or ids, until 2026-11-20T21:57:12Z" in page
    assert '<td data-at="13.000">2026-11-20T21:57:10Z</td>' in page


def test_rows_of_logs_are_bounded_and_lines_left_out_are_counted() -> None:
    words = [f"{a}{b} failed" for a in "abcdefghijkl" for b in "mnopqrstuvwx"]
    story = logged(*(("n1", "2026-11-20T21:57:10Z", text) for text in [*words, words[-1]]))
    table = log_table(observe(story.history()), STEPS[0])
    assert len(table.rows) == STEPS[0].rows
    assert table.left_out == len(words) + 1 - STEPS[0].rows
    assert table.rows[0].seconds == ""


def sent(*sends: tuple[int, int, str]) -> CompletedCalls:
    """Sends by when they began (ms), how long they took (ms) and how they ended."""
    began, took, outcomes = zip(*sends, strict=True)
    codes = np.array([OUTCOMES.index(outcome) for outcome in outcomes], dtype=np.int64)
    return CompletedCalls(np.array(began, dtype=np.int64) * MS, np.array(took, dtype=np.int64) * MS, codes)


def lines_of(sends: CompletedCalls) -> list[tuple[str, str]]:
    drawn = "".join(percentile_lines(sends, Frame(0, int(PLOT * S / 10)), lambda ms: ms))
    return [(name, points) for points, name in re.findall(r'points="([^"]*)" class="curve (\w+)"', drawn)]


def test_percentiles_are_those_of_acknowledged_sends_of_each_second() -> None:
    second = [(1_000 + took, took, "ok") for took in range(1, 101)]
    slow = [(1_500, 9_000, "info"), (1_500, 9_000, "fail")]
    after = [(2_000, 7, "ok")]
    assert lines_of(sent(*slow, *reversed(second), *after)) == [
        ("p50", "87 51 97 7"),
        ("p95", "87 96 97 7"),
        ("p99", "87 100 97 7"),
    ]


def test_percentiles_are_not_drawn_through_seconds_without_a_send() -> None:
    found = lines_of(sent((1_000, 5, "ok"), (4_000, 6, "ok"), (5_000, 8, "ok")))
    assert found[:2] == [("p50", "87 5 87 5"), ("p50", "117 6 127 8")]
    assert len(found) == 6
    assert lines_of(sent((1_000, 5, "fail"))) == []


def polled(*took_ms: int, outcome: str = "ok") -> Story:
    """Polls that return a record each, one a second."""
    story = Story()
    for second, took in enumerate(took_ms, start=1):
        story.add(second * S, 1, "invoke", "poll", "log-0", {"client": "c"})
        value = {"records": [[0, [second], [second]]]}
        story.add(second * S + took * MS, 1, outcome, "poll", "log-0", value)
    story.add(20 * S, "runner", "ok", "phase", "done")
    return story


def test_the_latency_of_polls_is_drawn_as_percentiles_on_whole_decades() -> None:
    observed = observe(polled(10, 100, 100).history())
    lane = poll_latency(observed, Frame(0, observed.end_ns), STEPS[0])
    assert lane is not None
    assert (lane.name, lane.note) == (
        "Latency of polls",
        "those that returned records, by when each began; each second",
    )
    points = re.findall(r'points="([^"]*)" class="curve (\w+)"', lane.body)
    assert [name for _, name in points] == ["p50", "p95", "p99"]
    heights = [float(y) for y in points[0][0].split()[1::2]]
    assert heights == [lane.height, lane.height / 2, lane.height / 2]  # from 10 ms to 1 s
    assert [name for name in ("10 ms", "100 ms", "1 s") if f">{name}</text>" not in lane.body] == []
    assert "Latency of polls" in render_report(polled(5).history(), Verdict(Validity.VALID, ()))


def test_the_lane_of_polls_stays_small_however_long_the_run_was() -> None:
    seconds = 8 * 3_600
    took = np.random.default_rng(7).lognormal(3, 2, seconds * 4) * MS
    began = np.arange(took.size, dtype=np.int64) * S // 4
    polls = CompletedCalls(began, took.astype(np.int64), np.zeros(took.size, dtype=np.int64))
    observed = msgspec.structs.replace(observe(polled(5).history()), deliveries=polls, end_ns=seconds * S)
    lane = poll_latency(observed, Frame(0, observed.end_ns), STEPS[-1])
    assert lane is not None
    assert 10_000 < len(lane.body) < 20_000


def test_without_polls_that_returned_records_there_is_no_lane_of_them() -> None:
    for story in (Story(), polled(10, outcome="fail")):
        assert poll_latency(observe(story.history()), Frame(0, S), STEPS[0]) is None


def test_the_lane_of_latencies_is_named_after_what_wrote() -> None:
    story = Story()
    for at, f, value in ((1, "txn", {"mops": []}), (3, "send", [])):
        story.add(at * S, 0, "invoke", f, "t", value)
        story.add(at * S + MS, 0, "ok", f, "t", value)
    drawn = timeline(observe(story.history()), (), STEPS[0])
    assert "Latency of sends and transactions" in drawn


@pytest.mark.parametrize(("end_s", "seconds"), [(1, 1), (450, 1), (451, 2), (3_600, 8)])
def test_points_of_a_long_run_stand_for_more_than_a_second(end_s: int, seconds: int) -> None:
    assert bin_seconds(end_s * S) == seconds


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "the shortest is not drawn"),
        (2, "the 2 shortest are not drawn"),
        (1_234, "the 1,234 shortest are"),
    ],
)
def test_one_that_is_left_out_is_written_in_the_singular(count: int, expected: str) -> None:
    assert left_out_text(count, "shortest", "drawn").startswith(expected)


@pytest.mark.parametrize(
    ("beyond", "note"), [(0, ""), (1, "the latest is not drawn"), (7, "the 7 latest are not drawn")]
)
def test_phases_that_are_not_drawn_are_counted(beyond: int, note: str) -> None:
    limits, frame, story = STEPS[-1], Frame(0, 1_000 * S), Story()
    for number in range(limits.segments + beyond):
        story.add(number * S, "runner", "ok", "phase", f"p{number}")
    lane = phases(observe(story.history()), frame, limits)
    assert lane is not None
    assert lane.note == note
    begins = [float(x) for x in re.findall(r'<rect x="([^"]*)"', str(lane.body))]
    assert len(begins) == limits.segments
    last = limits.segments - 1
    drawn_until_the_end = svg.number(float(frame.bar(last * S, 1_000 * S)["width"] or 0)) in str(lane.body)
    assert drawn_until_the_end is (not beyond), "a phase ends where the next begins, drawn or not"


def attempts(count: int) -> Story:
    story = Story()
    plan = {"kind": "pause", "spec": {}}
    for number in range(count):
        for moment, f in ((2 * number * S, "inject"), (2 * number * S + S, "heal")):
            story.add(moment, "nemesis", "invoke", f, f"f{number}", plan)
            story.add(moment + MS, "nemesis", "ok", f, f"f{number}", plan | {"targets": ["n1"]})
    story.add(3 * count * S, "runner", "ok", "phase", "done")
    return story


def test_faults_that_are_not_shaded_through_the_lanes_are_counted() -> None:
    limit = STEPS[-1].segments
    whole, one, more = (
        str(timeline(observe(attempts(limit + beyond).history()), (), STEPS[-1])) for beyond in (0, 1, 7)
    )
    assert "shaded through" not in whole
    assert "the latest is not shaded through the lanes" in one
    assert "the 7 latest are not shaded through the lanes" in more
    assert whole.count('class="window"') == more.count('class="window"') == limit


@pytest.mark.parametrize(
    ("count", "note"), [(12, ""), (13, "; 1 more node has no row"), (20, "; 8 more nodes have no row")]
)
def test_nodes_without_a_row_are_counted(count: int, note: str) -> None:
    story = Story()
    for number in range(count):
        story.add(S, "observer", "ok", "observe", "node", {"status": "running"}, node=f"n{number:02}")
    lane = nodes(observe(story.history()), Frame(0, 60 * S), STEPS[0])
    assert lane is not None
    assert lane.note == f"thin while running; blocks while paused or exited{note}"
