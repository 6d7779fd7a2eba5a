"""Calls are paired, drawn on rows of their processes, and as drawings of what an anomaly's witness did."""

import re
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest

from checkers.history.operations import History
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.report import render_report
from results.report.cards.cards import cards_of
from results.report.cards.witness import draw_witness, witnessed
from results.report.drawing.frame import GUTTER, PLOT, WIDTH, Frame, width_of
from results.report.reading.calls import NONE, OUTCOMES, CallColumns, calls_of
from results.report.size_limits import STEPS
from results.report.timeline.operations import operations, tracks
from results.run.observation import FaultSeen, observe
from tests.results.story import MS, Run, S, Story


def call_rows(calls: CallColumns) -> list[tuple[int | str, str, int, int, str, int, int]]:
    return [
        (calls.processes[p], calls.names[f], began // MS, ended // MS, OUTCOMES[outcome], invoked, completed)
        for p, f, began, ended, outcome, invoked, completed in zip(
            *(column.tolist() for column in calls[:7]), strict=True
        )
    ]


def test_an_invocation_and_its_completion_are_one_call() -> None:
    story = Story()
    story.add(1 * S, 0, "invoke", "send", "t")
    story.add(2 * S, 1, "invoke", "send", "t")
    story.add(3 * S, 0, "ok", "send", "t")
    story.add(4 * S, 1, "info", "send", "t")
    assert call_rows(calls_of(story.history())) == [
        (0, "send", 1_000, 3_000, "ok", 0, 2),
        (1, "send", 2_000, 4_000, "info", 1, 3),
    ]


def test_what_is_never_answered_is_open_until_the_history_ends() -> None:
    story = Story()
    story.add(1 * S, 0, "invoke", "send", "t")
    story.add(2 * S, 0, "invoke", "poll", "t")
    story.add(9 * S, 1, "ok", "phase", "done")
    assert call_rows(calls_of(story.history()))[1:] == [
        (0, "send", 1_000, 9_000, "open", 0, NONE),
        (0, "poll", 2_000, 9_000, "open", 1, NONE),
    ]


def test_an_answer_to_something_else_is_a_call_by_itself() -> None:
    story = Story()
    story.add(1 * S, 0, "invoke", "send", "t")
    story.add(2 * S, 0, "ok", "phase", "x")
    story.add(3 * S, 0, "ok", "send", "t")
    assert call_rows(calls_of(story.history())) == [
        (0, "phase", 2_000, 2_000, "ok", NONE, 1),
        (0, "send", 1_000, 3_000, "ok", 0, 2),
    ]


@pytest.mark.parametrize(
    ("began", "expected"), [(1_500 * MS, 1_500), (-1, 2_000), (9 * S, 2_000), ("x", 2_000)]
)
def test_an_observation_begins_when_its_observer_asked(began: object, expected: int) -> None:
    story = Story()
    story.add(2 * S, "observer-quorum-n1", "ok", "observe", "quorum", {"began_ns": began})
    assert call_rows(calls_of(story.history()))[0][2] == expected


@pytest.mark.parametrize("time_ns", [-5, 2**70])
def test_times_of_any_size_are_paired(time_ns: int) -> None:
    story = Story()
    story.add(time_ns, 0, "ok", "send", "t")
    assert calls_of(story.history()).ended_ns.tolist() == [NONE if time_ns < 0 else 2**62]
    assert calls_of(History("", "", ())).process.size == 0


def test_successors_share_a_row_and_observers_have_none() -> None:
    story = Story()
    for process, begin, end, kind in ((0, 1, 3, "info"), (1, 1, 4, "ok"), (2, 5, 6, "info"), (4, 7, 8, "ok")):
        story.add(begin * S, process, "invoke", "send", "t")
        story.add(end * S, process, kind, "send", "t")
    story.add(2 * S, "admin", "invoke", "elect-leaders")
    story.add(3 * S, "admin", "ok", "elect-leaders")
    story.add(3 * S, "observer-nodes", "ok", "observe", "node", {})
    story.add(3 * S, "runner", "ok", "phase", "x")
    found = list(tracks(calls_of(story.history())))
    assert [track.processes for track in found] == [("admin",), (0, 2, 4), (1,)]
    assert [track.calls.size for track in found] == [1, 3, 1]


def drawn_lane(story: Story) -> str:
    history = story.history()
    lane = operations(calls_of(history), Frame(0, 100 * S), STEPS[0])
    assert lane is not None
    return str(lane.body)


def test_short_operations_are_a_line_with_its_pauses() -> None:
    story = Story()
    for tick in (*range(0, 20_000, 50), *range(60_000, 80_000, 50)):
        story.add(tick * MS, 0, "invoke", "send", "t")
        story.add((tick + 40) * MS, 0, "ok", "send", "t")
    drawn = drawn_lane(story)
    (path,) = re.findall(r'<path d="([^"]*)" class="busy"', drawn)
    spans: list[Any] = [(float(x), float(w)) for x, w in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", path)]
    scale = PLOT / 100
    assert spans == [
        (pytest.approx(GUTTER, abs=0.1), pytest.approx(20 * scale, abs=0.5)),
        (pytest.approx(GUTTER + 60 * scale, abs=0.1), pytest.approx(20 * scale, abs=0.5)),
    ]
    assert "call" not in drawn


def test_long_and_doubtful_operations_are_bars_with_signs() -> None:
    story = Story()
    for number, (length, kind) in enumerate([(9_000, "ok"), (10, "info"), (10, "fail"), (10, "ok")]):
        story.add(number * 10 * S, number, "invoke", "send", "t")
        story.add(number * 10 * S + length * MS, number, kind, "send", "t")
    story.add(90 * S, 9, "invoke", "send", "t")
    story.add(95 * S, "runner", "ok", "phase", "end")
    drawn = drawn_lane(story)
    assert re.findall(r'class="call (\w+)"', drawn) == ["ok", "info", "fail", "open"]
    assert drawn.count("mark-info") == drawn.count("mark-fail") == 1
    assert "send, process 0 from 0.0 to 9.0 s: ok" in drawn
    assert ">send</text>" in drawn


def test_bars_and_rows_are_bounded_and_doubtful_ones_come_first() -> None:
    story = Story()
    for process in range(40):
        for tick in range(10):
            story.add(tick * 10 * S + process, process, "invoke", "send", "t")
            story.add(tick * 10 * S + 9 * S + process, process, "fail" if tick == 9 else "ok", "send", "t")
    limits = msgspec.structs.replace(STEPS[0], segments=3, processes=5)
    lane = operations(calls_of(story.history()), Frame(0, 100 * S), limits)
    assert lane is not None
    assert "35 rows more are not shown" in lane.note
    assert lane.body.count('class="call ') == 15
    assert lane.body.count('class="call fail"') == 5


def test_no_lane_without_any_operation() -> None:
    assert operations(calls_of(History("", "", ())), Frame(0, S), STEPS[0]) is None


def lost() -> Story:
    story = Story()
    story.add(1 * S, "nemesis", "invoke", "inject", "f1", {"kind": "kill", "spec": {}})
    story.add(2 * S, "nemesis", "ok", "inject", "f1", {"kind": "kill", "targets": ["n1"]})
    story.add(3 * S, 3, "invoke", "send", "log-0", [[0, 7]])
    story.add(4 * S, 3, "ok", "send", "log-0", [[0, 7, 5, "ok"]])
    story.add(5 * S, 4, "invoke", "final-read", "log-0")
    story.add(6 * S, "observer-quorum-n2", "ok", "observe", "quorum", {"began_ns": 5_900 * MS}, node="n2")
    return story


def test_a_witness_is_drawn_with_processes_order_faults_and_moment() -> None:
    history = lost().history()
    seen = witnessed(history, observe(history).faults)
    drawn = draw_witness(seen, (2, 3, 4, 5), 4 * S)
    assert re.findall(r'class="row"[^>]*>([^<]*)<', drawn) == ["3", "4", "n2"]
    assert re.findall(r'class="call (\w+)"', drawn) == ["ok", "open", "ok"]
    assert "send log-0 ok (2 to 3)" in drawn
    assert "final-read log-0 never ended (4)" in drawn
    assert "observe quorum ok (5)" in drawn
    assert "f1 kill n1" in drawn
    assert drawn.count('class="then"') == 1
    assert drawn.count("anomaly-line") == 1


def test_either_end_of_a_call_is_enough_and_strangers_are_nothing() -> None:
    history = lost().history()
    seen = witnessed(history, ())
    assert (
        draw_witness(seen, (2,), None) == draw_witness(seen, (3,), None) == draw_witness(seen, (3, 2), None)
    )
    assert draw_witness(seen, (-1, 99), 4 * S) == ""
    assert draw_witness(seen, (), None) == ""


def test_a_moment_far_away_does_not_squeeze_the_witness() -> None:
    history = lost().history()
    drawn = draw_witness(witnessed(history, ()), (2,), 9_000 * S)
    assert "anomaly-line" not in drawn
    (width,) = re.findall(r'width="([\d.]+)"[^>]*class="call ok"', drawn)
    assert float(width) > PLOT * 0.8


def test_every_anomaly_with_a_witness_has_a_drawing_until_there_are_too_many(red_run: Run) -> None:
    seen = witnessed(red_run.history, observe(red_run.history).faults)
    found = cards_of(red_run.verdict, seen, STEPS[0])
    assert all(finding.drawing and not finding.circular for finding in found.all)
    limits = msgspec.structs.replace(STEPS[0], drawings=2)
    fewer = cards_of(red_run.verdict, seen, limits)
    assert [finding.drawing is not None for finding in fewer.all] == [True, True, False, False, False]
    assert fewer.drawings_left_out == 3


def test_what_is_not_drawn_is_counted_on_the_page() -> None:
    many = [
        Anomaly(f"a-{i % 9}", "s", "g", "s", subject=f"n{i}", time_ns=i * MS, witness=(2,))
        for i in range(150)
    ]
    page = render_report(lost().history(), Verdict(Validity.INVALID, (result_of("log", many),)))
    assert "110 of these witnesses are not drawn." in page  # ten are drawn as messages


def test_many_places_are_those_of_single_moments() -> None:
    frame = Frame(1 * S, 3 * S)
    times = np.array([0, S, 2 * S, 9 * S])
    assert frame.places(times).tolist() == [frame.x(t) for t in times.tolist()]


def fault_of(number: int, begin_s: float, end_s: float | None, node: str = "n1") -> FaultSeen:
    return FaultSeen(
        id=f"f{number}",
        kind="pause",
        invoked_ns=int(begin_s * S),
        targets=(node,),
        healed_ns=None if end_s is None else int(end_s * S),
    )


def test_every_fault_that_overlaps_a_witness_is_drawn_and_no_name_meets_another() -> None:
    faults = [fault_of(n, 3 + n * 0.1, 3.05 + n * 0.1 if n % 2 else None) for n in range(10)]
    faults.append(fault_of(99, 90, 91))
    drawn = str(draw_witness(witnessed(lost().history(), faults), (2, 3), None))
    names = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="fault-label">([^<]*)<', drawn)
    assert [name for _, _, name in names] == [f"f{n} pause n1" for n in range(10)]
    rows: dict[str, list[tuple[float, str]]] = {}
    for x, y, name in names:
        rows.setdefault(y, []).append((float(x), name))
    for row in rows.values():
        for (x, name), (next_x, _) in pairwise(sorted(row)):
            assert x + width_of(name) < next_x
    assert max(map(float, rows)) < min(map(float, re.findall(r'y="([\d.]+)" class="told[^"]*"', drawn)))


def test_faults_that_do_not_fit_are_counted() -> None:
    faults = [fault_of(n, 3, None) for n in range(45)]
    drawn = draw_witness(witnessed(lost().history(), faults), (2, 3), None)
    assert drawn.count('class="fault"') == 40
    assert "and 5 more faults" in drawn


def test_no_label_of_a_call_leaves_the_drawing() -> None:
    story = lost()
    story.add(
        4 * S + 1, "a process with a long name", "invoke", "some-function", "a key of thirty characters"
    )
    story.add(9 * S, "a process with a long name", "info", "some-function", "a key of thirty characters")
    drawn = str(draw_witness(witnessed(story.history(), ()), tuple(range(9)), None))
    labels = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="told[^"]*">([^<]*)<', drawn)
    assert len(labels) == 5
    for x, label in labels:
        assert float(x) >= GUTTER
        assert float(x) + len(label) * 6.3 <= WIDTH
    assert "a process…" in re.findall(r'class="row"[^>]*>([^<]*)<', drawn)


def test_a_call_that_fills_the_drawing_has_its_label_over_it() -> None:
    drawn = str(draw_witness(witnessed(lost().history(), ()), (2,), None))
    ((x, label),) = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="told[^"]*">([^<]*)<', drawn)
    (bar,) = re.findall(r'<rect x="([\d.]+)"[^>]*class="call ok"', drawn)
    assert label == "send log-0 ok (2 to 3)"
    assert 'class="told in-ok"' in drawn
    assert float(x) == float(bar) + 4
