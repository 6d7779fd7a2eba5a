"""Kafka's transactions: what is illegal, what is observed and legal, and what is neither."""

import msgspec
import pytest

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.replicas import CONTROL, TRANSACTIONAL
from checkers.history.operations import History, Operation, OperationType
from checkers.licences.permits import LicenceEvent, Licences, Permit
from checkers.logs.log import check_log
from checkers.transactional.transactions import check_transactions, draw_cycle
from checkers.transactional.transactions.kafka import visibility
from checkers.verdict.verdict import Validity
from tests.checkers.logs.replicas.replica_histories import Batch, observed, replica
from tests.checkers.transactional.transactions.kafka_histories import history_of, judged, of

DATA, MARKER = TRANSACTIONAL, TRANSACTIONAL | CONTROL

TORN = """
    p0 init a
    p0 txn a 0@0=1 1@0=2
    c final 0 0..2 0@0=1
    c final 1 0..2
"""


def test_a_history_without_transactions_costs_nothing() -> None:
    result = judged("p0 send 0@0=1\n c final 0 0..1 0@0=1")
    assert (result.validity, result.figures) == (Validity.NOT_EXERCISED, {"transactions": 0})


def test_a_whole_transaction_is_valid() -> None:
    result = judged(TORN.replace("1 0..2", "1 0..2 1@0=2"))
    assert (result.counts, result.validity) == ({}, Validity.VALID)
    assert result.figures["transactions"] == 1
    assert result.figures["records"] == 2


def test_a_torn_transaction() -> None:
    result = judged(TORN)
    assert result.counts == {"torn-transaction": 1}
    assert result.validity is Validity.INVALID
    anomaly = of(result, "torn-transaction")
    assert anomaly.subject == "txn-0/1"
    assert anomaly.summary == (
        "1 (txn-0/0@0) is visible at read_committed, but 2 (txn-0/1@0) of the same transaction is not"
    )
    assert anomaly.witness == (2, 3, 7)


def test_a_transaction_of_unknown_fate_is_torn_too() -> None:
    assert judged(TORN.replace("1@0=2\n", "1@0=2 info\n", 1)).counts == {"torn-transaction": 1}


def test_an_unacknowledged_record_of_unknown_fate_need_not_be_there() -> None:
    assert judged(TORN.replace("1@0=2\n", "1@-=2 info\n", 1)).counts == {}


def test_an_unacknowledged_record_of_a_commit_must_be_there() -> None:
    result = judged(TORN.replace("1@0=2\n", "1@-=2\n", 1))
    assert result.counts == {"torn-transaction": 1}
    assert "2 (txn-0/1)" in of(result, "torn-transaction").summary


@pytest.mark.parametrize(
    "change",
    [
        ("c final 1 0..2", "c final 1 0..2 info"),
        ("c final 1 0..2", "c final 1 1..2"),
        ("c final 1 0..2", "c final 1 0..0"),
        ("c final 1 0..2", "u final 1 0..2"),
        ("c final 0 0..2 0@0=1", "c final 0 0..2"),
        ("p0 init a", "setup compact=yes\n p0 init a"),
        ("1@0=2\n", "1@0=2 fail\n"),
    ],
)
def test_what_is_no_torn_transaction(change: tuple[str, str]) -> None:
    """The final read is missing, incomplete or elsewhere; nothing is visible; compacted; aborted."""
    assert judged(TORN.replace(*change, 1)).counts == {}


def test_a_transaction_that_is_lost_as_a_whole_is_the_log_checkers() -> None:
    history = history_of(TORN.replace("c final 0 0..2 0@0=1", "c final 0 0..2"))
    assert check_transactions(history).counts == {}
    assert check_log(history).counts["lost-write"] == 2


def test_an_unclean_election_may_tear_a_transaction() -> None:
    text = f"setup unclean=yes\n{TORN}"
    history = history_of(text)
    fault = Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", {"kind": "kill", "spec": {}})
    operations = [*history.operations[:3], fault, *history.operations[3:]]
    renumbered = tuple(
        Operation(n, n * 1000, o.process, o.type, o.f, o.key, o.value) for n, o in enumerate(operations)
    )
    result = check_transactions(History("run", "", renumbered))
    anomaly = of(result, "torn-transaction")
    assert not anomaly.illegal
    assert anomaly.licence is not None
    assert result.validity is Validity.VALID


CUT = 5
"""Offset at which a log was truncated, as a permit records: what stood below it is still due."""


