"""Batches of an old producer epoch, which no client library sends by itself.

An idempotent producer without a transactional id increments its epoch without a coordinator (KIP-360), so
only the partition's leader can refuse batches of an earlier epoch.  Each turn uses a new producer id.  It
appends one record in epoch 1 to a partition.  Once this is acknowledged, it sends one in epoch 0, at once or
after some seconds, when another broker may lead.  Both are recorded as sends like all others.  If a leader
accepts the second one, it follows the first one in the log, where checkers find it
(``producer-epoch-regression``).
"""

import random
from typing import NamedTuple

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from harness.clients.errors import ErrorSource, classify
from harness.clients.raw_batches import RawBatch, append_batch, request_producer_id
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import Connection, WireError
from harness.vocabulary.transactional import TransactionalWorkload
from harness.workloads.context import Address, WorkloadContext
from harness.workloads.values import Values
from harness.workloads.worker import Worker

EpochsContext = WorkloadContext[TransactionalWorkload]

_OLD, _NEW = 0, 1
_ASK_S = 2.5
_WAIT_S = (0.0, 3.0)
_REFUSALS = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED: a leader compares epochs before it appends.  Each batch is sent
once, so no earlier attempt can be in the log."""


class RawSendResult(NamedTuple):
    """The result of a send: its outcome, its offset if it is ``ok``, and the error."""

    outcome: OperationType
    offset: int | None = None
    error: str | None = None


class OldEpochWorker(Worker):
    """Sends a batch of a new epoch, then one of an old epoch, of one producer after the other.

    Args:
        context: the run's.
        number: of the process.
    """

    def __init__(self, context: EpochsContext, number: int) -> None:
        super().__init__("old-epochs")
        self._context = context
        self._recorder = context.recorder(number, "old-epochs")
        self._random = random.Random(number)
        self._values = Values(number)
        self._listeners = tuple(_address(each) for each in context.bootstrap)

    def work(self) -> None:
        """Use one producer after the other, at irregular times; none if the interval is 0."""
        mean_s = self._context.workload.old_epochs_interval_ms / 1000
        while mean_s > 0 and not self.stopping.wait(self._random.uniform(0.5, 1.5) * mean_s):
            self.do_once()

    def do_once(self) -> None:
        """Send both batches of one producer; the second one only if the first one was acknowledged."""
        partition = self._random.randrange(self._context.workload.partitions)
        wait_s = self._random.uniform(*_WAIT_S)
        try:
            producer_id = self._producer_id()
        except WireError:
            return  # nothing was requested that the history would have to record
        if self._send(partition, producer_id, _NEW) and not self.stopping.wait(wait_s):
            self._send(partition, producer_id, _OLD)

    def _producer_id(self) -> int:
        with Connection(*self._random.choice(self._listeners), _ASK_S) as connection:
            error, producer_id = request_producer_id(connection)
        if error:
            raise WireError(f"InitProducerId was answered with error {error}")
        return producer_id

    def _send(self, partition: int, producer_id: int, epoch: int) -> bool:
        """Send one record as an operation; returns whether it was acknowledged."""
        value = self._values.draw()
        self._recorder.invoke("send", self._context.topic, [[partition, value]])
        batch = RawBatch(producer_id, epoch, sequence=0, value=self._context.codec.encode(value))
        answered = self._answer(partition, batch)
        sent = [[partition, value, answered.offset, answered.outcome]]
        self._recorder.complete(answered.outcome, sent, answered.error)
        return answered.outcome is OperationType.OK

    def _answer(self, partition: int, batch: RawBatch) -> RawSendResult:
        """The current leader's answer to a batch that is sent once."""
        try:
            topic = self._look()
            connection = self._connected(topic, partition)
        except WireError as failed:
            return RawSendResult(OperationType.FAIL, error=f"no connection, nothing sent: {failed}")
        with connection:
            try:
                code, offset = append_batch(connection, topic, partition, batch)
            except WireError as failed:
                return RawSendResult(OperationType.INFO, error=str(failed))
        if not code:
            return RawSendResult(OperationType.OK, offset)
        if code in _REFUSALS:
            return RawSendResult(
                OperationType.FAIL, error=f"[Error {code}] (an old producer epoch, sent once)"
            )
        outcome, reason = classify(ErrorSource.BROKER, code, only_attempt=True, acks="all")
        return RawSendResult(outcome, error=f"[Error {code}] ({reason})")

    def _look(self) -> TopicAnswer:
        """The topic, as some broker reports it."""
        endpoint = Endpoint(*self._random.choice(self._listeners), _ASK_S)
        try:
            return endpoint.cluster([self._context.topic]).topics[self._context.topic]
        except KeyError as unknown:
            raise WireError(f"{self._context.topic} is not known") from unknown
        finally:
            endpoint.close()

    def _connected(self, topic: TopicAnswer, partition: int) -> Connection:
        leaders = {state.partition: state.leader for state in topic.partitions}
        leader = leaders.get(partition, 0)
        if not 0 < leader <= len(self._listeners):
            raise WireError(f"partition {partition} has no leader")
        return Connection(*self._listeners[leader - 1], _ASK_S)


def _address(server: str) -> Address:
    host, _, port = server.rpartition(":")
    return host, int(port)
