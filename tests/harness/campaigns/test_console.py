"""What a run shows while it goes on."""

import io
import time

import pytest
from rich.console import Console

from checkers.history.faults import GambitEnded
from checkers.history.observed import NodeSeen, PartitionAnswer, PartitionsSeen
from checkers.history.operations import Operation, OperationType
from checkers.history.polls import Isolation, Polled
from checkers.history.quorum import LeaderSeen, QuorumSeen
from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns.console import Board, LineConsole, LiveConsole, console_for
from harness.record.events import (
    Event,
    PhaseBegan,
    Recorded,
    RecordsAcknowledged,
    RunBegan,
    RunEnded,
    StaticMemberSeen,
)

OK, INFO = OperationType.OK, OperationType.INFO
CUT = {"kind": "partition", "spec": {"pattern": "halves"}, "targets": ("n1",)}
LED = LeaderSeen(0, "leader", 2, 5, 9, 0, ())
STATES = (PartitionAnswer(0, 2, 5, (1, 2, 3), (1, 2), None),)


def recorded_event(
    kind: OperationType, f: str, key: object = None, value: object = None, **more: str
) -> Event:
    return Recorded(Operation(0, 0, "x", kind, f, key, value, **more))


STORY: tuple[Event, ...] = (
    RunBegan("smoke/partition", "4.3.1", 7, "runs/x"),
    PhaseBegan("load", limit_s=45.0),
    recorded_event(OK, "observe", "node", {"status": "running", "exit_code": 0}, node="n1"),
    recorded_event(OK, "observe", "quorum", LED, node="n2"),
    recorded_event(OK, "observe", "quorum", LED, node="n2"),
    recorded_event(OK, "observe", "quorum", QuorumSeen(0, "error"), node="n1"),
    recorded_event(OK, "observe", "partitions", PartitionsSeen(0, {"log-0": STATES}), node="n2"),
    recorded_event(OperationType.INVOKE, "send"),
    recorded_event(OK, "send"),
    recorded_event(INFO, "send"),
    recorded_event(OK, "inject", "f1", CUT),
    recorded_event(OK, "observe", "node", {"status": "exited", "exit_code": 137}, node="n1"),
    recorded_event(INFO, "heal", "f1", CUT, error="rules are left"),
    recorded_event(OK, "recover", None, {"took_ms": 1200}),
    PhaseBegan("image", "downloading"),
    RunEnded("runs/x", Verdict(Validity.VALID, ()), "krucible run x"),
)
LINES = [
    "smoke/partition on Kafka 4.3.1, seed 7, in runs/x",
    "load",
    "node n1 running",
    "controller is node 2 in epoch 5",
    "inject f1 partition halves n1: proven",
    "node n1 exited with 137",
    "heal f1 partition halves n1: not confirmed (rules are left)",
    "recover within 1.2 s: every partition",
    "image: downloading",
]


def test_a_pipe_gets_one_line_an_event_and_none_an_operation() -> None:
    stream = io.StringIO()
    with console_for(stream) as console:
        assert isinstance(console, LineConsole)
        for event in STORY:
            console.hear(event)

    assert [line.split(" s  ", 1)[1] for line in stream.getvalue().splitlines()] == LINES


def test_a_terminal_gets_a_panel_with_rates_leaders_and_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    screen = Console(file=io.StringIO(), force_terminal=True, width=120, height=40)
    console = LiveConsole(screen)
    with console:
        for event in STORY[:12]:
            console.hear(event)
        sheet = Console(file=io.StringIO(), width=120)
        sheet.print(console._render())

    panel = sheet.file.getvalue()  # type: ignore[attr-defined]
    assert "ok 1  fail 0  info 1" in panel
    assert "node 2 in epoch 5" in panel
    assert "0→2 isr 2" in panel
    assert "f1 partition halves n1" in panel
    assert "of 45 s" in panel


def test_faults_in_force_count_down_and_refused_ones_are_not_in_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    board = Board({"f1": 8_000, "blink1": 500})

    def faults() -> str:
        return dict(board.rows())["faults"]

    refused = {"kind": "kill", "spec": {}, "refused": "held"}
    board.take(recorded_event(OperationType.FAIL, "inject", "f2", refused, error="held"))
    assert faults() == "none"
    board.take(recorded_event(OperationType.INVOKE, "inject", "f1", CUT))
    assert faults() == "none"
    board.take(recorded_event(OK, "inject", "f1", CUT))
    board.take(recorded_event(INFO, "inject", "g1f1", {"kind": "pause", "spec": {}, "targets": ("b2",)}))
    assert faults() == "f1 partition halves n1, 8 s left; g1f1 pause b2, for 0 s"
    now_s[0] += 3
    assert faults() == "f1 partition halves n1, 5 s left; g1f1 pause b2, for 3 s"
    now_s[0] += 6
    assert faults() == "f1 partition halves n1, about to be healed; g1f1 pause b2, for 9 s"
    board.take(recorded_event(OK, "heal", "f1", CUT))
    assert faults() == "g1f1 pause b2, for 9 s"


def test_operations_of_every_workload_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    board = Board()
    board.take(PhaseBegan("start"))
    now_s[0] += 6
    board.take(PhaseBegan("load", limit_s=45.0))
    now_s[0] += 4
    for f in ("share-poll", "acknowledge", "commit", "create-topic"):
        board.take(recorded_event(OK, f))
    for records in (300, 200):
        board.take(RecordsAcknowledged(records))
    board.take(StaticMemberSeen("g", "g-0", away=True))
    assert board.news(StaticMemberSeen("g", "g-0", away=True)) is None
    rows = dict(board.rows())
    assert rows["phase"] == "load  4 of 45 s  (10 s in total)"
    assert rows["share-poll"] == "ok 1  fail 0  info 0  (0 ok/s)"
    assert {"acknowledge", "commit", "create-topic"} < set(rows)
    assert rows["records"] == "500 acknowledged  (50 a second)"


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_ci_gets_lines_and_no_color_gets_a_panel_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert isinstance(console_for(Terminal()), LineConsole)
    monkeypatch.delenv("CI")
    monkeypatch.setenv("NO_COLOR", "1")
    live = console_for(Terminal())
    assert isinstance(live, LiveConsole)
    assert live._console.no_color


def test_what_a_node_logged_is_no_markup() -> None:
    screen = Console(file=io.StringIO(), width=120)
    LiveConsole(screen).hear(PhaseBegan("start", "no answer from [/10.213.0.11:9093]"))
    assert "[/10.213.0.11:9093]" in screen.file.getvalue()  # type: ignore[attr-defined]


def test_a_reader_that_has_gone_does_not_end_the_run() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    LineConsole(Gone()).hear(PhaseBegan("load"))


def test_structs_that_were_written_are_shown_as_what_is_read_of_them() -> None:
    board = Board()
    ended = recorded_event(INFO, "gambit", "g1", GambitEnded("pause", 3, 1, ("f",)), error="nobody leads")
    died = recorded_event(OK, "observe", "node", NodeSeen("exited", 137), node="n1")
    polled = Polled(client="kafka-python", isolation=Isolation.READ_COMMITTED, records=[])
    for event in (ended, died, recorded_event(OK, "poll", "log-0", polled)):
        board.take(event)
    assert board.news(died) == "node n1 exited with 137"
    assert "ended early, nobody leads" in (board.news(ended) or "")
    assert ("poll", "ok 1") in [(label, text.split("  ")[0]) for label, text in board.rows()]