@pytest.mark.parametrize("cut", [0, 1])
@pytest.mark.parametrize(
    ("markers", "illegal"),
    [
        pytest.param({0: 1, 1: 1}, True, id="both stand below the cut"),
        pytest.param({0: 6, 1: 6}, False, id="what ended it stood behind the cut, if there was any"),
        pytest.param({0: None, 1: None}, False, id="no marker is left"),
        pytest.param({}, False, id="no disk shows it"),
    ],
)
def test_a_marker_that_was_truncated_may_tear_a_transaction(
    monkeypatch: pytest.MonkeyPatch, cut: int, markers: dict[int, int | None], *, illegal: bool
) -> None:
    """Its partition is open then, and the next marker of its producer decides on it, as nobody meant."""
    event = LicenceEvent(0, NEVER, PartitionName("txn-0", cut), "truncated", above=CUT)
    licences = Licences({"txn-0": [Permit(event, covers_returned=True, text="by an election")]})
    monkeypatch.setattr(visibility, "licences_of", lambda _: licences)
    operations = list(history_of(TORN).operations)
    for partition, marker in markers.items():
        batches = [Batch(0, producer_id=7, attributes=DATA)]
        batches += [] if marker is None else [Batch(marker, producer_id=7, attributes=MARKER)]
        seen = observed("n1", replica(batches, topic="txn-0", partition=partition))
        operations.append(msgspec.structs.replace(seen, index=len(operations)))
    anomaly = of(check_transactions(History("run", "", tuple(operations))), "torn-transaction")
    assert (anomaly.illegal, anomaly.licence) == (illegal, None if illegal else "by an election")


HANGING = """
    p0 txn a 0@0=1
    c final 0 0..2 0@0=1
    u final 0 0..5 0@0=1
"""


def test_a_hanging_transaction() -> None:
    result = judged(HANGING + HANGING.partition("p0 txn a 0@0=1")[2])
    assert result.counts == {"hanging-transaction": 1}
    anomaly = of(result, "hanging-transaction")
    assert anomaly.summary == (
        "a transaction in txn-0/0 never ended: the last stable offset stayed at 2, the end is 5"
    )
    assert anomaly.witness == (3, 5)


@pytest.mark.parametrize(
    "change", [("0..5", "0..2"), ("u final 0 0..5 0@0=1", ""), ("0..5 0@0=1", "0..5 info")]
)
def test_what_is_no_hanging_transaction(change: tuple[str, str]) -> None:
    assert judged(HANGING.replace(*change)).counts == {}


@pytest.mark.parametrize(
    ("batches", "found"),
    [
        pytest.param([Batch(2, producer_id=7, attributes=DATA)], 1, id="open on disk, too"),
        pytest.param([Batch(2, producer_id=7, attributes=MARKER)], 0, id="a marker came between"),
        pytest.param([Batch(2)], 0, id="a record of no transaction came between"),
        pytest.param(
            [Batch(2, producer_id=7, attributes=DATA), Batch(3, producer_id=7, attributes=MARKER)],
            0,
            id="it has ended since",
        ),
        pytest.param(
            [Batch(2, producer_id=7, attributes=DATA), Batch(3, producer_id=8, attributes=MARKER)],
            1,
            id="another one has ended",
        ),
        pytest.param([Batch(0)], 1, id="the disk does not tell"),
    ],
)
def test_what_a_disk_shows_of_a_hanging_transaction(batches: list[Batch], found: int) -> None:
    assert _hanging(history_of(HANGING), batches) == found


@pytest.mark.parametrize(
    ("setup", "batches", "found"),
    [
        ("setup compact=yes", [Batch(3, producer_id=7)], 0),
        ("setup compact=yes", [Batch(2, producer_id=7, attributes=DATA)], 1),
        ("setup compact=yes", [Batch(1)], 1),
        ("phase", [Batch(3, producer_id=7)], 1),
    ],
    ids=["cleaned", "open on disk", "shorter", "not compacted"],
)
def test_a_transaction_whose_records_were_cleaned_has_ended(
    setup: str, batches: list[Batch], found: int
) -> None:
    seen = observed("n1", replica(batches, topic="txn-0", log_start=0))
    history = history_of(f"{setup}\n{HANGING}")
    late = msgspec.structs.replace(seen, index=len(history.operations))
    whole = History("run", "", (*history.operations, late))
    assert check_transactions(whole).counts.get("hanging-transaction", 0) == found


@pytest.mark.parametrize(
    ("offset", "found"), [pytest.param(2, 0, id="not known"), pytest.param(3, 1, id="known before")]
)
def test_what_was_known_before_the_ends_were_listed(offset: int, found: int) -> None:
    history = history_of(HANGING.replace("c final", f"p1 send 0@{offset}=9\n phase\n c final"))
    assert _hanging(history, [Batch(2, producer_id=7, attributes=MARKER)]) == found


