"""A late request may have ended a transaction: then the last stable offset may be past its records."""

from typing import Any

import pytest

from checkers.history.operations import FAIL, INFO, INVOKE, OK, OperationType
from tests.checkers.admin_histories import TOPIC
from tests.checkers.logs.listed.test_listed import STABLE, Asked, judged

TIMED_OUT = "_MSG_TIMED_OUT: Local: Message timed out; abort: _TIMED_OUT: Timed out waiting for operation"
ENDS = {"producers_end": True}
FENCED = "PRODUCER_FENCED: There is a newer producer"


class Library(Asked):
    """As before, but all requests of process 9 are a library's, and its transactional id is ``t``."""

    def starts(self, from_ms: float, to_ms: float, process: int = 9, client: str = "kafka-python") -> None:
        who = {"client": client, "producer_id": 7, "epoch": 1, "timeout_ms": 60_000}
        self.add(from_ms, process, INVOKE, "init-transactions", key="t", value={"client": client})
        self.add(to_ms, process, OK, "init-transactions", key="t", value=who)

    def transaction(
        self,
        from_ms: float,
        to_ms: float,
        offset: int | None,
        error: str | None = None,
        *,
        ending_ms: float | None = None,
        client: str = "kafka-python",
        process: int = 9,
        version: int = 1,
        ended: str | None = None,
        how: OperationType = FAIL,
    ) -> None:
        asked = {"client": client, "end": "commit", "mops": [["send", TOPIC, 0, 80]]}
        ending_ns = None if ending_ms is None else round(ending_ms * 1_000_000)
        value = {**asked, "mops": [["send", TOPIC, 0, 80, offset]], "ended": ended, "ending_ns": ending_ns}
        value["version"] = version
        self.add(from_ms, process, INVOKE, "txn", key="t", value=asked)
        self.add(to_ms, process, how if error else OK, "txn", key="t", value=value, error=error)

    def is_open(
        self,
        at_ms: float = 25_000,
        error: str | None = FENCED,
        ending_ms: float | None = None,
        version: int = 1,
    ) -> str | None:
        """A transaction that is open at first, with a record at 3, and an answer behind that: its licence."""
        self.transaction(at_ms, at_ms + 300, 3, error, ending_ms=ending_ms, version=version)
        self.add_answer(at_ms + 100, "stable", 4)
        (anomaly,) = (each for each in judged(self).anomalies if each.id == STABLE)
        assert anomaly.illegal == (anomaly.licence is None)
        return anomaly.licence

    def is_committed(self, version: int = 1) -> str | None:
        """As before, but its commit is acknowledged."""
        return self.is_open(error=None, ending_ms=25_200, version=version)


def decided(**workload: Any) -> Library:
    """A producer whose first transaction was committed at once."""
    asked = Library(**workload)
    asked.starts(4_000, 4_001)
    asked.transaction(4_100, 4_200, 0, ending_ms=4_150)
    return asked


def test_a_producer_that_was_answered_at_once() -> None:
    assert decided().is_open() is None


@pytest.mark.parametrize(("from_ms", "late"), [(3_000, False), (2_900, True)])
def test_the_first_transaction_of_a_producer(from_ms: float, *, late: bool) -> None:
    """The initialisation took 1 s, or longer, so that there may have been a second attempt."""
    asked = Library()
    asked.starts(from_ms, 4_000)
    licence = asked.is_open(4_100)
    assert ("earlier attempt" in (licence or "")) == late
    assert (licence is None) != late


@pytest.mark.parametrize("earlier", ["none", "error", "long", "unanswered", "later"])
def test_a_late_initialisation_would_have_prevented_the_commit(earlier: str) -> None:
    """It raises the epoch, so the coordinator refuses to commit what the epoch before began."""
    asked = Library()
    if earlier == "error":
        asked.transaction(20_500, 24_000, None, TIMED_OUT, client="confluent-kafka", process=11)
    asked.starts(20_000 if earlier == "long" else 24_600, 24_700)
    if earlier == "unanswered":
        asked.add(24_750, 11, INVOKE, "init-transactions", key="t", value={"client": "kafka-python"})
    if earlier == "later":
        asked.starts(25_050, 25_400, 11)
    assert asked.is_committed() is None


@pytest.mark.parametrize(("version", "late"), [(1, True), (2, False)])
def test_a_late_end_does_not_prevent_the_commit_unless_the_epoch_is_new(version: int, *, late: bool) -> None:
    asked = decided()
    asked.transaction(20_000, 24_000, 1, ending_ms=21_500)
    assert ("KAFKA-17754" in (asked.is_committed(version) or "")) == late


def test_a_script_asks_once() -> None:
    asked = Asked()
    asked.initialises(5, timeout_ms=60_000)
    asked.transacts(100, 600, 3)
    asked.add_answer(490, "stable", 4)
    assert [each.licence for each in judged(asked).anomalies] == [None]


