"""All libraries, for real, against a broker that fails as the test decides: reports are what happened."""

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from kafka import KafkaConsumer

from checkers.history.operations import OperationType
from harness.clients import (
    EMBEDDED,
    ClientFailedError,
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    Message,
    ProducerOptions,
    ProducerRecord,
    ReadError,
    SendResult,
    kafka_python_making,
)
from harness.clients.bounded import within
from harness.clients.confluent import (
    ConfluentConsumer,
    ConfluentProducer,
    made,
    producer_config,
    subscribe,
)
from harness.clients.kafka_python import KafkaPythonConsumer, KafkaPythonProducer, polled_in_group
from harness.clients.opening import open_consumer, open_producer
from tests.harness.fakes.broker import LIST_OFFSETS, PRODUCE, FakeBroker
from tests.harness.fakes.node import METADATA
from tests.harness.java import KINDS, running
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
NOT_LEADER, NOT_ENOUGH_REPLICAS, OFFSET_OUT_OF_RANGE, TOPIC_AUTHORIZATION_FAILED = 6, 19, 1, 29
PYTHON, CONFLUENT, JAVA = KINDS
NOBODY = "127.0.0.1:9"
PATIENT_MS = 30_000
SOON_MS = 2_000
"""For what is given up in the end: enough for a slow machine to have sent it by then."""


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def _the_old_is_not_looked_at() -> Iterator[None]:
    """Garbage is collected twice for each test; what all tests before have left would make that slow."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    gc.collect()
    before = _held()
    yield
    gc.collect()
    wait_until(lambda: _held() <= before)


def _held() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def producer(
    broker: str,
    kind: ClientKind,
    acks: str = "all",
    *,
    idempotent: bool = False,
    delivery_ms: int = PATIENT_MS,
) -> LogProducer:
    request_ms = delivery_ms * 4 // 5
    options = ProducerOptions((broker,), "log-0", acks, idempotent, delivery_ms, request_ms, PATIENT_MS)
    return open_producer(kind, options, running())


def consumer(broker: str, kind: ClientKind) -> LogConsumer:
    options = ConsumerOptions((broker,), "log-0", request_ms=PATIENT_MS, connect_ms=PATIENT_MS)
    return open_consumer(kind, options, running())


def outcomes(sent: list[SendResult]) -> list[OperationType]:
    return [one.outcome for one in sent]


def introduce(client: LogProducer) -> None:
    """Send until one is acknowledged: from then on the library knows the topic, and sends at once."""
    wait_until(
        lambda: outcomes(client.send([ProducerRecord(0, b"first"), ProducerRecord(1, b"1")])) == [OK, OK]
    )


def read(client: LogConsumer, count: int) -> list[Message]:
    found: list[Message] = []

    def enough() -> bool:
        found.extend(client.poll(0.2))
        return len(found) >= count

    wait_until(enough)
    return found


@pytest.mark.parametrize("idempotent", [True, False])
def test_acknowledged_records_have_their_offsets(
    broker: FakeBroker, kind: ClientKind, *, idempotent: bool
) -> None:
    client = producer(broker.bootstrap, kind, idempotent=idempotent)
    sent = client.send([ProducerRecord(0, b"a"), ProducerRecord(0, b"b", b"key"), ProducerRecord(1, b"c")])
    client.close(BOUND_S)
    assert sent == [SendResult(OK, 40), SendResult(OK, 41), SendResult(OK, 40)]


def test_without_acks_there_are_no_offsets(broker: FakeBroker, kind: ClientKind) -> None:
    broker.produce_error = None
    client = producer(broker.bootstrap, kind, "0")
    assert client.send([ProducerRecord(0, b"a")]) == [SendResult(OK, None)]
    client.close(BOUND_S)


def test_an_acknowledgement_without_an_offset_proves_too_little(broker: FakeBroker, kind: ClientKind) -> None:
    broker.base_offset = -1
    client = producer(broker.bootstrap, kind)
    (sent,) = client.send([ProducerRecord(0, b"a")])
    client.close(BOUND_S)
    assert (sent.outcome, sent.error) == (INFO, "acknowledged without an offset")


@pytest.mark.parametrize(
    ("code", "acks", "expected"),
    [
        (NOT_ENOUGH_REPLICAS, "all", {PYTHON: FAIL, CONFLUENT: INFO, JAVA: FAIL}),
        (NOT_ENOUGH_REPLICAS, "1", {PYTHON: FAIL, CONFLUENT: FAIL, JAVA: FAIL}),
        (NOT_LEADER, "all", {PYTHON: INFO, CONFLUENT: INFO, JAVA: INFO}),
        (NOT_LEADER, "1", {PYTHON: FAIL, CONFLUENT: INFO, JAVA: FAIL}),
    ],
)
def test_a_refusal_without_retries(
    broker: FakeBroker, kind: ClientKind, code: int, acks: str, expected: dict[ClientKind, OperationType]
) -> None:
    broker.produce_error = code
    sends_again = kind is ClientKind.CONFLUENT and code == NOT_LEADER
    client = producer(broker.bootstrap, kind, acks, delivery_ms=SOON_MS if sends_again else PATIENT_MS)
    (sent,) = client.send([ProducerRecord(0, b"a")])
    client.close(BOUND_S)
    assert sent.outcome is expected[kind]
    assert sent.error


@pytest.mark.parametrize(("code", "expected"), [(NOT_LEADER, [OK]), (NOT_ENOUGH_REPLICAS, [INFO])])
def test_librdkafka_sends_again_whatever_the_broker_answers(
    broker: FakeBroker, code: int, expected: list[OperationType]
) -> None:
    """The reason why its refusals prove nothing with acks=all; if this changes, so may the table's use."""
    answer = broker.answers[PRODUCE]

    def refuse_once(request: object) -> object:
        broker.produce_error = code if attempts() == 1 else 0
        return answer(request)

    def attempts() -> int:
        return sum(key == PRODUCE for key, _ in broker.asked)

    broker.answers[PRODUCE] = refuse_once
    client = producer(broker.bootstrap, ClientKind.CONFLUENT)
    assert outcomes(client.send([ProducerRecord(0, b"a")])) == expected
    client.close(BOUND_S)
    assert attempts() == (2 if code == NOT_LEADER else 1)


