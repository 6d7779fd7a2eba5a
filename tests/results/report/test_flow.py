"""Messages of a witness: lanes, arrows, elections, faults; rows that never meet; nothing invented."""

import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.report import render_report
from results.report.cards.flow.flow import draw_flow
from results.report.cards.flow.flow_events import (
    ARROWS_MAX,
    CLUSTER,
    FAULTS_MAX,
    LEADERS_MAX,
    Flow,
    FlowEvent,
    Flows,
)
from results.report.drawing.frame import WIDTH
from results.report.reading.calls import calls_of
from results.run.causes import causes_of
from results.run.observation import observe
from tests.results.report.test_report import Outline
from tests.results.story import MS, S, Story

LOST = Anomaly("lost-write", "205 is gone", "g", "s", subject="log-0/3@205", time_ns=50 * S, witness=())


def flow_of(recording: Story, anomaly: Anomaly = LOST, checker: str = "log") -> Flow | None:
    history = recording.history()
    witness = anomaly.witness or tuple(
        o.index for o in history.operations if isinstance(o.process, int) or o.process == "reader"
    )
    found = msgspec.structs.replace(anomaly, witness=witness)
    (cause,) = causes_of(Verdict(Validity.INVALID, (result_of(checker, [found]),)))
    return Flows(history, calls_of(history), observe(history)).of(cause, 60)


def flow(recording: Story, anomaly: Anomaly = LOST, checker: str = "log") -> Flow:
    made = flow_of(recording, anomaly, checker)
    assert made is not None
    return made


def test_the_broker_in_a_request_is_the_one_that_was_asked() -> None:
    recording = Story()
    recording.setup()
    recording.add(18 * S, 1, "invoke", "fetch-offsets", "g-1", {"topic": "log-0", "to": 2})
    recording.add(19 * S, 1, "ok", "fetch-offsets", "g-1", {"topic": "log-0", "to": 2})
    recording.add(20 * S, 1, "invoke", "fetch-offsets", "g-1", {"topic": "log-0", "to": 99})
    made = flow(
        recording, msgspec.structs.replace(LOST, id="kept-offset-lost", subject="g-1 log-0/3"), "erasures"
    )
    assert [event.target for event in made.events if event.kind == "ask"] == ["n2", CLUSTER]
    assert not made.led


def view(recording: Story, at_s: int, leader: int, epoch: int) -> None:
    value = {"began_ns": at_s * S, "topics": {"log-0": [[3, leader, epoch, [1, 2, 3], [1, 2], []]]}}
    recording.add(at_s * S, "observer-partitions-n1", "ok", "observe", "partitions", value, node="n1")


def fault(recording: Story, name: str, begin_s: float, end_s: float | None, *, node: str = "n1") -> None:
    plan = {"kind": "pause", "spec": {"kind": "pause"}}
    recording.add(int(begin_s * S), f"nemesis-{name}", "invoke", "inject", name, plan)
    recording.add(int(begin_s * S) + 1, f"nemesis-{name}", "ok", "inject", name, plan | {"targets": [node]})
    if end_s is not None:
        recording.add(int(end_s * S) - 1, f"nemesis-{name}", "invoke", "heal", name, plan)
        recording.add(int(end_s * S), f"nemesis-{name}", "ok", "heal", name, plan)


def story() -> Story:
    """n1 leads, acknowledges and is paused; n2 is elected; a read does not return the record."""
    recording = Story()
    recording.setup()
    view(recording, 2, 1, 4)
    recording.add(18 * S, 7, "invoke", "send", "log-0", [[3, 205]])
    recording.add(19 * S, 7, "ok", "send", "log-0", [[3, 205, 205, "ok"]])
    fault(recording, "f1", 20, 30)
    view(recording, 22, 2, 5)
    asked = {"client": "kafka-python", "isolation": "read_committed", "partition": 3}
    read = {"start": 0, "end": 300, "position": 300, "records": [[3, [204, 206], [1, 2]]]}
    recording.add(48 * S, "reader", "invoke", "final-read", "log-0", asked)
    recording.add(49 * S, "reader", "ok", "final-read", "log-0", asked | read)
    return recording