def _hanging(history: History, batches: list[Batch]) -> int:
    seen = observed("n1", replica(batches, topic="txn-0"))
    late = msgspec.structs.replace(seen, index=len(history.operations))
    whole = History("run", "", (*history.operations, late))
    return check_transactions(whole).counts.get("hanging-transaction", 0)


ZOMBIE = """
    p0 init a
    p1 init a
    p0 txn a 0@0=1
"""


def test_a_fenced_instance_that_commits_is_a_zombie() -> None:
    result = judged(ZOMBIE)
    assert result.counts == {"zombie-accepted": 1}
    anomaly = of(result, "zombie-accepted")
    assert (
        anomaly.summary
        == "a transaction of process 0 was acknowledged as committed although process 1 had fenced a"
    )
    assert anomaly.witness == (2, 3, 4, 5)


def test_a_fenced_instance_whose_records_are_visible_is_a_zombie() -> None:
    result = judged(ZOMBIE.replace("0@0=1", "0@0=1 info") + "p9 poll 0@0=1")
    assert "is visible" in of(result, "zombie-accepted").summary


@pytest.mark.parametrize(
    "text",
    [
        ZOMBIE.replace("0@0=1", "0@0=1 fail"),
        ZOMBIE.replace("0@0=1", "0@0=1 info"),
        ZOMBIE.replace("p1 init a", "p1 init b"),
        ZOMBIE.replace("p1 init a", "p1 init a fail"),
        ZOMBIE.replace("p1 init a", "p1 init a info"),
        ZOMBIE.replace("p0 init a", "p0 init a info"),
        ZOMBIE.replace("p0 init a", ""),
        ZOMBIE.replace("p0 txn", "p0 init a\n p0 txn"),
        ZOMBIE.replace("p0 txn", "p1 txn"),
        ZOMBIE.replace("p0 txn a 0@0=1", "p0 txn a <0@0=1"),
        "p1 > init a\n p0 init a\n p1 < init a\n p0 txn a 0@0=1",
        "p0 init a\n p0 > txn a 0@0=1\n p1 init a\n p0 < txn a 0@0=1",
    ],
)
def test_what_is_no_zombie(text: str) -> None:
    """It did not commit; nobody newer was certainly there; it initialised again; it began before."""
    assert "zombie-accepted" not in judged(text).counts


def test_the_last_who_fenced_a_zombie_is_named() -> None:
    text = "p0 init a\n p1 init a\n p2 init a\n p0 txn a 0@0=1"
    assert of(judged(text), "zombie-accepted").witness == (4, 5, 6, 7)


FENCED_BEFORE_COMMIT = "p0 init a\n p0 > txn a 0@0=1\n p1 init a\n p0 < txn a 0@0=1 asked=5"


def test_one_that_was_fenced_between_its_beginning_and_its_commit_is_a_zombie() -> None:
    anomaly = of(judged(FENCED_BEFORE_COMMIT), "zombie-accepted")
    assert anomaly.witness == (2, 3, 4, 5)
    assert (
        anomaly.explanation[-1]
        == "After that process 0 requested the commit of T, which was acknowledged as committed."
    )


def test_one_that_was_fenced_before_its_commit_and_is_visible_is_a_zombie() -> None:
    text = FENCED_BEFORE_COMMIT.replace("0@0=1 asked=5", "0@0=1 info asked=5") + "\n p9 poll 0@0=1"
    assert "is visible" in of(judged(text), "zombie-accepted").summary


@pytest.mark.parametrize(
    "text",
    [
        FENCED_BEFORE_COMMIT.replace("asked=5", "asked=4"),
        FENCED_BEFORE_COMMIT.replace("0@0=1 asked=5", "0@0=1 fail asked=5"),
        FENCED_BEFORE_COMMIT.replace("0@0=1 asked=5", "0@0=1 fail asked=5") + "\n p9 poll 0@0=1",
        FENCED_BEFORE_COMMIT.replace("0@0=1 asked=5", "0@0=1 info asked=5"),
    ],
)
def test_what_is_no_zombie_by_the_time_of_its_commit(text: str) -> None:
    """Its commit may have left before; it did not commit, or nobody knows; its abort was asked for."""
    assert "zombie-accepted" not in judged(text).counts


READ_BEFORE_COMMIT = """
    p9 assign 0@0
    p0 > txn a 0@0=1 0@1=2
    p9 poll 0@0=1
    p9 poll 0@1=2
    p0 < txn a 0@0=1 0@1=2 asked=7
"""