def raising(
    over_ms: float,
    error: str | None,
    client: str,
    *,
    offset: int | None = None,
    setup: dict[str, Any] | None = None,
    **fields: Any,
) -> Library:
    """Another producer's transaction, which began 5 s before its error, and a producer that follows."""
    asked = Library(**(setup or {}))
    asked.transaction(over_ms - 5_000, over_ms, offset, error, client=client, process=11, **fields)
    asked.starts(over_ms + 100, over_ms + 101)
    asked.transaction(over_ms + 200, over_ms + 300, 0, ending_ms=over_ms + 250)
    return asked


SEQUENCE = "OutOfOrderSequenceNumberError: [Error 45] OutOfOrderSequenceNumberError"
OLD_EPOCH = "InvalidProducerEpochError: [Error 47] InvalidProducerEpochError"


@pytest.mark.parametrize(
    ("over_ms", "error", "client", "late"),
    [
        (22_000, TIMED_OUT, "kafka-clients", True),
        (21_900, TIMED_OUT, "kafka-clients", False),
        (6_000, TIMED_OUT, "confluent-kafka", True),
        (24_000, FENCED, "confluent-kafka", False),
        (24_000, TIMED_OUT, "raw", False),
        (24_000, OLD_EPOCH, "kafka-clients", False),
        (24_000, TIMED_OUT, "kafka-clients", True),
        (24_000, SEQUENCE, "kafka-python", True),
        (24_000, OLD_EPOCH, "kafka-python", True),
        (24_000, FENCED, "kafka-python", False),
        (24_000, None, "kafka-python", False),
    ],
)
def test_an_earlier_producer_that_may_raise_its_epoch(
    over_ms: float, error: str | None, client: str, *, late: bool
) -> None:
    licence = raising(over_ms, error, client).is_open()
    assert ("KIP-360" in (licence or "")) == late
    assert (licence is None) != late


@pytest.mark.parametrize(("client", "late"), [("kafka-python", False), ("confluent-kafka", True)])
def test_kafka_python_raises_its_epoch_only_if_a_leader_refused_records(client: str, *, late: bool) -> None:
    licence = raising(24_000, TIMED_OUT, client, offset=2).is_open()
    assert ("KIP-360" in (licence or "")) == late


@pytest.mark.parametrize(("version", "late"), [(1, True), (2, False)])
def test_kafka_clients_need_not_raise_an_epoch_that_each_transaction_raises(
    version: int, *, late: bool
) -> None:
    licence = raising(24_000, TIMED_OUT, "kafka-clients", version=version).is_open()
    assert ("KIP-360" in (licence or "")) == late


def closed(asked: Library, at_ms: float, client: str, *, ended: bool = True, process: int = 11) -> None:
    asked.add(at_ms, process, OK, "producer-closed", key="t", value={"client": client, "ended": ended})


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-clients"])
@pytest.mark.parametrize(("at_ms", "late"), [(21_900, False), (22_000, True)])
def test_a_request_is_late_by_what_a_broker_needs_after_the_close(
    client: str, at_ms: float, *, late: bool
) -> None:
    """The transaction begins at 25 s; the error was at 6 s, and the close of that instance took long."""
    asked = raising(6_000, TIMED_OUT, client, setup=ENDS)
    closed(asked, at_ms, client)
    closed(asked, at_ms + 10, client, ended=False)
    licence = asked.is_open()
    assert ("KIP-360" in (licence or "")) == late
    assert (licence is None) != late


@pytest.mark.parametrize(
    "close",
    [
        pytest.param(None, id="not recorded"),
        pytest.param({"ended": False}, id="failed"),
        pytest.param({"process": 12}, id="of another worker"),
        pytest.param({"at_ms": 900}, id="before the error"),
    ],
)
@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-clients"])
def test_an_instance_that_is_not_known_to_have_ended_sends_requests_at_any_time(
    client: str, close: dict[str, Any] | None
) -> None:
    asked = raising(6_000, TIMED_OUT, client, setup=ENDS)
    if close is not None:
        closed(asked, **{"at_ms": 6_010, "client": client, **close})
    assert "KIP-360" in (asked.is_open() or "")


def test_without_the_mark_a_producer_of_librdkafka_goes_on_after_its_close() -> None:
    asked = raising(6_000, TIMED_OUT, "confluent-kafka")
    closed(asked, 6_010, "confluent-kafka")
    assert "KIP-360" in (asked.is_open() or "")


@pytest.mark.parametrize(("successor", "late"), [(26, False), (27, True)])
def test_a_close_may_be_recorded_by_the_successor_of_a_process(successor: int, *, late: bool) -> None:
    asked = raising(6_000, TIMED_OUT, "confluent-kafka", setup={**ENDS, "workload": {"workers": 15}})
    closed(asked, 6_010, "confluent-kafka", process=successor)
    assert ("KIP-360" in (asked.is_open() or "")) == late