@pytest.mark.slow
def test_a_refusal_after_retries_is_open(broker: FakeBroker, kind: ClientKind) -> None:
    client = producer(broker.bootstrap, kind, idempotent=True, delivery_ms=SOON_MS)
    introduce(client)
    broker.produce_error = NOT_ENOUGH_REPLICAS
    assert outcomes(client.send([ProducerRecord(0, b"a")])) == [INFO]
    client.close(BOUND_S)


@pytest.mark.slow
def test_silence_is_open_and_bounded(broker: FakeBroker, kind: ClientKind) -> None:
    client = producer(broker.bootstrap, kind, delivery_ms=SOON_MS)
    introduce(client)
    broker.produce_error = None
    assert outcomes(client.send([ProducerRecord(0, b"a"), ProducerRecord(1, b"b")])) == [INFO, INFO]
    client.close(BOUND_S)


def test_a_producer_closes_while_the_broker_is_silent(broker: FakeBroker) -> None:
    """Also while records wait, which makes kafka-python's own close raise and leave its thread running."""
    broker.produce_error = None
    client = producer(broker.bootstrap, ClientKind.KAFKA_PYTHON, delivery_ms=10 * PATIENT_MS)
    assert isinstance(client, KafkaPythonProducer)
    client._producer.send("log-0", b"a", partition=0)
    client.close(BOUND_S)


def test_what_the_library_refuses_was_not_sent(broker: FakeBroker, kind: ClientKind) -> None:
    client = producer(broker.bootstrap, kind)
    client.send([ProducerRecord(0, b"a")])
    sent = client.send([ProducerRecord(0, b"x" * 2_000_000), ProducerRecord(0, b"b")])
    client.close(BOUND_S)
    assert outcomes(sent) == [FAIL, OK]
    assert "before anything was sent" in (sent[0].error or "")


@pytest.mark.parametrize("kind", [PYTHON, JAVA], indirect=True)
def test_after_waiting_for_metadata_in_vain_the_rest_is_not_tried(
    broker: FakeBroker, kind: ClientKind
) -> None:
    known = broker.answers[METADATA]

    def without_topics(request: object) -> object:
        answer = known(request)
        answer.topics = []
        return answer

    broker.answers[METADATA] = without_topics
    client = producer(broker.bootstrap, kind, delivery_ms=500)
    sent = client.send([ProducerRecord(0, b"a"), ProducerRecord(0, b"b"), ProducerRecord(1, b"c")])
    client.close(BOUND_S)
    assert outcomes(sent) == [FAIL, FAIL, FAIL]
    assert [one.error for one in sent[1:]] == ["not sent after that"] * 2


