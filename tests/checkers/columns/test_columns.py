"""A history becomes columns: codes for names, rows for records, times and operations beside them."""

from typing import Any

import numpy as np
import pytest

from checkers.columns.tables import NEVER, NONE, Columns, PartitionName, ReaderName, SendOutcome, Sends
from checkers.evidence.loading import columns_of
from checkers.history.operations import History, Operation, OperationType
from tests.checkers.log_histories import MS, history_of


def columns(text: str) -> Columns:
    return columns_of(history_of(text))


def test_sends_stand_in_the_order_of_invocation_with_their_answers() -> None:
    sends = columns("""
        p0 > 0=10 0=11
        p1 > 0=20
        p1 < 0@5=20
        p0 < 0@x=10 0@7=11
        p2 > 0=30
        p0 send 0@-=12
        p0 > 0=13
        p0 ! fail
        p1 > 0=21
        p1 ! info
    """).sends
    assert sends.value.tolist() == [10, 11, 20, 30, 12, 13, 21]
    assert sends.offset.tolist() == [NONE, 7, 5, NONE, NONE, NONE, NONE]
    assert [SendOutcome(code).name for code in sends.outcome] == [
        "FAIL",
        "OK",
        "OK",
        "INFO",
        "OK",
        "FAIL",
        "INFO",
    ]
    assert sends.process.tolist() == [0, 0, 1, 2, 0, 0, 1]
    assert sends.invoke_op.tolist() == [1, 1, 2, 5, 6, 8, 10]
    assert sends.complete_op.tolist() == [4, 4, 3, NONE, 7, 9, 11]
    assert sends.invoked_ns.tolist() == [MS, MS, 2 * MS, 5 * MS, 6 * MS, 7 * MS, 9 * MS]
    assert sends.completed_ns[[0, 3]].tolist() == [4 * MS + MS // 2, NEVER]


def test_reads_know_their_calls_and_calls_their_assignments() -> None:
    loaded = columns("""
        setup partitions=2
        r8 poll 1@4=1
        r9 assign 0@3 1@4
        r9 poll 0@3=7 1@4=1
        r9 assign 0@0
        r9 poll
        b final 1 2..9:5 1@4=1
    """)
    assert loaded.reads.partition.tolist() == [1, 0, 1, 1]
    assert loaded.reads.offset.tolist() == [4, 3, 4, 4]
    assert loaded.reads.value.tolist() == [1, 7, 1, 1]
    assert loaded.reads.call.tolist() == [0, 1, 1, 3]
    assert loaded.calls.assignment.tolist() == [-1, 1, 2, 3]
    assert loaded.calls.final.tolist() == [False, False, False, True]
    assert loaded.calls.reader.tolist() == [0, 0, 0, 1]
    assert loaded.readers[1] == ReaderName("confluent-kafka", "read_uncommitted")
    assert loaded.final_readers == (1,)
    assigns = loaded.assigns
    assert assigns.assignment.tolist() == [1, 1, 2]
    assert assigns.partition.tolist() == [0, 1, 0]
    assert assigns.offset.tolist() == [3, 4, 0]
    final = loaded.final_reads
    assert (final.call[0], final.partition[0], final.start[0], final.end[0]) == (3, 1, 2, 9)
    assert (final.position[0], final.whole[0], final.listed_ns[0]) == (5, False, 7 * MS)


def test_partitions_of_the_setup_come_first() -> None:
    loaded = columns("setup partitions=2\np0 send 7@0=1 1@0=2")
    assert loaded.partitions == tuple(PartitionName("log-0", number) for number in (0, 1, 7))
    assert str(loaded.partitions[2]) == "log-0/7"
    assert loaded.sends.partition.tolist() == [2, 1]


def test_the_same_number_in_two_topics_is_two_partitions() -> None:
    history = history_of("p0 send 0@0=1")
    other = [
        Operation(9, 9 * MS, 5, OperationType.INVOKE, "send", "log-1", [[0, 2]]),
        Operation(10, 9 * MS, 5, OperationType.OK, "send", "log-1", [[0, 2, 0, "ok"]]),
    ]
    loaded = columns_of(History("run", "", (*history.operations, *other)))
    assert loaded.sends.partition.tolist() == [0, 1]


@pytest.mark.parametrize("value", ["text", -1, 2**63, 1.5, True, None, [1, 2], {"b": 1, "a": 2}])
def test_any_value_has_a_code_and_a_name(value: Any) -> None:
    sent = Operation(0, 0, 0, OperationType.INVOKE, "send", "log-0", [[0, 1], [0, value], [0, value]])
    loaded = columns_of(History("run", "", (sent,)))
    plain, code, again = loaded.sends.value.tolist()
    assert plain == 1
    assert code == again < 0
    assert loaded.value_named(plain) == 1
    assert loaded.value_named(code) == value


def test_values_that_only_look_alike_differ() -> None:
    values = [1, "1", 1.0, True]
    sent = Operation(0, 0, 0, OperationType.INVOKE, "send", "log-0", [[0, value] for value in values])
    assert len(set(columns_of(History("run", "", (sent,))).sends.value.tolist())) == 4


def test_a_final_read_that_shows_nothing_covers_nothing_but_was_begun() -> None:
    who = {"client": "kafka-python", "isolation": "read_committed", "partition": 0}
    for kind, value in ((OperationType.INFO, who), (OperationType.FAIL, None)):
        loaded = columns_of(
            History(
                "run",
                "",
                (
                    Operation(0, 0, "reader", OperationType.INVOKE, "final-read", "log-0", who),
                    Operation(1, 1, "reader", kind, "final-read", "log-0", value),
                ),
            )
        )
        assert len(loaded.final_reads.call) == 0
        assert loaded.final_readers == (0,)


def test_a_poll_or_assignment_of_unknown_fate_returned_nothing() -> None:
    who = {"client": "kafka-python", "isolation": "read_committed"}
    operations = (
        Operation(0, 0, 1, OperationType.INVOKE, "poll", "log-0", who),
        Operation(1, 1, 1, OperationType.INFO, "poll", "log-0", who),
    )
    assert len(columns_of(History("run", "", operations)).calls.op) == 0


def test_what_the_workload_was_and_when_phases_began() -> None:
    loaded = columns("setup acks=1 idempotent=no\nphase load\nphase heal")
    assert (loaded.acks, loaded.idempotent) == ("1", False)
    assert loaded.phases == {"load": 2 * MS, "heal": 3 * MS}


def test_an_empty_history_has_empty_columns() -> None:
    loaded = columns_of(History("", "", ()))
    assert loaded.partitions == ()
    assert loaded.sends.value.dtype == np.int64
    assert len(loaded.reads.value) == 0
    assert (loaded.acks, loaded.idempotent) == ("all", True)


def test_a_run_is_loaded_as_its_records() -> None:
    runs = "p0 send 0@0=1\n{}\np0 send 0@1=2 0@2=3\n{}\np1 > 0=9"
    as_run = columns(runs.format("p1 run 0=5x3 7x2 20x1", "p1 run 0=8x2 !"))
    singly = columns(runs.format("p1 send 0@7=5 0@8=6 0@20=7", "p1 send 0@?=8 0@?=9"))
    for name in Sends.__slots__:
        assert getattr(as_run.sends, name).tolist() == getattr(singly.sends, name).tolist(), name


def test_a_run_that_failed_in_part_is_answered_one_by_one() -> None:
    run = {"partition": 0, "first": 5, "count": 2}
    answers = [[0, 5, 0, "ok"], [0, 6, None, "fail"]]
    operations = (
        Operation(0, 0, 1, OperationType.INVOKE, "send", "log-0", run),
        Operation(1, 1, 1, OperationType.INFO, "send", "log-0", answers),
    )
    sends = columns_of(History("run", "", operations)).sends
    assert sends.value.tolist() == [5, 6]
    assert sends.outcome.tolist() == [SendOutcome.OK, SendOutcome.FAIL]
    assert sends.offset.tolist() == [0, NONE]
