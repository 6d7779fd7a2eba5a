"""Whose fault a duplicate is: batches on the replicas' disks tell."""

from typing import Any

import msgspec
import pytest

from checkers.evidence.loading import columns_of
from checkers.history.operations import Operation, OperationType
from checkers.logs.log import check_columns, check_log
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.log_histories import TOPIC, history_of, only
from tests.checkers.logs.replicas.replica_histories import Batch, replica, unread

TWICE = "p0 send 0@0=1\na final 0 0..2 0@0=1 0@1=1"


def judged(text: str, *values: dict[str, Any]) -> CheckerResult:
    history = history_of(text)
    size = len(history.operations)
    seen = [
        Operation(size + n, 10**9, "observer", OperationType.OK, "observe", "replica", value, node=f"n{n}")
        for n, value in enumerate(values)
    ]
    return check_log(msgspec.structs.replace(history, operations=(*history.operations, *seen)))


def numbered(*numbers: tuple[int, int, int]) -> dict[str, Any]:
    """A replica with one record a batch, of these producer ids, epochs and sequences."""
    return replica(
        [
            Batch(offset, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
            for offset, (producer, epoch, sequence) in enumerate(numbers)
        ]
    )


def test_the_broker_appended_a_retried_batch_twice() -> None:
    result = judged(TWICE, numbered((7, 0, 3), (7, 0, 3)))
    assert result.figures["duplicates_by"] == {"broker": 1}
    assert only(result).explanation[-1] == (
        "Both batches have producer id 7, epoch 0, sequence 3: the broker appended a retried batch twice."
    )
    assert result.validity is Validity.INVALID


@pytest.mark.parametrize("other", [(8, 0, 3), (7, 1, 3), (7, 0, 4), (-1, -1, -1)])
def test_the_client_sent_it_again(other: tuple[int, int, int]) -> None:
    result = judged(TWICE, numbered((7, 0, 3), other))
    assert result.figures["duplicates_by"] == {"client": 1}
    assert "the client sent the record again" in only(result).explanation[-1]
    assert result.validity is Validity.INVALID


@pytest.mark.parametrize("sent", ["p0 send 0@?=1", "p0 send 0@0=1 1@?=2"])
def test_what_the_client_gave_up_it_may_have_sent_again_but_the_broker_not(sent: str) -> None:
    """After a delivery timeout librdkafka begins a new epoch and sends again what is outstanding."""
    text = f"{sent}\na final 0 0..2 0@0=1 0@1=1\na final 1 0..0"
    by_client = judged(text, numbered((7, 0, 3), (7, 1, 0)))
    assert by_client.validity is Validity.VALID
    assert by_client.counts == {"duplicate": 1}
    assert "gave up" in (only(by_client).licence or "")
    assert judged(text, numbered((7, 0, 3), (7, 0, 3))).validity is Validity.INVALID
    assert judged(text).validity is Validity.INVALID


@pytest.mark.parametrize(
    ("other", "validity"),
    [
        pytest.param((7, 1, 0), Validity.VALID, id="a new epoch"),
        pytest.param((8, 0, 3), Validity.VALID, id="a new producer id"),
        pytest.param((7, 0, 4), Validity.INVALID, id="another number of the same epoch"),
        pytest.param((7, 0, 3), Validity.INVALID, id="the same number"),
        pytest.param((-1, -1, -1), Validity.INVALID, id="no number"),
    ],
)
def test_with_several_batches_on_their_way_librdkafka_may_begin_a_new_epoch(
    other: tuple[int, int, int], validity: Validity
) -> None:
    """Issue 4953 of confluentinc/librdkafka: a refusal that an earlier one explains is taken for a loss."""
    result = judged("setup pipelined=yes\n" + TWICE, numbered((7, 0, 3), other))
    assert result.validity is validity
    assert ("issue 4953" in (only(result).licence or "")) is (validity is Validity.VALID)


REFUSED = (
    "2026-11-26T07:34:43.584Z ERROR [data-plane-kafka-request-handler-0] [ReplicaManager broker=1] Error"
    " processing append operation on partition j2-HxA0DQM2hRLsiUs4GCg:{where} (kafka.server.ReplicaManager)\n"
    "org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number for producer 7"
    " at offset 82 in partition {where}: {incoming} (incoming seq. number), {end} (current end sequence"
    " number)"
)


@pytest.mark.parametrize(
    ("line", "other", "validity"),
    [
        pytest.param(("log-0-0", 5, 3), (7, 1, 0), Validity.VALID, id="a gap that the client left"),
        pytest.param(("log-0-0", 5, 2), (7, 1, 0), Validity.INVALID, id="a broker that forgot a batch"),
        pytest.param(("log-0-0", 4, 3), (7, 1, 0), Validity.INVALID, id="no gap"),
        pytest.param(("log-0-1", 5, 3), (7, 1, 0), Validity.INVALID, id="a log that nobody read"),
        pytest.param(("log-0-0", 5, 3), (7, 0, 3), Validity.INVALID, id="the same number"),
        pytest.param(("log-0-0", 5, 3), (7, 1, 3), Validity.INVALID, id="two epochs that end alike"),
        pytest.param(("log-0-0", 5, 3), (8, 1, 0), Validity.INVALID, id="another producer"),
    ],
)
def test_who_is_refused_rightly_begins_a_new_epoch(
    line: tuple[str, int, int], other: tuple[int, int, int], validity: Validity
) -> None:
    """As `exploratory/copy --seed 4` had it, on a busy machine."""
    where, incoming, end = line
    text = REFUSED.format(where=where, incoming=incoming, end=end)
    history = msgspec.structs.replace(history_of(TWICE), began_at="2026-11-26T07:34:42Z")
    at = {"line": 607, "at": "2026-11-26T07:34:43.584Z", "level": "ERROR", "text": text}
    size, done = len(history.operations), OperationType.OK
    seen = [
        Operation(size, 10**9, "observer", done, "observe", "replica", numbered((7, 0, 3), other), node="n1"),
        Operation(size + 1, 10**9, "observer", done, "observe", "replica", unread(), node="n2"),
        Operation(size + 2, 10**9, "runner", done, "observe", "node-log", at, node="n1"),
    ]
    result = check_log(msgspec.structs.replace(history, operations=(*history.operations, *seen)))
    assert result.validity is validity
    if validity is Validity.VALID:
        assert "issue 4953" in str(only(result).licence)


SEEN_AT_ONCE = "p0 send 0@0=1\nr9 assign 0@0\nr9 poll 0@0=1 0@1=1\na final 0 0..2 0@0=1 0@1=1"
RIGHT = REFUSED.format(where="log-0-0", incoming=5, end=3)
ELSEWHERE = REFUSED.format(where="log-0-1", incoming=2, end=1)
LEFT_OUT = {"line": None, "at": None, "level": "ERROR", "text": "3 further lines"}


def logged(at: str | None, text: str = RIGHT) -> dict[str, Any]:
    return {"line": 1, "at": at and f"2026-11-26T07:34:{at}Z", "level": "ERROR", "text": text}


@pytest.mark.parametrize(
    ("lines", "validity"),
    [
        pytest.param([logged("42.500")], Validity.INVALID, id="refused long after"),
        pytest.param([logged("42.001")], Validity.VALID, id="perhaps refused before"),
        pytest.param([logged("40.000")], Validity.VALID, id="refused before"),
        pytest.param([logged(None)], Validity.VALID, id="refused nobody knows when"),
        pytest.param([logged("42.500"), logged(None)], Validity.VALID, id="refused twice, once unknown when"),
        pytest.param([logged("42.500"), logged("41.000", ELSEWHERE)], Validity.VALID, id="refused elsewhere"),
        pytest.param([logged("42.500"), LEFT_OUT], Validity.VALID, id="lines were left out"),
        pytest.param(
            [logged("42.500"), LEFT_OUT | {"unjudged": True}], Validity.INVALID, id="no refusal was left out"
        ),
    ],
)
def test_what_was_seen_before_any_refusal_was_not_sent_again_for_one(
    lines: list[dict[str, Any]], validity: Validity
) -> None:
    history = history_of(SEEN_AT_ONCE)
    size, done = len(history.operations), OperationType.OK
    disk = numbered((7, 0, 3), (7, 1, 0))
    seen = [
        Operation(size, 10**10, "observer", done, "observe", "replica", disk, node="n1"),
        *(
            Operation(size + n, 10**10, "runner", done, "observe", "node-log", line, node="n1")
            for n, line in enumerate(lines, start=1)
        ),
    ]
    result = check_log(
        msgspec.structs.replace(
            history, began_at="2026-11-26T07:34:40Z", operations=(*history.operations, *seen)
        )
    )
    assert result.validity is validity


def test_whose_producer_has_one_batch_on_its_way_is_held_to_its_promise() -> None:
    result = judged("setup pipelined=yes durable=0 workers=5\n" + TWICE, numbered((7, 0, 3), (7, 1, 0)))
    assert result.validity is Validity.INVALID


def test_two_places_in_one_batch_are_two_numbers() -> None:
    batch = Batch(0, count=2, producer_id=7, producer_epoch=0, base_sequence=3)
    assert judged(TWICE, replica([batch])).figures["duplicates_by"] == {"client": 1}


def test_without_idempotence_the_client_may_send_again_but_the_broker_may_not() -> None:
    text = "setup idempotent=no\n" + TWICE
    none = (-1, -1, -1)
    by_client = judged(text, numbered(none, none))
    assert by_client.validity is Validity.VALID
    assert only(by_client).explanation[-1] == (
        "The batches have no producer id and no producer id: the client sent the record again."
    )
    assert judged(text, numbered((7, 0, 3), (7, 0, 3))).validity is Validity.INVALID


@pytest.mark.parametrize("values", [(), (unread(),), (numbered((7, 0, 3)),)])
def test_without_both_batches_nobody_knows(values: tuple[dict[str, Any], ...]) -> None:
    result = judged(TWICE, *values)
    assert result.figures["duplicates_by"] == {"unknown": 1}
    assert "it is unknown whether the client or the broker" in only(result).explanation[-1]


def test_two_replicas_tell_together() -> None:
    first = replica([Batch(0, producer_id=7, producer_epoch=0, base_sequence=3)])
    second = replica([Batch(1, producer_id=7, producer_epoch=0, base_sequence=3)])
    assert judged(TWICE, unread(), first, second).figures["duplicates_by"] == {"broker": 1}


def test_partitions_add_up() -> None:
    text = """
        setup partitions=2
        p0 send 0@0=1 1@0=2
        a final 0 0..2 0@0=1 0@1=1
        a final 1 0..2 1@0=2 1@1=2
    """
    result = judged(text, numbered((7, 0, 3), (7, 0, 3)))
    assert result.figures["duplicates_by"] == {"broker": 1, "unknown": 1}
    assert result.counts == {"duplicate": 2}
    assert [anomaly.subject for anomaly in result.anomalies] == [f"{TOPIC}/0@1", f"{TOPIC}/1@1"]


def test_histories_without_duplicates_ask_for_no_evidence() -> None:
    broken = {**numbered((7, 0, 3)), "batches": {"crc": "?"}}
    assert judged("p0 send 0@0=1\na final 0 0..1 0@0=1", broken).validity is Validity.VALID
    with pytest.raises(ValueError, match="column crc"):
        judged(TWICE, broken)


def test_columns_alone_have_no_evidence() -> None:
    result = check_columns(columns_of(history_of(TWICE)))
    assert only(result).explanation[-1] == (
        "The batches of no replica show whether the client or the broker duplicated it."
    )
