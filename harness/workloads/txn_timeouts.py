"""Transactions that outlast their timeout: abandoned, continued too late, or aborted by an administrator.

Each uses one of a few transactional ids that no other client has, and sends one record to each of several
partitions, request by request.  Then the coordinator is asked to describe the transaction, and the
partitions' leaders to describe the producer (KIP-664).  An administrator aborts only transactions that no
producer will end.  Records that a zombie sends after the timeout are recorded as a separate transaction with
an unknown end: they may be a part of the first one, if that was not aborted yet.
"""

import random
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeVar

from msgspec.structs import asdict, replace

from checkers.history.operations import OperationType
from checkers.history.transactions import (
    CoordinatorRequested,
    LeaderRequested,
    MarkerAnswered,
    ProducerDescribed,
    ProducerInitialised,
    ProducerRequested,
    TransactionDescribed,
    TxnEnded,
    TxnRequested,
    TxnSend,
    TxnSendRequested,
)
from harness.clients.errors import ErrorSource
from harness.clients.raw_transactions import (
    ProducerState,
    Protocol,
    add_partitions,
    end_transaction,
    find_coordinator,
    init_producer,
    produce,
)
from harness.clients.transaction_views import abort_in_partition, describe_producer, describe_transaction
from harness.clients.transactional_errors import classify_commit
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import Connection, WireError
from harness.vocabulary import TxnWorkload
from harness.workloads.context import Address, WorkloadContext
from harness.workloads.txn_retries import RETRIABLE
from harness.workloads.values import Values
from harness.workloads.worker import Worker

T = TypeVar("T")
TxnContext = WorkloadContext[TxnWorkload]

CLIENT = "raw"
_NAMES = 8
"""Number of transactional ids: an abandoned transaction times out before its id is used again."""
_PARTITIONS_MAX = 3
_ASK_S = 2.5
_RETRIES = 15
_RETRY_PAUSE_S = 0.1
_SETTLE_S = (0.1, 0.8)
_LATE_S = (0.0, 4.0)
_NEVER_ASKED = "its commit was never asked for"


class TimeoutCase(StrEnum):
    """The ways in which a transaction is not ended in time."""

    LEFT = "left"
    COMMITTED_LATE = "committed late"
    SENT_LATE = "sent late"
    ABORTED_BY_ADMIN = "aborted by an administrator"


class Open(NamedTuple):
    """A transaction that is open.

    Attributes:
        producer: the producer that began it.
        coordinator: id of the broker that added its partitions.
        leaders: id of the leader that each partition's record was sent to.
        sent: its records; acknowledged ones have their offsets.
        value: value of the operation in the history.
    """

    producer: ProducerState
    coordinator: int
    leaders: dict[int, int]
    sent: list[TxnSend]
    value: TxnEnded