def rows(made: Flow) -> list[tuple[Any, ...]]:
    return [(None if e.time_ns is None else e.time_ns // S, e.kind, e.source, e.target) for e in made.events]


def test_messages_elections_and_faults_are_in_the_order_of_time() -> None:
    made = flow(story())
    assert rows(made) == [
        (2, "leader", "n1", ""),
        (18, "ask", "client 7", "n1"),
        (19, "ok", "n1", "client 7"),
        (20, "fault", "", ""),
        (22, "leader", "n2", ""),
        (30, "healed", "", ""),
        (48, "ask", "reader", "n2"),
        (49, "ok", "n2", "reader"),
        (50, "broke", "", ""),
    ]
    assert (made.clients, made.nodes) == (("client 7", "reader"), ("n1", "n2", "n3"))
    assert made.guessed
    assert made.left_out == ()
    assert [re.sub(r" \(\d+\)$", "", event.text) for event in made.events] == [
        "n1 leads epoch 4",
        "client 7 to n1: send 205 to log-0/3",
        "n1 to client 7: 205 at offset 205",
        "fault f1 pause n1 begins",
        "n2 leads epoch 5",
        "fault f1 pause n1 is healed",
        "reader to n2: read log-0/3 to its end, read_committed",
        "n2 to reader: 2 records, from offset 0 to 300; nothing at 205, next to it 204 and 206",
        "lost-write is visible",
    ]


@pytest.mark.parametrize(
    ("kind", "error", "answer_kind", "text"),
    [
        ("info", "KafkaTimeoutError: 30 s", "none", "client 7 got no answer, info: KafkaTimeoutError: 30 s"),
        ("info", "", "none", "client 7 got no answer, info: no error recorded"),
        ("fail", "[Error 19] NotEnough", "fail", "n1 to client 7: fail, NOT_ENOUGH_REPLICAS (19)"),
        ("info", "REQUEST_TIMED_OUT: late", "info", "n1 to client 7: info, REQUEST_TIMED_OUT: late"),
    ],
)
def test_an_answer_is_one_only_if_kafka_gave_it(kind: str, error: str, answer_kind: str, text: str) -> None:
    made = Story()
    made.setup()
    view(made, 2, 1, 4)
    made.add(18 * S, 7, "invoke", "send", "log-0", [[3, 205]])
    made.add(19 * S, 7, kind, "send", "log-0", [[3, 205, None, kind]], error=error)
    answer = flow(made).events[2]
    assert (answer.kind, re.sub(r" \(\d+\)$", "", answer.text)) == (answer_kind, text)


def test_what_was_never_answered_comes_last() -> None:
    made = Story()
    made.setup()
    view(made, 2, 1, 4)
    made.add(18 * S, 7, "invoke", "send", "log-0", [[3, 205]])
    last = flow(made).events[-1]
    assert (last.time_ns, last.kind) == (None, "none")
    assert last.text == "client 7 got no answer before the history ended"
    drawn = draw_flow(flow(made))
    assert 'class="msg none"' in drawn
    assert "mark-fail" in drawn


def test_who_was_asked_is_not_invented() -> None:
    made = Story()
    made.setup()
    made.add(18 * S, 7, "invoke", "send", "log-0", [[3, 205]])
    made.add(19 * S, 7, "ok", "send", "log-0", [[3, 205, 205, "ok"]])
    made.add(20 * S, 8, "invoke", "send", "log-0", [[1, 9]])
    made.add(21 * S, 8, "ok", "send", "log-0", [[1, 9, 5, "ok"]])
    view(made, 30, -1, 6)
    made.add(31 * S, 9, "invoke", "send", "log-0", [[3, 7]], node="n2")
    made.add(32 * S, 9, "ok", "send", "log-0", [[3, 7, 8, "ok"]], node="n2")
    drawn = flow(made)
    assert [e.target for e in drawn.events if e.kind == "ask"] == [CLUSTER, CLUSTER, "n2"]
    assert not drawn.guessed
    assert drawn.nodes[-1] == CLUSTER
    assert (30, "leader", "", "") in rows(drawn)
    assert "no leader, epoch 6" in [event.text for event in drawn.events]


def test_reigns_of_the_quorum_overlap_where_two_lead() -> None:
    recording = story()
    recording.quorum(zombie=True)
    history = recording.history()
    seen = [o.index for o in history.operations if o.key == "quorum" and 9 * S < o.time_ns < 9_600 * MS]
    zombie = msgspec.structs.replace(LOST, subject="epoch 1", time_ns=9 * S, witness=tuple(seen))
    made = flow(recording, zombie, "quorum")
    assert {(e.kind, e.source, e.target) for e in made.events if e.kind == "observed"} == {
        ("observed", node, "observers") for node in ("n1", "n2", "n3")
    }
    leading = [(one.node, one.epoch) for one in made.led]
    assert leading == [("n1", 1), ("n2", 2)]
    bars = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="5" height="([\d.]+)" class="flow-leader"', draw_flow(made)
    )
    (_, one, height), (_, other, _) = bars
    assert float(one) < float(other) < float(one) + float(height)


def test_a_client_asks_the_leader_of_the_partition_where_the_quorum_is_drawn() -> None:
    recording = story()
    recording.quorum()
    made = flow(recording, checker="metadata")
    assert [one.text for one in made.led] == ["leads epoch 3", "leads epoch 4"]
    assert [event.target for event in made.events if event.kind == "ask"] == ["n1", "n2"]
    assert made.guessed


def test_a_witness_without_calls_and_a_cause_without_a_witness_have_no_flow() -> None:
    recording = story()
    assert flow_of(recording, msgspec.structs.replace(LOST, witness=(9_999,))) is None
    empty = Verdict(Validity.INVALID, (result_of("log", [], counts={"lost-write": 3}),))
    history = recording.history()
    flows = Flows(history, calls_of(history), observe(history))
    assert [flows.of(cause, 12) for cause in causes_of(empty)] == [None] * len(causes_of(empty))


def test_an_operation_that_was_never_begun_is_shown() -> None:
    recording = Story()
    recording.setup()
    recording.add(19 * S, 7, "ok", "send", "log-0", [[3, 205, 205, "ok"]])
    (event,) = [event for event in flow(recording).events if event.kind == "observed"]
    assert event.text.startswith("client 7: send, 205 at offset 205")
    assert event.source == CLUSTER


def crowded() -> Story:
    recording = story()
    for number in range(20):
        recording.add((19 * S) + number * 2, 20 + number, "invoke", "send", "log-0", [[3, number]])
        recording.add(
            (19 * S) + number * 2 + 1, 20 + number, "ok", "send", "log-0", [[3, number, number, "ok"]]
        )
    for number in range(30):
        fault(recording, f"x{number}", 19 + number * 0.1, 40, node=f"n{number % 3 + 1}")
        view(recording, 23 + number, number % 3 + 1, 6 + number)
    return recording


def test_what_does_not_fit_is_counted() -> None:
    made = flow(crowded())
    kinds = [event.kind for event in made.events]
    assert sum(kind in {"ask", "ok", "none", "observed"} for kind in kinds) == ARROWS_MAX
    assert kinds.count("leader") == LEADERS_MAX
    assert kinds.count("fault") + kinds.count("passing") == FAULTS_MAX == len(made.faults)
    messages, elections, faults = made.left_out
    assert messages == "19 more messages"
    assert re.fullmatch(r"\d+ later elections", elections)
    assert faults.startswith("7 later faults (")
    assert len(made.clients) == 4
    assert "others" in made.clients


def test_a_fault_during_which_nothing_happens_is_one_row() -> None:
    recording = story()
    fault(recording, "blink", 33, 34, node="n3")
    made = flow(recording)
    (row,) = [event for event in made.events if event.fault == "blink"]
    assert (row.kind, row.text) == ("passing", "fault blink pause n3, healed at 34.000 s")


def test_a_fault_that_is_not_healed_lasts_to_the_end_and_one_before_is_not_drawn() -> None:
    recording = story()
    fault(recording, "over", 3, 4)
    fault(recording, "left", 21, None, node="n9")
    made = flow(recording)
    assert [one.id for one in made.faults] == ["f1", "left"]
    bands = re.findall(r'class="flow-fault"', draw_flow(made))
    assert len(bands) == 1 + len(made.nodes)  # where no lane is its target, it is over all of them


def test_bands_of_one_node_lie_within_each_other_and_those_of_others_are_as_wide() -> None:
    recording = story()
    fault(recording, "f2", 21, 23)
    fault(recording, "f3", 24, 26, node="n2")
    widths = [
        float(w) for w in re.findall(r'width="([\d.]+)"[^>]*class="flow-fault"', draw_flow(flow(recording)))
    ]
    assert widths[0] > widths[1]
    assert widths[0] == widths[2]


def places(drawn: str) -> list[tuple[float, float, str]]:
    """Place and text of every line of text."""
    found = re.findall(
        r'<t(?:ext|span)[^>]* ?x="([\d.]+)" y="([\d.]+)"[^>]*>(?:<title>[^<]*</title>)?([^<]+)<', drawn
    )
    return [(float(x), float(y), text) for x, y, text in found]


@pytest.mark.parametrize("make", [story, crowded])
def test_no_label_meets_another_one_or_leaves_the_drawing(make: Any) -> None:
    recording = make()
    recording.add(19 * S + 500 * MS, 3, "invoke", "send", "log-0", [[3, 9]])
    long = "KafkaTimeoutError: " + "a very long reason " * 20
    recording.add(19 * S + 500 * MS, 3, "info", "send", "log-0", [[3, 9, None, "info"]], error=long)
    drawn = str(draw_flow(flow(recording)))
    lines = sorted({y for _, y, _ in places(drawn)})
    assert all(below - above > 10 for above, below in pairwise(lines))
    column = max(x for x, _, _ in places(drawn))
    for x, _, text in places(drawn):
        if x == column:
            assert x + len(text.rstrip()) * 5.9 <= WIDTH
    height = float(re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', drawn)[0])
    assert lines[-1] < height


def test_names_of_lanes_do_not_touch() -> None:
    drawn = str(draw_flow(flow(crowded())))
    names = re.findall(r'<tspan x="([\d.]+)" y="([\d.]+)">([^<]*) </tspan>(?=.*?class="lifeline-name)', drawn)
    at: dict[str, list[tuple[float, str]]] = {}
    for x, y, name in names:
        at.setdefault(y, []).append((float(x), name))
    for line in at.values():
        for (x, name), (other_x, other) in pairwise(sorted(set(line))):
            assert other_x - x >= (len(name) + len(other)) / 2 * 6


def test_a_page_draws_the_flow_of_a_broken_promise_in_place_of_its_witness() -> None:
    history = story().history()
    witness = tuple(o.index for o in history.operations if isinstance(o.process, int))
    found = msgspec.structs.replace(LOST, witness=witness)
    legal = msgspec.structs.replace(found, illegal=False, licence="l", subject="log-0/4@9")
    page = Outline(render_report(history, Verdict(Validity.INVALID, (result_of("log", [found, legal]),))))
    assert page.of_class("flow") == 1
    assert page.of_class("drawn") == 2
    assert "The history does not record which broker a client asks." in page.text
    assert "client 7 to n1: send 205 to log-0/3" in page.text


def test_hostile_texts_stay_text() -> None:
    text = '</svg><script>alert(1)</script>"\u202e\x1b[2J'
    recording = story()
    recording.add(19 * S + 5, text, "invoke", text, text, {text: text}, node=text)
    recording.add(19 * S + 6, text, "info", text, text, {text: text}, node=text, error=text)
    history = recording.history()
    found = msgspec.structs.replace(LOST, witness=tuple(range(len(history.operations))))
    (cause,) = causes_of(Verdict(Validity.INVALID, (result_of("log", [found]),)))
    made = Flows(history, calls_of(history), observe(history)).of(cause, 60)
    assert made is not None
    drawn = str(draw_flow(made))
    assert "<script>" not in drawn
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", drawn)
    assert not re.search(r"http|href|url\(|style=| id=|<style", drawn)


def test_an_arrow_within_one_lane_is_not_drawn() -> None:
    event = FlowEvent(time_ns=5, kind="ok", text="t", source="a", target="a")
    lone = Flow(clients=("a",), nodes=(), events=(event,), led=(), faults=(), left_out=(), guessed=False)
    assert 'class="msg' not in draw_flow(lone)
    nowhere = msgspec.structs.replace(lone, events=(msgspec.structs.replace(event, target="b"),))
    assert 'class="msg' not in draw_flow(nowhere)
