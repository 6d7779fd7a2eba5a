"""The tally counts acknowledged records, and waits for more of them."""

import threading

from checkers.history.operations import Operation, OperationType
from checkers.history.sends import AnsweredRun, SentRun
from checkers.history.transactions import TxnEnd, TxnEnded, TxnOffsets, TxnSend, TxnSendRequested
from harness.record.events import PhaseBegan, Recorded
from harness.record.tally import AcknowledgedCounter

OK, INFO, INVOKE = OperationType.OK, OperationType.INFO, OperationType.INVOKE


def sent(kind: OperationType, *outcomes: str) -> Recorded:
    value = [[0, number, number, outcome] for number, outcome in enumerate(outcomes)]
    return Recorded(Operation(0, 0, 1, kind, "send", "log-0", value))


def transacted(kind: OperationType, end: TxnEnd) -> Recorded:
    """A transaction of two records, and of offsets, which are none."""
    mops: list[TxnSendRequested | TxnOffsets] = [
        TxnSend("t", 0, 1, 7),
        TxnSend("t", 1, 2, 9),
        TxnOffsets("g", "s", [(0, 4)]),
    ]
    value = TxnEnded(client="kafka-python", end=end, mops=mops, ended=end)
    return Recorded(Operation(0, 0, 1, kind, "txn", "copy-0", value))


def test_only_acknowledged_records_count() -> None:
    tally = AcknowledgedCounter()
    for event in (
        PhaseBegan("load"),
        Recorded(Operation(0, 0, 1, OK, "poll", "log-0", {"records": []})),
        Recorded(Operation(0, 0, 1, OK, "delete-topic", "t-1", None)),
        Recorded(Operation(0, 0, 1, INFO, "delete-topic", "t-2", None)),
        Recorded(Operation(0, 0, 1, INVOKE, "send", "log-0", [[0, 1], [0, 2]])),
        Recorded(Operation(0, 0, 1, INFO, "send", "log-0", None)),
        Recorded(Operation(0, 0, 1, OK, "delete-records", "log-0", [[2, 40]])),
        Recorded(Operation(0, 0, 1, INFO, "delete-records", "log-0", [[2, 50]])),
        sent(OK, "ok", "ok"),
        sent(INFO, "ok", "info", "fail"),
        Recorded(Operation(0, 0, 1, INVOKE, "send", "bulk-0", SentRun(0, 1, 5))),
        Recorded(Operation(0, 0, 1, OK, "send", "bulk-0", AnsweredRun(0, 1, 5, [(0, 5)]))),
        transacted(OK, "commit"),
        transacted(OperationType.FAIL, "abort"),
        Recorded(Operation(0, 0, 1, OK, "write", "offset/g/t/0", 5)),
        Recorded(Operation(0, 0, 1, INFO, "write", "offset/g/t/0", 6)),
    ):
        tally.hear(event)

    assert tally.acked == 3 + 5 + 2 + 1
    assert tally.removed == 1
    assert tally.deleted(("log-0", 2)) == 1
    assert tally.deleted(("log-0", 1)) == tally.deleted(None) == 0


def test_waiting_ends_when_enough_have_come() -> None:
    tally = AcknowledgedCounter()
    result: list[bool] = []
    waiter = threading.Thread(target=lambda: result.append(tally.await_more(5, 600, threading.Event())))
    waiter.start()
    while waiter.is_alive():
        tally.hear(sent(OK, "ok"))
    waiter.join()

    assert result == [True]


def test_waiting_ends_with_its_bound_or_when_cancelled() -> None:
    cancelled = threading.Event()
    assert not AcknowledgedCounter().await_more(1, 0.01, cancelled)
    cancelled.set()
    assert not AcknowledgedCounter().await_more(1, 60, cancelled)
