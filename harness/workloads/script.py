"""The common part of scripts of raw transactions: addresses, retries, and recording."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation
from checkers.history.transactions import (
    ProducerInitialised,
    ProducerRequested,
    TxnEnd,
    TxnRequested,
    TxnSendRequested,
)
from harness.clients.administrator import AdministratorOptions
from harness.clients.administrator_opening import open_administrator
from harness.clients.interface import ClientFailedError, ClientKind, ReadError
from harness.clients.raw_batches import ProduceAnswer
from harness.clients.raw_offsets import commit_offset, find_group
from harness.clients.raw_transactions import (
    ProducerState,
    Protocol,
    add_partitions,
    end_transaction,
    find_coordinator,
    init_producer,
    produce,
    produce_all,
)
from harness.clients.transaction_views import TransactionView, describe_transaction
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import Connection, WireError
from harness.record.journal import describe
from harness.vocabulary import ScriptedTransactions
from harness.workloads.context import WorkloadContext
from harness.workloads.script_transaction import CLIENT, TOPIC, OpenTransaction, ScriptedSend, ScriptError
from harness.workloads.txn_retries import RETRIABLE
from harness.workloads.values import Values

T = TypeVar("T")
_TRANSACTION_TIMEOUT_MS = 45_000
"""Longer than a script takes; TCP may resend a delayed request seconds after its release."""
_INSIST_S = 20.0
_OFFSETS = "__consumer_offsets"
_OFFSET = 7
_ABORTED = "CompleteAbort"
"""Kafka's name of the state (`org.apache.kafka.coordinator.transaction.TransactionState`)."""
_PAUSE_S = 0.1
_ANSWER_S = 60.0
_CLIENT_CLOSE_S = 5.0
ScriptContext = WorkloadContext[ScriptedTransactions]


