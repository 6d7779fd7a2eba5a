"""Clients of all libraries, for real: once closed they send nothing, without help of Python's collector.

A broker answers with errors after which the libraries repeat their requests.  A client has ended when its
connections are closed and it has no thread that could open another one.
"""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from checkers.history.operations import OperationType
from harness.clients import ClientFailedError, ClientKind, ProducerOptions, ProducerRecord
from harness.clients.administrator import AdminAnswer, Administrator, AdministratorOptions
from harness.clients.administrator_opening import open_administrator
from harness.clients.opening import open_producer, open_transactional
from harness.clients.transactional import (
    TopicRecord,
    TransactionalOptions,
    TransactionalProducer,
    TransactionError,
)
from tests.harness.fakes.admin_broker import ALTER, COMMIT, FakeAdminBroker
from tests.harness.fakes.broker import INIT_PRODUCER_ID, PRODUCE, FakeBroker
from tests.harness.fakes.coordinator import END, FakeCoordinatorBroker
from tests.harness.java import running
from tests.harness.waiting import BOUND_S, wait_until

LOADING, NOT_LEADER, NOT_CONTROLLER = 14, 6, 41
CONNECT_MS = 30_000
REQUEST_MS, DELIVERY_MS = 800, 1_000
STEP_S = 1.0
pytestmark = pytest.mark.slow
BATCH = [TopicRecord("log-0", 0, b"a")]


class Closable(Protocol):
    def close(self, timeout_s: float) -> None: ...


class Opened(NamedTuple):
    """A client whose last call failed, the error of that call, and the key of a request that it repeats."""

    client: Closable
    error: BaseException | None
    key: int


class Watch:
    """Threads that this process and that of kafka-clients have more than when this was made."""

    def __init__(self) -> None:
        self._python = set(threading.enumerate())
        self._native = self._libraries_threads()

    def has_new(self) -> bool:
        """Whether there is one, but for those of brokers of tests."""
        python = {each for each in set(threading.enumerate()) - self._python if not _serves(each)}
        return bool(python or self._libraries_threads() - self._native)

    @staticmethod
    def _libraries_threads() -> set[str]:
        """Paths of the threads that librdkafka and kafka-clients have named."""
        java = running()
        processes = ["self", *([] if java is None else [str(java.pid)])]
        return {path for process in processes for path in _named(process)}


def _named(process: str) -> Iterator[str]:
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            if (task / "comm").read_text().startswith(("rdk:", "kafka-")):
                yield str(task)


def _serves(thread: threading.Thread) -> bool:
    return "_serve" in thread.name or "_accept" in thread.name


def producer_without_id(broker: FakeCoordinatorBroker, kind: ClientKind) -> Opened:
    broker.init_error = LOADING
    return failed(broker, kind, INIT_PRODUCER_ID, lambda client: client.initialise(STEP_S))


def producer_in_commit(broker: FakeCoordinatorBroker, kind: ClientKind) -> Opened:
    broker.end_errors = [LOADING]

    def commit(client: TransactionalProducer) -> None:
        begin(client)
        client.commit(STEP_S)

    return failed(broker, kind, END, commit)


def producer_in_abort(broker: FakeCoordinatorBroker, kind: ClientKind) -> Opened:
    """None of its records was acknowledged, and its transaction is open."""
    broker.produce_error, broker.end_errors = NOT_LEADER, [LOADING]

    def abort(client: TransactionalProducer) -> None:
        begin(client)
        client.abort(STEP_S)

    return failed(broker, kind, PRODUCE, abort)


def failed(
    broker: FakeCoordinatorBroker,
    kind: ClientKind,
    key: int,
    call: Callable[[TransactionalProducer], object],
) -> Opened:
    options = TransactionalOptions(
        (broker.bootstrap,),
        "t",
        60_000,
        delivery_ms=DELIVERY_MS,
        request_ms=REQUEST_MS,
        connect_ms=CONNECT_MS,
    )
    client = open_transactional(kind, options, running())
    with pytest.raises(TransactionError) as raised:
        call(client)
    return Opened(client, raised.value, key)


def begin(client: TransactionalProducer) -> None:
    client.initialise(STEP_S)
    client.begin()
    client.send(BATCH)


def plain_producer(broker: FakeCoordinatorBroker, kind: ClientKind) -> Opened:
    broker.produce_error = NOT_LEADER
    options = ProducerOptions(
        (broker.bootstrap,), "log-0", delivery_ms=DELIVERY_MS, request_ms=REQUEST_MS, connect_ms=CONNECT_MS
    )
    client = open_producer(kind, options, running())
    assert client.send([ProducerRecord(0, b"a")])[0].outcome is OperationType.INFO
    return Opened(client, None, PRODUCE)


CALLS: dict[int, Callable[[Administrator], AdminAnswer]] = {
    ALTER: lambda client: client.alter_config("log-0", "flush.ms", 17),
    COMMIT: lambda client: client.commit_offset("group-0", "log-0", 1, 17),
}
PRODUCERS = [producer_without_id, producer_in_commit, producer_in_abort, plain_producer]


@pytest.fixture
def _uncollected() -> Iterator[None]:
    """What only Python's collector would find is kept."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def has_closed_all(broker: FakeBroker) -> bool:
    """Whether the broker has read all that was sent to it, and the other side of each connection is gone."""
    return not any(thread.is_alive() for thread in broker._threads)


def ends(opening: Callable[[], Opened], broker: FakeBroker, watch: Watch) -> None:
    """Close a client that has sent the request, and require that it has ended.

    On a slow machine the client may have given up before it sent the request; then there is a next one.
    """

    def has_asked() -> bool:
        opened = opening()
        asked = opened.key in dict(broker.asked)
        opened.client.close(BOUND_S)
        return asked

    wait_until(has_asked)
    # A thread that has been joined may be listed for a moment.
    wait_until(lambda: not watch.has_new() and has_closed_all(broker))


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("opening", PRODUCERS)
def test_a_producer_that_had_an_error_sends_nothing_once_it_is_closed(
    kind: ClientKind, opening: Callable[[FakeCoordinatorBroker, ClientKind], Opened]
) -> None:
    watch = Watch()
    with FakeCoordinatorBroker() as broker:
        ends(lambda: opening(broker, kind), broker, watch)


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("key", CALLS)
def test_an_administrator_that_had_an_error_sends_nothing_once_it_is_closed(
    kind: ClientKind, key: int
) -> None:
    watch = Watch()
    with FakeAdminBroker() as broker:
        broker.errors[key] = NOT_CONTROLLER if key == ALTER else LOADING
        options = AdministratorOptions((broker.bootstrap,), REQUEST_MS, CONNECT_MS, operation_ms=DELIVERY_MS)

        def opening() -> Opened:
            client = open_administrator(kind, options, running())
            assert CALLS[key](client).outcome is not OperationType.OK
            return Opened(client, None, key)

        ends(opening, broker, watch)


@pytest.mark.usefixtures("_uncollected")
def test_a_producer_of_librdkafka_that_somebody_refers_to_goes_on_and_says_so() -> None:
    """This is what the tests above would find."""
    watch = Watch()
    with FakeCoordinatorBroker() as broker:
        opened = producer_without_id(broker, ClientKind.CONFLUENT)
        kept = [opened.client._producer]  # type: ignore[attr-defined]  # the library's producer
        with pytest.raises(ClientFailedError, match="it goes on: 1 others refer to it"):
            opened.client.close(BOUND_S)
        asked = len(broker.asked)
        wait_until(lambda: len(broker.asked) > asked)
        assert watch.has_new()
        kept.clear()
        wait_until(lambda: not watch.has_new())
