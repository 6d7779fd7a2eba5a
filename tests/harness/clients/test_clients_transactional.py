"""All libraries' transactional producers, for real: a commit is as certain as what was answered."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from kafka.structs import ConsumerGroupMetadata

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients import (
    EMBEDDED,
    ClientFailedError,
    ClientKind,
    ProducerRecord,
    ReadError,
    SendResult,
    transactional_confluent,
)
from harness.clients.errors import ErrorSource
from harness.clients.java.transacting import _version_of
from harness.clients.opening import open_transactional
from harness.clients.transactional import (
    GroupOffsets,
    GroupOptions,
    Identity,
    TopicRecord,
    TransactionalOptions,
    TransactionalProducer,
    TransactionError,
)
from harness.clients.transactional_confluent import committed_offsets
from harness.clients.transactional_errors import TABLE, Committed, TransactionErrorRule, classify_commit
from tests.harness.fakes.coordinator import END, FakeCoordinatorBroker
from tests.harness.java import running
from tests.harness.waiting import BOUND_S

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
FENCED, INVALID_TXN_STATE, LOADING, ILLEGAL_GENERATION, GROUP_AUTHORIZATION = 90, 48, 14, 22, 30
BATCH = [TopicRecord("log-0", 0, b"a"), TopicRecord("log-0", 1, b"b")]


def test_a_record_of_a_transaction_is_that_of_any_producer() -> None:
    assert BATCH[0].sent == ProducerRecord(0, b"a")
    mark = TopicRecord("log-0", 2, b"v", b"k", tombstone=True)
    assert mark.sent == ProducerRecord(2, b"v", b"k", tombstone=True)
    assert (mark.sent.content, mark.sent.headers) == (None, [("value", b"v")])


@pytest.fixture
def broker() -> Iterator[FakeCoordinatorBroker]:
    with FakeCoordinatorBroker() as made:
        yield made


@pytest.fixture(params=EMBEDDED)
def kind(request: pytest.FixtureRequest) -> ClientKind:
    chosen: ClientKind = request.param
    return chosen


@pytest.fixture
def client(broker: FakeCoordinatorBroker, kind: ClientKind) -> Iterator[TransactionalProducer]:
    made = open_transactional(kind, options(broker))
    yield made
    made.close(BOUND_S)


def options(broker: FakeCoordinatorBroker) -> TransactionalOptions:
    return TransactionalOptions(
        (broker.bootstrap,), "name", 60_000, delivery_ms=30_000, request_ms=20_000, connect_ms=30_000
    )


def begun(client: TransactionalProducer) -> TransactionalProducer:
    client.initialise(BOUND_S)
    client.begin()
    assert client.send(BATCH) == [SendResult(OK, 40), SendResult(OK, 40)]
    return client


def test_a_transaction_is_committed(broker: FakeCoordinatorBroker, client: TransactionalProducer) -> None:
    begun(client).commit(BOUND_S)
    client.begin()
    client.send(BATCH)
    client.abort(BOUND_S)
    assert broker.ended == [True, False]


def test_kafka_python_returns_its_identity_and_librdkafka_does_not(
    kind: ClientKind, client: TransactionalProducer
) -> None:
    expected = Identity(7, 3) if kind is ClientKind.KAFKA_PYTHON else Identity()
    assert client.initialise(BOUND_S) == expected


def test_a_refused_commit_is_certain_only_where_the_library_shows_that_it_asked_once(
    broker: FakeCoordinatorBroker, kind: ClientKind, client: TransactionalProducer
) -> None:
    broker.end_errors = [FENCED]
    with pytest.raises(TransactionError) as raised:
        begun(client).commit(BOUND_S)
    assert raised.value.outcome is (FAIL if kind is ClientKind.KAFKA_PYTHON else INFO)
    assert broker.ended == [True]


def test_a_commit_that_is_refused_after_a_retry_is_open(
    broker: FakeCoordinatorBroker, client: TransactionalProducer
) -> None:
    broker.end_errors = [LOADING, INVALID_TXN_STATE]
    with pytest.raises(TransactionError) as raised:
        begun(client).commit(BOUND_S)
    assert (raised.value.outcome, broker.ended) == (INFO, [True, True])


def test_a_commit_without_an_answer_is_open_and_bounded(
    broker: FakeCoordinatorBroker, client: TransactionalProducer
) -> None:
    broker.end_errors = [None]
    begun(client)
    with pytest.raises(TransactionError) as raised:
        client.commit(0.5)
    assert raised.value.outcome is INFO


def test_a_commit_that_nobody_began_was_never_asked_for(
    broker: FakeCoordinatorBroker, client: TransactionalProducer
) -> None:
    client.initialise(BOUND_S)
    with pytest.raises(TransactionError) as raised:
        client.commit(BOUND_S)
    assert raised.value.outcome is FAIL
    assert END not in {key for key, _ in broker.asked}


def test_a_begin_that_the_library_refuses_failed(client: TransactionalProducer) -> None:
    with pytest.raises(TransactionError) as raised:
        client.begin()
    assert raised.value.outcome is FAIL


def test_an_initialisation_is_bounded(broker: FakeCoordinatorBroker, client: TransactionalProducer) -> None:
    broker.init_error = None
    with pytest.raises(TransactionError):
        client.initialise(0.5)


def test_records_that_are_not_acknowledged_are_open(
    broker: FakeCoordinatorBroker, client: TransactionalProducer
) -> None:
    client.initialise(BOUND_S)
    client.begin()
    broker.produce_error = FENCED
    assert {sent.outcome for sent in client.send(BATCH)} == {INFO}
    with pytest.raises(TransactionError):
        client.commit(BOUND_S)


def test_records_outside_of_a_transaction_are_refused(client: TransactionalProducer) -> None:
    client.initialise(BOUND_S)
    assert {sent.outcome for sent in client.send(BATCH)} == {INFO}


def test_an_abort_that_is_refused_says_so(
    broker: FakeCoordinatorBroker, client: TransactionalProducer
) -> None:
    broker.end_errors = [FENCED]
    with pytest.raises(TransactionError):
        begun(client).abort(BOUND_S)


MEMBERSHIPS = {
    ClientKind.KAFKA_PYTHON: ConsumerGroupMetadata("group", 5, "member", None),
    ClientKind.JAVA: Membership("member", 5),
}
"""The same member, as these libraries name it."""


@pytest.fixture(params=MEMBERSHIPS)
def copying(
    broker: FakeCoordinatorBroker, request: pytest.FixtureRequest
) -> Iterator[tuple[TransactionalProducer, GroupOffsets]]:
    """A producer, and offsets of the group's member."""
    if request.param is ClientKind.JAVA:
        request.getfixturevalue("java_process")
    made = open_transactional(request.param, options(broker), running())
    yield made, GroupOffsets("group", "log-0", {0: 5}, MEMBERSHIPS[request.param])
    made.close(BOUND_S)


