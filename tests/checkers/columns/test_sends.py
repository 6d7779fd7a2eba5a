"""Sends as columns: which records were acknowledged when, and when sending began."""

from collections.abc import Callable

import msgspec

from checkers.columns.sends import acknowledged, invoked_ns
from checkers.history.operations import History, OperationType
from tests.checkers.log_histories import MS, history_of

Story = Callable[..., History]
S = 1_000_000_000


def test_one_element_a_record(story: Story) -> None:
    acked = acknowledged(story("1 send a/0 x2 ok\n2 send b/3 x1 ok"))
    assert acked.topics == ("a", "b")
    assert acked.topic.tolist() == [0, 0, 1]
    assert acked.partition.tolist() == [0, 0, 3]
    assert acked.time_ns.tolist() == [S, S, 2 * S]


def test_only_acknowledged_records_count(story: Story) -> None:
    history = story("1 send a/0 x2 info\n2 send a/0 x1 fail\n3 send a/0 x1 lost\n4 send a/0 x3 ok")
    mixed = msgspec.structs.replace(
        history.operations[-1],
        type=OperationType.INFO,
        value=[[0, 1, 7, "ok"], [1, 2, None, "info"], [2, 3, None, "fail"]],
    )
    silent = msgspec.structs.replace(history.operations[2], value=None)
    operations = (*history.operations[:2], silent, *history.operations[3:-1], mixed)
    acked = acknowledged(msgspec.structs.replace(history, operations=operations))
    assert acked.partition.tolist() == [0]
    assert acked.time_ns.tolist() == [4 * S]


def test_every_record_that_was_begun_counts(story: Story) -> None:
    begun = invoked_ns(story("1 send a/0 x2 info\n3 send a/0 x1 lost\n4 send b/0 x1 ok"))
    assert begun.tolist() == [round(at * S) for at in (0.99, 0.99, 2.99, 3.99)]


def test_nothing_was_sent(story: Story) -> None:
    assert len(acknowledged(story("")).time_ns) == 0
    assert len(invoked_ns(story(""))) == 0


def test_runs_and_transactions_count_record_by_record() -> None:
    history = history_of("""
        p0 run 1=5x3 7x2 9x1
        p1 send 0@0=1 0@x=2
        p2 txn commit 0@4=8 <0@0=1 1@5=9
        p2 txn abort 0@7=10
        p0 run 1=20x4 !
        p1 send 0@8=11
        p3 txn commit <0@0=1
    """)
    acked = acknowledged(history)
    assert acked.partition.tolist() == [1, 1, 1, 0, 0, 1, 0]
    assert acked.topics == ("log-0",)
    assert [time_ns // MS for time_ns in acked.time_ns.tolist()] == [1, 1, 1, 2, 3, 3, 6]
    begun = invoked_ns(history).tolist()
    assert [time_ns // MS for time_ns in begun] == [1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 5, 6]