def test_a_defect_of_the_library_leaves_everything_open(broker: FakeBroker) -> None:
    client = KafkaPythonProducer(ProducerOptions((broker.bootstrap,), "log-0"))

    def defect(*_args: object, **_kwargs: object) -> None:
        raise KeyError("endpoint_type")

    client._producer.send = defect
    (sent,) = client.send([ProducerRecord(0, b"a")])
    client.close(BOUND_S)
    assert (sent.outcome, sent.error) == (
        INFO,
        "KeyError: 'endpoint_type' (not in the table, so unknown)",
    )


OUT_OF_ORDER, OLD_EPOCH, FENCED = 45, 47, 90
NAMES = {
    OUT_OF_ORDER: ("OUT_OF_ORDER_SEQUENCE_NUMBER", "[Error 45]"),
    OLD_EPOCH: ("INVALID_PRODUCER_EPOCH", "[Error 47]"),
    FENCED: ("PRODUCER_FENCED", "[Error 90]"),
}


@pytest.mark.parametrize("code", NAMES)
def test_what_ends_a_producer_is_the_fate_of_its_records(
    broker: FakeBroker, kind: ClientKind, code: int
) -> None:
    """Librdkafka's poll raises a fatal error, kafka-python reports it for each record; neither escapes.

    After a sequence that is out of order, kafka-clients begins a new epoch and sends again until it is late.
    """
    sends_again = kind is JAVA and code == OUT_OF_ORDER
    names = ("TimeoutException: Expiring",) if sends_again else NAMES[code]
    client = producer(
        broker.bootstrap, kind, idempotent=True, delivery_ms=SOON_MS if sends_again else PATIENT_MS
    )
    introduce(client)
    broker.produce_error = code
    refused = client.send([ProducerRecord(0, b"b"), ProducerRecord(1, b"c")])
    after = client.send([ProducerRecord(0, b"d")])
    client.close(BOUND_S)
    assert outcomes(refused) == [INFO, INFO]
    assert all(any(name in (one.error or "") for name in names) for one in refused)
    assert after[0].outcome is not OK