def test_offsets_of_a_member_that_was_put_out_are_refused(
    broker: FakeCoordinatorBroker, copying: tuple[TransactionalProducer, GroupOffsets]
) -> None:
    broker.offsets_error = ILLEGAL_GENERATION
    client, offsets = copying
    with pytest.raises(TransactionError, match=r"IllegalGeneration|group metadata mismatch"):
        begun(client).send_offsets(offsets, BOUND_S)


def test_offsets_go_with_the_transaction(
    broker: FakeCoordinatorBroker, copying: tuple[TransactionalProducer, GroupOffsets]
) -> None:
    client, offsets = copying
    begun(client).send_offsets(offsets, BOUND_S)
    client.commit(BOUND_S)
    assert broker.ended == [True]
    assert broker.members == [("group", "member", 5)]


def test_a_transaction_has_the_version_of_the_clusters_protocol(
    copying: tuple[TransactionalProducer, GroupOffsets],
) -> None:
    client, _ = copying
    client.initialise(BOUND_S)
    assert client.begin() == 1


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        ({}, None),
        ({"transactionManager": SimpleNamespace()}, 1),
        ({"transactionManager": SimpleNamespace(isTransactionV2Enabled=lambda: False)}, 1),
        ({"transactionManager": SimpleNamespace(isTransactionV2Enabled=lambda: True)}, 2),
    ],
)
def test_the_version_of_a_transaction_is_what_the_library_keeps(
    fields: dict[str, object], version: int | None
) -> None:
    def declared(name: str) -> SimpleNamespace:
        return SimpleNamespace(
            getName=lambda: name, setAccessible=lambda _yes: None, get=lambda _of: fields[name]
        )

    kind = SimpleNamespace(getDeclaredFields=lambda: [declared(name) for name in ("metrics", *fields)])
    assert _version_of(SimpleNamespace(getClass=lambda: kind)) == version


def test_a_call_that_does_not_return_is_left_behind(
    broker: FakeCoordinatorBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_transactional(ClientKind.CONFLUENT, options(broker))
    released = threading.Event()

    class Hanging:
        def commit_transaction(self, _timeout_s: float) -> None:
            released.wait(BOUND_S)

        def purge(self, *, blocking: bool) -> None:
            assert not blocking

    with monkeypatch.context() as patched:
        patched.setattr(client, "_producer", Hanging())
        patched.setattr(transactional_confluent, "_GRACE_S", 0.0)
        with pytest.raises(TransactionError, match="did not end within") as raised:
            client.commit(0.05)
        assert raised.value.outcome is INFO
        with pytest.raises(ClientFailedError, match="commit_transaction has not returned"):
            client.close(1.0)
        released.set()


def test_a_groups_offsets_are_read(broker: FakeCoordinatorBroker) -> None:
    group = GroupOptions((broker.bootstrap,), "group", "log-0", request_ms=30_000)
    assert committed_offsets(group, [0, 1], BOUND_S) == {0: 17, 1: None}
    broker.fetch_offsets_error = GROUP_AUTHORIZATION
    with pytest.raises(ReadError):
        committed_offsets(group, [0, 1], BOUND_S)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.source}-{row.name}")
def test_a_commit_is_refused_for_certain_exactly_where_the_table_says_so(row: TransactionErrorRule) -> None:
    once = classify_commit(row.source, row.key, only_attempt=True).outcome
    again = classify_commit(row.source, row.key, only_attempt=False).outcome
    assert (once is FAIL) == (row.committed is not Committed.MAYBE)
    assert (again is FAIL) == (row.committed is Committed.NEVER_ASKED)


def test_every_row_has_its_reason_and_is_the_only_one_of_its_key() -> None:
    assert all(row.reason for row in TABLE)
    assert len({(row.source, row.key) for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("source", ErrorSource)
def test_an_error_nobody_thought_of_is_open(source: ErrorSource) -> None:
    assert classify_commit(source, "Unheard", only_attempt=True).outcome is INFO