class TransactionTimeoutWorker(Worker):
    """Begins one transaction that times out after the other; a second process describes them.

    Args:
        context: context of the run.
        number: number of the process of the transactions; the next number is that of the second process.
    """

    def __init__(self, context: TxnContext, number: int) -> None:
        super().__init__("lapsing")
        self._context = context
        self._recorder = context.recorder(number, "transactor")
        self._describer = context.recorder(number + 1, "describer")
        self._random = random.Random(number)
        self._values = Values(number)
        self._listeners = tuple(_address(each) for each in context.bootstrap)
        self._turn = 0

    def work(self) -> None:
        """Make one transaction after the other, at irregular times."""
        mean_s = self._context.workload.lapsing_interval_ms / 1000
        while not self.stopping.wait(self._random.uniform(0.5, 1.5) * mean_s):
            self.do_once(self._random.choice(tuple(TimeoutCase)))

    def do_once(self, case: TimeoutCase) -> None:
        """Make one transaction, as far as brokers answer."""
        self._turn += 1
        name = f"lapse-{self._turn % _NAMES}"
        try:
            coordinator, topic = self._look(name)
            producer = self._initialise(name, coordinator)
        except WireError:
            return  # nothing was requested that the history would have to record
        if producer is not None:
            self._hold(case, producer, coordinator, topic)

    def _hold(self, case: TimeoutCase, producer: ProducerState, coordinator: int, topic: TopicAnswer) -> None:
        opened = self._begin(producer, coordinator, topic)
        if opened is None:
            return
        if case is not TimeoutCase.COMMITTED_LATE:
            self._recorder.complete(OperationType.FAIL, opened.value, _NEVER_ASKED)
        self._describe(opened)
        if case is TimeoutCase.ABORTED_BY_ADMIN:
            self.stopping.wait(self._random.uniform(*_SETTLE_S))
            self._abort(opened)
        elif case is TimeoutCase.COMMITTED_LATE:
            self._commit_late(opened)
        elif case is TimeoutCase.SENT_LATE:
            self._send_late(opened, topic)

    def _commit_late(self, opened: Open) -> None:
        """Ask for the commit after the timeout, unless the load ends first or a record was not acknowledged.

        A producer's library refuses to commit what it could not send.  A commit that succeeds would
        mean, in the history, that every record of the transaction is there.
        """
        if self._stopped_in_time() or any(send.offset is None for send in opened.sent):
            self._recorder.complete(OperationType.FAIL, opened.value, _NEVER_ASKED)
            return
        self._describe(opened)
        self._commit(opened)

    def _send_late(self, opened: Open, topic: TopicAnswer) -> None:
        """After the timeout, send another record to each partition with one, unless the load ends before."""
        there = [send.partition for send in opened.sent if send.offset is not None]
        if self._stopped_in_time() or not there:
            return
        sends = [TxnSendRequested(topic.name, number, self._values.draw()) for number in there]
        self._recorder.invoke("txn", opened.producer.transactional_id, _asked(sends))
        sent = [
            _answered(
                send, self._send(opened.producer, topic, send, opened.leaders[send.partition], sequence=1)
            )
            for send in sends
        ]
        self._recorder.complete(OperationType.FAIL, _ended(sent), _NEVER_ASKED)

    def _stopped_in_time(self) -> bool:
        """Wait for the timeout and some more time; returns whether the load ended before that."""
        timeout_s = self._context.workload.lapsing_timeout_ms / 1000
        return self.stopping.wait(timeout_s + self._random.uniform(*_LATE_S))

    def _look(self, name: str) -> tuple[int, TopicAnswer]:
        """The coordinator of a transactional id, and the topic, as some broker reports them."""
        address = self._random.choice(self._listeners)
        with Connection(*address, _ASK_S) as connection:
            error, coordinator = find_coordinator(connection, name)
        if error or not 0 < coordinator <= len(self._listeners):
            raise WireError(f"no coordinator of {name}: error {error}")
        endpoint = Endpoint(*address, _ASK_S)
        try:
            return coordinator, endpoint.cluster([self._context.topic]).topics[self._context.topic]
        except KeyError as unknown:
            raise WireError(f"{self._context.topic} is not known") from unknown
        finally:
            endpoint.close()

    def _initialise(self, name: str, coordinator: int) -> ProducerState | None:
        timeout_ms = self._context.workload.lapsing_timeout_ms
        who = ProducerRequested(client=CLIENT, timeout_ms=timeout_ms)
        nobody = ProducerInitialised(client=CLIENT, timeout_ms=timeout_ms)
        with self._recorder.operation("init-transactions", name, who) as outcome:
            outcome.end(OperationType.INFO, nobody)
            try:
                error, producer = self._insist(
                    coordinator, lambda it: init_producer(it, name, timeout_ms), lambda answer: answer[0]
                )
            except WireError as failed:
                outcome.error = str(failed)
                return None
            if error:
                outcome.error = f"error {error}"
                return None
            outcome.ok(replace(nobody, producer_id=producer.producer_id, epoch=producer.epoch))
        return producer

    def _begin(self, producer: ProducerState, coordinator: int, topic: TopicAnswer) -> Open | None:
        """Add partitions one by one, and send a record to each; None if nothing was sent."""
        count = min(_PARTITIONS_MAX, len(topic.partitions))
        leaders = dict(self._random.sample([(s.partition, s.leader) for s in topic.partitions], count))
        sends = [TxnSendRequested(topic.name, number, self._values.draw()) for number in leaders]
        self._recorder.invoke("txn", producer.transactional_id, _asked(sends))
        sent: list[TxnSend] = []
        trouble = None
        for send in sends:
            trouble = trouble or self._add(producer, coordinator, topic.name, send.partition)
            offset = self._send(producer, topic, send, leaders[send.partition]) if trouble is None else None
            sent.append(_answered(send, offset))
        value = replace(_ended(sent), ending_ns=None)
        if trouble is not None:
            self._recorder.complete(OperationType.FAIL, value, f"a partition was not added: {trouble}")
            return None
        sent_ns = self._recorder.journal.clock.now_ns()
        to = {str(partition): leader for partition, leader in leaders.items()}
        value = replace(value, sent_ns=sent_ns, coordinator=coordinator, leaders=to)
        return Open(producer, coordinator, leaders, sent, value)

    def _add(self, producer: ProducerState, coordinator: int, topic: str, partition: int) -> str | None:
        """Add a partition to the transaction; returns the reason why it failed, or None."""
        try:
            code = self._insist(
                coordinator, lambda it: max(add_partitions(it, producer, topic, [partition])), int
            )
        except WireError as failed:
            return str(failed)
        return f"error {code}" if code else None

    def _send(
        self,
        producer: ProducerState,
        topic: TopicAnswer,
        send: TxnSendRequested,
        leader: int,
        sequence: int = 0,
    ) -> int | None:
        """Send a record once; returns its offset, or None if it was not acknowledged."""
        record = self._context.codec.encode(send.value)
        try:
            with self._connected(leader) as connection:
                answer = produce(
                    connection,
                    producer,
                    topic,
                    send.partition,
                    sequence=sequence,
                    value=record,
                    protocol=Protocol.V1,
                )
        except WireError:
            return None
        return answer.offset

    def _commit(self, opened: Open) -> None:
        """Request the commit once."""
        value = replace(opened.value, ending_ns=self._recorder.journal.clock.now_ns())
        try:
            with self._connected(opened.coordinator) as connection:
                ended = end_transaction(connection, opened.producer, commit=True, protocol=Protocol.V1)
        except WireError as failed:
            self._recorder.complete(OperationType.INFO, value, str(failed))
            return
        if not ended.error:
            self._recorder.complete(OperationType.OK, replace(value, ended="commit"))
            return
        fate, reason = classify_commit(ErrorSource.BROKER, ended.error, only_attempt=True)
        self._recorder.complete(fate, value, f"[Error {ended.error}] ({reason})")

    def _abort(self, opened: Open) -> None:
        """Abort the transaction in each partition, and describe it again."""
        for partition, leader in opened.leaders.items():
            coordinator_epoch = self._describe_producer(opened, partition, leader)
            if coordinator_epoch is None:
                continue
            asked = _leader_asked(opened.producer, partition, leader)
            with self._describer.operation("abort-transaction", self._context.topic, asked) as outcome:
                try:
                    with self._connected(leader) as connection:
                        code = abort_in_partition(
                            connection, self._context.topic, partition, opened.producer, coordinator_epoch
                        )
                    kind = OperationType.INFO if code else OperationType.OK
                    answered = MarkerAnswered(**asdict(asked), code=code)
                    outcome.end(kind, answered, f"error {code}" if code else None)
                except WireError as failed:
                    outcome.error = str(failed)
            self._describe_producer(opened, partition, leader)

    def _describe(self, opened: Open) -> None:
        """Describe it at the current coordinator, and at the leaders that received its records."""
        self._describe_transaction(opened)
        for partition, leader in opened.leaders.items():
            self._describe_producer(opened, partition, leader)

    def _describe_transaction(self, opened: Open) -> None:
        name = opened.producer.transactional_id
        try:
            coordinator, _ = self._look(name)
        except WireError:
            return
        asked = CoordinatorRequested(opened.producer.producer_id, opened.producer.epoch, coordinator)
        with self._describer.operation("describe-transaction", name, asked) as outcome:
            outcome.end(OperationType.FAIL, asked)
            try:
                with self._connected(coordinator) as connection:
                    described = describe_transaction(connection, name)
            except WireError as failed:
                outcome.error = str(failed)
                return
            if described.error:
                outcome.error = f"error {described.error}"
                return
            outcome.ok(
                TransactionDescribed(
                    **asdict(asked),
                    state=described.state,
                    told_id=described.producer_id,
                    told_epoch=described.epoch,
                    partitions=described.partitions,
                )
            )

    def _describe_producer(self, opened: Open, partition: int, leader: int) -> int | None:
        """The producer's coordinator epoch according to a leader; None without an answer."""
        asked = _leader_asked(opened.producer, partition, leader)
        with self._describer.operation("describe-producer", self._context.topic, asked) as outcome:
            outcome.end(OperationType.FAIL, asked)
            try:
                with self._connected(leader) as connection:
                    described = describe_producer(connection, self._context.topic, partition, opened.producer)
            except WireError as failed:
                outcome.error = str(failed)
                return None
            if described.error:
                outcome.error = f"error {described.error}"
                return None
            outcome.ok(
                ProducerDescribed(
                    **asdict(asked),
                    known=described.known,
                    told_epoch=described.epoch,
                    start_offset=described.start_offset,
                )
            )
        return described.coordinator_epoch

    def _insist(self, broker: int, ask: Callable[[Connection], T], code_of: Callable[[T], int]) -> T:
        """Repeat a request while its answer has an error of `RETRIABLE`; returns the last answer.

        Raises:
            WireError: no answer.
        """
        with self._connected(broker) as connection:
            for _ in range(_RETRIES):
                answer = ask(connection)
                if code_of(answer) not in RETRIABLE or self.stopping.wait(_RETRY_PAUSE_S):
                    break
            return answer

    def _connected(self, broker: int) -> Connection:
        if not 0 < broker <= len(self._listeners):
            raise WireError(f"there is no broker {broker}")
        return Connection(*self._listeners[broker - 1], _ASK_S)


def _address(server: str) -> Address:
    host, _, port = server.rpartition(":")
    return host, int(port)


def _asked(sends: list[TxnSendRequested]) -> TxnRequested:
    """A transaction that must be committed, although no commit is requested yet."""
    return TxnRequested(client=CLIENT, end="commit", mops=[*sends])


def _answered(send: TxnSendRequested, offset: int | None) -> TxnSend:
    return TxnSend(send.topic, send.partition, send.value, offset)


def _ended(sent: list[TxnSend]) -> TxnEnded:
    """Such a transaction without an acknowledged end."""
    return TxnEnded(client=CLIENT, end="commit", mops=[*sent], ended=None)


def _leader_asked(producer: ProducerState, partition: int, leader: int) -> LeaderRequested:
    return LeaderRequested(producer.producer_id, producer.epoch, partition, leader)