class ScriptClient:
    """Connections, producers and records of one script; used by one thread.

    Args:
        context: the run's.
        cleanup: closes the connections.
        stopping: set when the load ends; then no request is repeated.

    Raises:
        ScriptError: the brokers report nothing about the script's topic.
    """

    def __init__(self, context: ScriptContext, cleanup: ExitStack, stopping: threading.Event) -> None:
        workload = context.workload
        first = workload.producers + workload.consumers
        self.context = context
        self.protocol = Protocol(workload.transaction_version)
        self.values = Values(first)
        self._recorders = [context.recorder(number, "script") for number in (first, first + 1)]
        self._cleanup = cleanup
        self._stopping = stopping
        self._begun: dict[str, int] = {}
        self._topic: TopicAnswer = self._look()

    def connect(self, broker: int) -> Connection:
        """A connection to a broker's CLIENT listener, closed at the script's end."""
        holds = self.context.holds
        if holds is None:
            raise ScriptError("connections can't be held here")
        _, _, port = self.context.bootstrap[0].rpartition(":")
        try:
            connection = Connection(holds.host_of(broker), int(port), _ANSWER_S)
        except WireError as error:
            raise ScriptError(str(error)) from error
        self._cleanup.callback(connection.close)
        return connection

    def leader(self, partition: int) -> int:
        """Id of the partition's leader."""
        self._topic = self._look()
        leaders = {state.partition: state.leader for state in self._topic.partitions}
        if partition not in leaders:
            raise ScriptError(f"the broker reports nothing about partition {partition}")
        return leaders[partition]

    def coordinator(self, transactional_id: str) -> int:
        """Id of the broker that coordinates the transactional id."""
        host, _, port = self.context.bootstrap[0].rpartition(":")

        def ask() -> tuple[int, int]:
            with Connection(host, int(port), _ANSWER_S) as connection:
                return find_coordinator(connection, transactional_id)

        return self.insist(ask, lambda answer: [answer[0]], "FindCoordinator")[1]

    def begin_producer(
        self, transactional_id: str, process: int = 0, timeout_ms: int = _TRANSACTION_TIMEOUT_MS
    ) -> ProducerState:
        """A new instance of a transactional producer, recorded; its transactions have this timeout."""
        self._begun[transactional_id] = process
        connection = self.connect(self.coordinator(transactional_id))
        with self._recorders[process].operation(
            "init-transactions", transactional_id, ProducerRequested(client=CLIENT, timeout_ms=timeout_ms)
        ) as outcome:
            _, producer = self.insist(
                lambda: init_producer(connection, transactional_id, timeout_ms),
                lambda answer: [answer[0]],
                "InitProducerId",
            )
            outcome.ok(
                ProducerInitialised(client=CLIENT, producer_id=producer.producer_id, epoch=producer.epoch)
            )
        return producer

    def raise_epoch(self, producer: ProducerState, process: int = 0) -> int:
        """Ask to raise a producer's epoch as libraries do after errors (KIP-360); returns the error code.

        The request is repeated while it is too early.  It is recorded as an initialisation.
        """
        name, timeout_ms = producer.transactional_id, _TRANSACTION_TIMEOUT_MS
        raises = (producer.producer_id, producer.epoch)
        connection = self.connect(self.coordinator(name))
        asked = ProducerRequested(client=CLIENT, timeout_ms=timeout_ms, raises=raises)
        codes: list[int] = []

        def ask() -> ProducerState:
            code, raised = init_producer(connection, name, timeout_ms, raising=producer)
            codes.append(code)
            return raised

        with self._recorders[process].operation("init-transactions", name, asked) as outcome:
            raised = self._until(ask, lambda _: codes[-1] not in RETRIABLE, "InitProducerId")
            if codes[-1]:
                outcome.end(OperationType.FAIL, asked, f"InitProducerId was answered {codes}")
            else:
                outcome.ok(
                    ProducerInitialised(
                        client=CLIENT, raises=raises, producer_id=raised.producer_id, epoch=raised.epoch
                    )
                )
        return codes[-1]

    def abandon(self) -> None:
        """After a failure, end open transactions: initialise every producer again.

        A broker that answers that it is too early has begun to end the transaction, or does not coordinate it
        yet.  When the load ends, the request is not repeated.

        Raises:
            ScriptError: a producer could not be initialised.
        """
        for transactional_id, process in list(self._begun.items()):
            self.begin_producer(transactional_id, process)

    @contextmanager
    def transaction(
        self, producer: ProducerState, sends: Sequence[ScriptedSend], end: TxnEnd, process: int = 0
    ) -> Iterator[OpenTransaction]:
        """A transaction from its invocation to its completion at the block's end, which `end` defines.

        After an exception it stays open, and its outcome is ``info``.  If its end was refused, the outcome is
        ``fail`` if the epoch was old, otherwise ``info``.
        """
        opened = OpenTransaction(sends)
        asked = TxnRequested(client=CLIENT, end=end, mops=[TxnSendRequested(TOPIC, *send) for send in sends])
        with self._recorders[process].operation("txn", producer.transactional_id, asked) as outcome:
            outcome.end(OperationType.INFO, opened.ended(end, None))
            yield opened
            outcome.end(*opened.outcome(end))

    def add(self, producer: ProducerState, partitions: Sequence[int]) -> None:
        """Add partitions to the transaction; in version 2 Produce does this, so nothing is sent."""
        if self.protocol is Protocol.V1:
            connection = self.connect(self.coordinator(producer.transactional_id))
            self.insist(
                lambda: add_partitions(connection, producer, TOPIC, partitions),
                lambda codes: codes,
                "AddPartitionsToTxn",
            )

    def append(
        self, producer: ProducerState, send: ScriptedSend, sequence: int, opened: OpenTransaction
    ) -> None:
        """Produce one record and note its offset."""
        connection = self.connect(self.leader(send.partition))
        answer = self.insist(
            lambda: self.produce(connection, producer, send, sequence), lambda a: [a.error], "Produce"
        )
        opened.offsets[send.value] = answer.offset or 0

    def produce(
        self, connection: Connection, producer: ProducerState, send: ScriptedSend, sequence: int
    ) -> ProduceAnswer:
        """Produce one record on this connection and wait for any answer."""
        return produce(
            connection,
            producer,
            self._topic,
            send.partition,
            sequence=sequence,
            value=self.context.codec.encode(send.value),
            protocol=self.protocol,
        )

    def produce_both(
        self, connection: Connection, producer: ProducerState, sends: Mapping[ScriptedSend, int]
    ) -> dict[int, ProduceAnswer]:
        """Produce one record to each of several partitions in one request, and wait for any answer.

        Args:
            connection: to the leader of all these partitions.
            producer: the producer.
            sends: the records, each with its sequence number.

        Returns:
            The answers, by partition.
        """
        encode = self.context.codec.encode
        records = {send.partition: (sequence, encode(send.value)) for send, sequence in sends.items()}
        return produce_all(connection, producer, self._topic, records, protocol=self.protocol)

    def end(self, producer: ProducerState, *, commit: bool) -> ProducerState:
        """End the transaction on a separate connection; returns the producer's new state."""
        connection = self.connect(self.coordinator(producer.transactional_id))
        answer = self.insist(
            lambda: end_transaction(connection, producer, commit=commit, protocol=self.protocol),
            lambda a: [a.error],
            "EndTxn",
        )
        return answer.producer

    def commit_if_permitted(self, producer: ProducerState, opened: OpenTransaction) -> int:
        """Commit, or note the refusal in the transaction; returns the error code.

        Raises:
            ScriptError: no answer, it was still too early at the end, or the load ends.
        """
        connection = self.connect(self.coordinator(producer.transactional_id))
        answer = self._until(
            lambda: end_transaction(connection, producer, commit=True, protocol=self.protocol),
            lambda answer: answer.error not in RETRIABLE,
            "EndTxn",
        )
        opened.refused = answer.error or None
        return answer.error

    def await_stable(self, partition: int) -> None:
        """Wait until the last stable offset is the end of the log: no transaction is open there.

        Raises:
            ScriptError: no answer, one was open for too long, or the load ends.
        """

        def ends() -> tuple[int, int]:
            return self._end(partition, Isolation.READ_COMMITTED), self._end(
                partition, Isolation.READ_UNCOMMITTED
            )

        self._until(ends, lambda pair: pair[0] == pair[1], "the transaction's marker")

    def await_aborted(self, producer: ProducerState) -> int:
        """Wait until the coordinator has aborted the transaction; returns its epoch of the producer.

        Raises:
            ScriptError: no answer, it was not aborted in time, the producer has another id, or the load ends.
        """
        name = producer.transactional_id
        connection = self.connect(self.coordinator(name))

        def aborted(view: TransactionView) -> bool:
            return view.error == 0 and view.state == _ABORTED

        view = self._until(lambda: describe_transaction(connection, name), aborted, "the transaction's abort")
        if view.producer_id != producer.producer_id:
            raise ScriptError("the abort gave the producer another id")
        return view.epoch

    def group_coordinator(self, group: str) -> int:
        """Id of the broker that coordinates the group, once a broker reports it.

        Raises:
            ScriptError: none did in time, or the load ends.
        """
        host, _, port = self.context.bootstrap[0].rpartition(":")

        def ask() -> int | None:
            try:
                with Connection(host, int(port), _ANSWER_S) as connection:
                    return find_group(connection, group)
            except WireError:
                return None

        return self._until(ask, lambda found: found is not None, f"the coordinator of {group}") or 0

    def commit_offset(self, group: str) -> int:
        """Commit an offset of a group that has no members; returns its coordinator's id.

        Raises:
            ScriptError: it was not acknowledged.
        """

        def ask() -> tuple[int, int]:
            to = self.group_coordinator(group)
            return commit_offset(self.connect(to), group, TOPIC, 0, _OFFSET), to

        return self.insist(ask, lambda answer: [answer[0]], "OffsetCommit")[1]

    def renew_offsets_topic(self, group: str) -> None:
        """Delete the topic of committed offsets, and wait until a broker knows one with another id.

        Kafka creates it again when it is asked for a group's coordinator.

        Raises:
            ScriptError: the deletion was not acknowledged, there was no new topic in time, or the load ends.
        """
        old = self._look(_OFFSETS).topic_id
        options = AdministratorOptions(self.context.bootstrap)
        try:
            admin = open_administrator(ClientKind.KAFKA_PYTHON, options)
        except ClientFailedError as error:
            raise ScriptError(str(error)) from error
        try:
            answer = admin.delete_topic(_OFFSETS)
        finally:
            admin.close(_CLIENT_CLOSE_S)
        if answer.outcome is not OperationType.OK:
            raise ScriptError(f"the deletion of {_OFFSETS} was not acknowledged: {answer.error}")

        def new() -> bool:
            self.group_coordinator(group)
            found = self._look(_OFFSETS)
            return not found.error and found.topic_id != old

        self._until(new, bool, f"a new {_OFFSETS}")

    def insist(self, call: Callable[[], T], codes: Callable[[T], Iterable[int]], what: str) -> T:
        """Repeat a request until every code is 0, as long as the codes mean that it is too early.

        Raises:
            ScriptError: another code, no answer, it was still too early at the end, or the load ends.
        """

        def settled(answer: T) -> bool:
            found = set(codes(answer)) - {0}
            if found - RETRIABLE:
                raise ScriptError(f"{what} was answered {sorted(found)}")
            return not found

        return self._until(call, settled, what)

    def _until(self, call: Callable[[], T], settled: Callable[[T], bool], what: str) -> T:
        deadline = time.monotonic() + _INSIST_S
        while True:
            try:
                answer = call()
            except (WireError, ReadError, ClientFailedError) as error:
                raise ScriptError(f"{what}: {error}") from error
            if settled(answer):
                return answer
            if time.monotonic() > deadline:
                raise ScriptError(f"{what}: not within {_INSIST_S:.0f} s")
            if self._stopping.wait(_PAUSE_S):
                raise ScriptError(f"{what}: not before the load was stopped")

    def _end(self, partition: int, isolation: Isolation) -> int:
        client = self.context.clients.consumer(ClientKind.KAFKA_PYTHON, TOPIC, isolation)
        try:
            return client.offsets([partition], _INSIST_S)[partition][1]
        finally:
            client.close(_CLIENT_CLOSE_S)

    def _look(self, topic: str = TOPIC) -> TopicAnswer:
        endpoint = Endpoint(*self.context.brokers[0])
        try:
            return endpoint.cluster([topic]).topics[topic]
        except (KeyError, WireError) as error:
            raise ScriptError(describe(error)) from error
        finally:
            endpoint.close()