class Raising:
    """Fails each call as librdkafka's module does where a test says so."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _name: str) -> Callable[..., None]:
        def fail(*_args: object, **_kwargs: object) -> None:
            raise self._error

        return fail


FATAL = KafkaException(KafkaError(OUT_OF_ORDER, "the broker lost records", fatal=True))


@pytest.mark.parametrize(
    ("error", "outcome", "text"),
    [
        (
            FATAL,
            FAIL,
            "OUT_OF_ORDER_SEQUENCE_NUMBER: the broker lost records (fatal): raised before anything",
        ),
        (TypeError("odd"), INFO, "TypeError: odd"),
    ],
)
def test_a_call_of_confluent_kafka_that_raises_is_the_records_fate(
    broker: FakeBroker, error: Exception, outcome: OperationType, text: str
) -> None:
    client = ConfluentProducer(ProducerOptions((broker.bootstrap,), "log-0"))
    client.close(BOUND_S)
    client._producer = Raising(error)
    (sent,) = client.send([ProducerRecord(0, b"a")])
    assert sent.outcome is outcome
    assert (sent.error or "").startswith(text)


def test_a_pipelined_producer_has_batches_of_one_record_and_as_many_in_flight_as_are_remembered() -> None:
    usual = producer_config(ProducerOptions(("b:1",), "log-0"))
    pipelined = producer_config(ProducerOptions(("b:1",), "log-0", pipelined=True))
    assert {key: pipelined[key] for key in pipelined.keys() - usual.keys()} == {
        "batch.num.messages": 1,
        "max.in.flight": 5,
        "retry.backoff.ms": 30,
        "retry.backoff.max.ms": 60,
    }


def test_a_poll_that_raises_again_and_again_is_bounded(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.clients.confluent.REPORTS_AFTER_FATAL_S", 0.2)
    client = ConfluentProducer(ProducerOptions((broker.bootstrap,), "log-0"))
    client.close(BOUND_S)
    client._producer = Raising(FATAL)
    client._producer.produce = lambda *_args, **_kwargs: None
    (sent,) = client.send([ProducerRecord(0, b"a")])
    assert sent == SendResult(INFO, None, "OUT_OF_ORDER_SEQUENCE_NUMBER: the broker lost records (fatal)")


@pytest.mark.parametrize("kind", EMBEDDED)
def test_a_reader_whose_library_refuses_reads_nothing(broker: FakeBroker, kind: ClientKind) -> None:
    client = consumer(broker.bootstrap, kind)
    client.close(BOUND_S)
    client._consumer = Raising(TypeError("odd"))  # type: ignore[attr-defined]  # both have one
    for call in (lambda: client.assign({0: 0}), lambda: client.poll(0), lambda: client.offsets([0], 0.1)):
        with pytest.raises(ReadError, match="odd"):
            call()


def test_a_client_that_the_library_does_not_make_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientFailedError, match="No such configuration property"):
        made(Producer, {"no.such.property": 1})
    with pytest.raises(ClientFailedError, match="odd"):
        subscribe(cast("Any", Raising(TypeError("odd"))), "log-0")
    with pytest.raises(ClientFailedError, match="odd"):
        kafka_python_making.subscribe(Raising(TypeError("odd")), "log-0", None)
    monkeypatch.setattr(kafka_python_making, "answers", lambda *_: True)
    with pytest.raises(ClientFailedError, match="Unrecognized configs"):
        kafka_python_making.made_client(KafkaConsumer, [NOBODY], no_such_property=1)


def test_a_join_that_can_not_be_asked_for_again_ends_the_member() -> None:
    class Odd(Raising):
        def poll(self, **_: int) -> dict[object, object]:
            return {}

        class _coordinator:  # noqa: N801 - the library's name
            rejoining = True

    with pytest.raises(ReadError, match="request_rejoin"):
        polled_in_group(Odd(TypeError("odd")), 0)


def test_a_missing_delivery_report_leaves_a_record_open(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.clients.confluent._GRACE_S", -0.5)
    broker.produce_error = None
    client = producer(broker.bootstrap, ClientKind.CONFLUENT, delivery_ms=500)
    (sent,) = client.send([ProducerRecord(0, b"a")])
    client.close(BOUND_S)
    assert (sent.outcome, sent.error) == (INFO, "no delivery report within the delivery timeout")


def test_kafka_python_cannot_be_made_without_a_broker() -> None:
    for make in (producer, consumer):
        with pytest.raises(ClientFailedError, match=r"none of 127\.0\.0\.1:9 answers"):
            make(NOBODY, ClientKind.KAFKA_PYTHON)


def test_kafka_python_that_learns_of_no_cluster_leaves_nothing_behind(broker: FakeBroker) -> None:
    broker.answers[METADATA] = lambda _request: None
    with pytest.raises(ClientFailedError, match="bootstrap"):
        KafkaPythonConsumer(ConsumerOptions((broker.bootstrap,), "log-0", request_ms=300, connect_ms=300))
    with pytest.raises(ClientFailedError, match="bootstrap"):
        KafkaPythonProducer(ProducerOptions((broker.bootstrap,), "log-0", request_ms=300, connect_ms=300))


def test_refused_connections_leave_no_socket_behind(broker: FakeBroker) -> None:
    """The library would leave them to the garbage collector, which warns, and warnings are errors here."""
    broker.produce_error = None
    client = producer(broker.bootstrap, ClientKind.KAFKA_PYTHON, idempotent=True, delivery_ms=500)
    broker.close()
    assert outcomes(client.send([ProducerRecord(0, b"a")])) == [INFO]
    client.close(BOUND_S)
    gc.collect()


def test_bytes_that_nobody_takes_leave_no_socket_behind(broker: FakeBroker) -> None:
    """As a paused broker leaves them; the library would keep the socket until they were sent."""
    client = consumer(broker.bootstrap, ClientKind.KAFKA_PYTHON)
    assert isinstance(client, KafkaPythonConsumer)
    client.offsets([0], BOUND_S)
    (connection,) = client._consumer._client._manager._conns.values()
    connection.transport.write((1 << 30).to_bytes(4, "big") + bytes(1 << 25))
    held = connection.transport._sock
    client.close(BOUND_S)
    assert held.fileno() == -1


def test_a_coordinator_that_fails_leaves_no_socket_behind(broker: FakeBroker) -> None:
    client = consumer(broker.bootstrap, ClientKind.KAFKA_PYTHON)
    assert isinstance(client, KafkaPythonConsumer)
    client.offsets([0], BOUND_S)
    (connection,) = client._consumer._client._manager._conns.values()
    held = connection.transport._sock

    def defect(**_options: object) -> None:
        raise ValueError("no lock")

    client._consumer._coordinator.close = defect
    with pytest.raises(ClientFailedError, match="no lock"):
        client.close(BOUND_S)
    assert held.fileno() == -1


def test_confluent_kafka_without_a_broker_reports_and_closes() -> None:
    sender = producer(NOBODY, ClientKind.CONFLUENT, delivery_ms=500)
    assert outcomes(sender.send([ProducerRecord(0, b"a")])) == [INFO]
    sender.close(BOUND_S)
    reader = consumer(NOBODY, ClientKind.CONFLUENT)
    reader.assign({0: 0})
    assert reader.poll(0.05) == []
    with pytest.raises(ReadError):
        reader.offsets([0], 0.1)
    reader.close(BOUND_S)


def test_records_are_read_from_where_reading_was_to_begin(broker: FakeBroker, kind: ClientKind) -> None:
    broker.records[:] = [[b"x", b"y", b"z"], [b"q"]]
    client = consumer(broker.bootstrap, kind)
    assert client.offsets([0, 1], BOUND_S) == {0: (0, 3), 1: (0, 1)}
    client.assign({0: 1, 1: 0})
    assert sorted(read(client, 3)) == [Message(0, 1, b"y"), Message(0, 2, b"z"), Message(1, 0, b"q")]
    assert client.poll(0.05) == []
    client.close(BOUND_S)


def test_a_position_that_is_gone_is_reported_and_not_reset(broker: FakeBroker, kind: ClientKind) -> None:
    broker.records[0] = [b"x"]
    client = consumer(broker.bootstrap, kind)
    broker.fetch_error = OFFSET_OUT_OF_RANGE
    client.assign({0: 100})
    with pytest.raises(ReadError) as caught:
        read(client, 1)
    client.close(BOUND_S)
    assert caught.value.out_of_range == {0}


def test_any_other_error_is_reported_too(broker: FakeBroker, kind: ClientKind) -> None:
    client = consumer(broker.bootstrap, kind)
    broker.fetch_error = TOPIC_AUTHORIZATION_FAILED
    client.assign({0: 0})
    with pytest.raises(ReadError) as caught:
        read(client, 1)
    client.close(BOUND_S)
    assert caught.value.out_of_range == frozenset()


def test_offsets_that_do_not_come_are_reported(broker: FakeBroker) -> None:
    client = consumer(broker.bootstrap, ClientKind.KAFKA_PYTHON)
    broker.answers[LIST_OFFSETS] = lambda _request: None
    with pytest.raises(ReadError):
        client.offsets([0], 0.2)
    client.close(BOUND_S)


class FakeMessage:
    """A message of librdkafka's, with an error or without."""

    def __init__(self, offset: int, code: int | None = None) -> None:
        self._offset, self._code = offset, code

    def error(self) -> "FakeMessage | None":
        return None if self._code is None else self

    def code(self) -> int | None:
        return self._code

    def name(self) -> str:
        return "NAME"

    def str(self) -> str:
        return "text"

    def partition(self) -> int:
        return 1

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return b"v"

    def headers(self) -> None:
        return None