def test_a_record_read_before_its_commit_was_asked_for() -> None:
    result = judged(READ_BEFORE_COMMIT)
    assert result.counts == {"G-single": 1, "precommitted-read": 1}
    anomaly = of(result, "precommitted-read")
    assert anomaly.witness == (2, 4, 7)
    assert anomaly.summary == (
        "kafka-python (read_committed) received 1 (txn-0/0@0) 3.0 ms before the commit of its "
        "transaction was requested"
    )
    assert (result.figures["ends_timed"], result.figures["reads_timed"]) == (1, 2)


def test_a_record_read_early_of_a_transaction_of_unknown_fate() -> None:
    assert judged(READ_BEFORE_COMMIT.replace("asked", "info asked")).counts["precommitted-read"] == 1


@pytest.mark.parametrize(
    "text",
    [
        READ_BEFORE_COMMIT.replace("asked=7", ""),
        READ_BEFORE_COMMIT.replace("asked=7", "asked=4"),
        READ_BEFORE_COMMIT.replace("asked=7", "fail asked=7"),
        f"{READ_BEFORE_COMMIT} p1 txn b 0@0=1 0@1=2",
        READ_BEFORE_COMMIT.replace("p9 poll 0@0=1", "").replace("p9 poll 0@1=2", "u final 0 0..1 0@0=1"),
    ],
)
def test_records_that_were_not_read_too_early(text: str) -> None:
    """Nobody knows when; it may have been asked for; it is an aborted read; another attempt; uncommitted."""
    assert "precommitted-read" not in judged(text).counts


def test_transactions_that_were_given_each_others_records() -> None:
    text = """
        p0 > txn a 0@0=1
        p1 > txn b 1@0=2
        p0 < txn a 0@0=1 <1@0=2
        p1 < txn b 1@0=2 <0@0=1
    """
    result = judged(text)
    assert result.counts == {"G1c": 1}
    anomaly = of(result, "G1c")
    assert anomaly.illegal
    assert "T1 < T2, because T2 received the record of T1 at txn-0/0@0." in anomaly.explanation
    assert result.figures["cycles"][0]["id"] == "G1c"
    assert draw_cycle(result.figures["cycles"][0]).startswith("<svg")


def test_transactions_that_consumed_each_others_records() -> None:
    assert judged("p0 txn a 0@0=1 (1@0\n p1 txn b 1@0=2 (0@0").counts == {"G1c": 1}


def test_a_circle_with_writes_is_observed_and_legal() -> None:
    result = judged("p0 txn a 0@0=1 1@1=3 (1@0\n p1 txn b 1@0=2 0@1=4")
    assert result.counts == {"G0": 1}
    assert not of(result, "G0").illegal
    assert result.validity is Validity.VALID
    assert any("is at txn-0/0@0, and one of T2 at txn-0/0@1" in line for line in of(result, "G0").explanation)


def test_read_skew_is_observed_and_legal() -> None:
    result = judged("p0 txn a 0@0=1 1@1=2\n p1 send 1@0=7\n p9 assign 0@0 1@0\n p9 poll 0@0=1 1@0=7")
    assert result.counts == {"G-single": 1}
    anomaly = of(result, "G-single")
    assert not anomaly.illegal
    assert any(
        "read txn-0/1 to offset 0, and T1 wrote the record at txn-0/1@1" in x for x in anomaly.explanation
    )


def test_a_poll_of_no_known_assignment_misses_nothing() -> None:
    assert judged("p0 txn a 0@0=1 1@1=2\n p1 send 1@0=7\n p9 poll 0@0=1 1@0=7").counts == {}


def test_single_records_take_part() -> None:
    result = judged("p0 txn a 0@0=1 0@2=2\n p1 send 0@1=7 1@0=8\n p9 poll 0@1=7")
    assert result.counts == {"G0": 1}
    assert any("{send txn-0 0 7}" in line for line in of(result, "G0").explanation)
    assert of(result, "G0").witness == (0, 1, 2, 3)


def test_an_open_send_takes_part_once_it_is_read() -> None:
    result = judged("p0 txn a 0@0=1 0@2=2\n p1 > send 0@1=7\n p9 poll 0@1=7")
    assert result.counts == {"G0": 1}
    assert of(result, "G0").witness == (0, 1, 2)


def test_two_records_at_one_offset_are_the_log_checkers() -> None:
    assert judged("p0 txn a 0@0=1\n p1 txn b 0@0=2").counts == {}


def test_a_record_of_no_known_partition_is_passed_over() -> None:
    assert judged("p0 txn a 0@0=1 (7@3").counts == {}


def test_a_completion_that_nothing_began_is_unknown() -> None:
    history = history_of("p0 txn a 0@0=1")
    alone = Operation(2, 2, 5, OperationType.INFO, "poll", "txn-0", None)
    result = check_transactions(History("run", "", (*history.operations, alone)))
    assert result.validity is Validity.UNKNOWN