def test_a_fault_may_delay_what_a_producer_had_sent_before_its_close() -> None:
    asked = raising(10_000, TIMED_OUT, "confluent-kafka", setup=ENDS)
    closed(asked, 10_010, "confluent-kafka")
    asked.fault(12_900, 22_500, "pause", "n1")
    assert "KIP-360" in (asked.is_open() or "")


def test_the_requests_of_scripts_are_not_closed() -> None:
    asked = Library(**ENDS)
    asked.transaction(19_000, 21_000, None, TIMED_OUT, client="raw", process=11)
    asked.starts(21_100, 21_101)
    assert asked.is_open() is None


def test_no_epoch_is_raised_after_a_commit_was_requested() -> None:
    asked = raising(24_000, TIMED_OUT, "confluent-kafka", how=INFO)
    assert asked.is_open() is None


@pytest.mark.parametrize(
    ("client", "ending_ms", "late"),
    [
        ("confluent-kafka", 23_000, False),
        ("confluent-kafka", 22_900, True),
        ("kafka-clients", 23_000, False),
        ("kafka-python", 23_000, True),
    ],
)
def test_an_acknowledged_abort_means_that_the_epoch_was_raised(
    client: str, ending_ms: float, *, late: bool
) -> None:
    asked = raising(24_000, "_MSG_TIMED_OUT: Local: timed out", client, ending_ms=ending_ms, ended="abort")
    assert ("KIP-360" in (asked.is_open() or "")) == late


@pytest.mark.parametrize(
    ("faults", "late"),
    [
        pytest.param([(9_000, 16_000, "pause", "n1")], False, id="over for longer than it took"),
        pytest.param([(9_000, 18_000, "pause", "n1")], True, id="not over for that long"),
        pytest.param([(9_000, 24_000, "kill", "n1")], False, id="loses requests"),
        pytest.param([(12_900, 22_500, "pause", "n1")], True, id="begins a while later"),
        pytest.param([(13_100, 24_500, "pause", "n1")], False, id="begins long after"),
        pytest.param([(9_000, 13_000, "pause", "n1"), (15_000, 23_000, "pause", "n1")], True, id="two"),
        pytest.param(
            [(9_000, 13_000, "pause", "n1"), (15_000, 23_000, "pause", "n2")], False, id="two, of two nodes"
        ),
        pytest.param([(9_000, 24_000, "partition", "n1")], False, id="does not cut clients off"),
    ],
)
def test_a_fault_may_delay_what_was_given_up(
    faults: list[tuple[float, float, str, str]], *, late: bool
) -> None:
    """The producer gave up at 10 s, and the transaction begins at 25 s."""
    asked = raising(10_000, TIMED_OUT, "kafka-clients")
    for from_ms, to_ms, kind, node in faults:
        asked.fault(from_ms, to_ms, kind, node, cut=[("n1", "n2")] if kind == "partition" else [])
    assert ("KIP-360" in (asked.is_open() or "")) == late


@pytest.mark.parametrize(
    ("from_ms", "client", "late"), [(17_900, "kafka-python", True), (18_100, "kafka-python", False)]
)
@pytest.mark.parametrize("process", [9, 11])
def test_an_initialisation_that_took_long(from_ms: float, client: str, process: int, *, late: bool) -> None:
    asked = Library()
    asked.starts(from_ms, 21_000, process, client)
    asked.starts(21_100, 21_101)
    asked.transaction(21_200, 21_300, 0, ending_ms=21_250)
    licence = asked.is_open()
    assert ("earlier attempt" in (licence or "")) == late
    assert (licence is None) != late


@pytest.mark.parametrize(
    ("kind", "healed_ms", "late"),
    [("held-requests", 21_000, True), ("held-requests", 19_000, False), ("kill", 21_000, False)],
)
def test_a_fault_may_hold_an_attempt_for_longer_than_the_initialisation_took(
    kind: str, healed_ms: float, *, late: bool
) -> None:
    asked = Library()
    asked.starts(14_000, 16_500, 11)
    asked.starts(19_100, 19_101)
    asked.transaction(19_200, 19_300, 0, ending_ms=19_250)
    asked.fault(15_000, healed_ms, kind, "n1")
    assert ("earlier attempt" in (asked.is_open() or "")) == late


def test_scripts_initialise_once() -> None:
    asked = Library()
    asked.starts(14_000, 21_000, 11, client="raw")
    asked.starts(21_100, 21_101)
    asked.transaction(21_200, 21_300, 0, ending_ms=21_250)
    assert asked.is_open() is None


@pytest.mark.parametrize(
    ("to_ms", "took_ms", "late"),
    [(22_600, 1_500, True), (22_400, 1_500, False), (24_000, 1_000, False)],
)
def test_an_end_that_may_have_been_requested_twice(to_ms: float, took_ms: float, *, late: bool) -> None:
    asked = decided()
    asked.transaction(4_300, to_ms, 1, ending_ms=to_ms - took_ms)
    licence = asked.is_open()
    assert ("KAFKA-17754" in (licence or "")) == late
    assert (licence is None) != late