def test_an_error_behind_records_comes_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ConfluentConsumer(ConsumerOptions((NOBODY,), "log-0"))
    monkeypatch.setattr(
        client,
        "_returned",
        lambda _wait: [FakeMessage(4), FakeMessage(-1, OFFSET_OUT_OF_RANGE), FakeMessage(5)],
    )
    assert client.poll(0.1) == [Message(1, 4, b"v"), Message(1, 5, b"v")]
    with pytest.raises(ReadError, match="NAME: text") as caught:
        client.poll(0.1)
    client.close(BOUND_S)
    assert caught.value.out_of_range == {1}


def test_a_call_that_hangs_is_given_up() -> None:
    release = threading.Event()
    with pytest.raises(ClientFailedError, match=r"closing did not end within 0\.1 s"):
        within(0.1, "closing", release.wait)
    release.set()


def test_a_call_that_fails_says_how() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ClientFailedError, match="closing: ValueError: no"):
        within(BOUND_S, "closing", fail)


def test_every_kind_is_made_by_its_name(broker: FakeBroker) -> None:
    made: list[LogProducer | LogConsumer] = [
        producer(broker.bootstrap, ClientKind.KAFKA_PYTHON),
        producer(broker.bootstrap, ClientKind.CONFLUENT),
        consumer(broker.bootstrap, ClientKind.KAFKA_PYTHON),
        consumer(broker.bootstrap, ClientKind.CONFLUENT),
    ]
    expected = [KafkaPythonProducer, ConfluentProducer, KafkaPythonConsumer, ConfluentConsumer]
    assert [type(client) for client in made] == expected
    for client in made:
        client.close(BOUND_S)
