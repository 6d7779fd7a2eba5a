"""A process's transactional producer, which records its operations in the history."""

from collections.abc import Callable, Sequence
from threading import Event
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict

from checkers.history.operations import OperationType
from checkers.history.transactions import (
    PRODUCER_CLOSED,
    Consumed,
    ProducerClosed,
    ProducerInitialised,
    ProducerRequested,
    TxnEnd,
    TxnEnded,
    TxnOffsets,
    TxnRequested,
    TxnSend,
    TxnSendRequested,
)
from harness.clients.interface import ClientFailedError, ClientKind, SendResult
from harness.clients.transactional import (
    GroupOffsets,
    Identity,
    TransactionalOptions,
    TransactionalProducer,
    TransactionError,
)
from harness.record.journal import Recorder
from harness.vocabulary import TransactionalWorkload
from harness.workloads.context import DELIVERY_MS, REQUEST_MS, WorkloadContext
from harness.workloads.worker import Closable

STEP_S = 2.5
"""How long one step may take; an instance that takes longer is no longer used."""
_ABORT_S = 1.5
_ERRORS_RECORDED_MAX = 3
_NOT_SENT = SendResult(OperationType.FAIL, error="not sent: others before it were not acknowledged")

TransactionalContext = WorkloadContext[TransactionalWorkload]
Make = Callable[[ClientKind, TransactionalOptions], TransactionalProducer]
"""Makes producers, as `harness.clients.opening.open_transactional` does."""


class TxnRecord(NamedTuple):
    """A record that a transaction sends."""

    topic: str
    partition: int
    value: int


class Intent(NamedTuple):
    """The planned content of one transaction.

    Attributes:
        sends: its records.
        commits: whether it must be committed; otherwise it is aborted on purpose.
        pause_s: how long it stays open before it is ended, seconds.
        late: how many of its last records, together with its offsets, are sent after that time.
        offsets: offsets that it commits for a group.
        consumed: the records that it copies, as in the history.
        meanwhile: is called when its records and offsets have been sent, unless some are late.
    """

    sends: tuple[TxnRecord, ...]
    commits: bool = True
    pause_s: float = 0.0
    late: int = 0
    offsets: GroupOffsets | None = None
    consumed: Consumed | None = None
    meanwhile: Callable[[], None] | None = None


class _End(NamedTuple):
    """How a transaction ended.

    Attributes:
        outcome: outcome of the whole operation.
        ended: the end that was acknowledged, if any.
        error: reason why it is not the intended end.
        ending_ns: a time before which neither commit nor abort was requested; None if neither was requested.
        version: version of the transaction's protocol; None if it did not begin, or it is not known.
    """

    outcome: OperationType
    ended: TxnEnd | None
    error: str | None = None
    ending_ns: int | None = None
    version: int | None = None


class Staff(NamedTuple):
    """The part of a worker that its transactor uses.

    Attributes:
        recorder: writes as the worker's process.
        stopping: ends pauses early.
        dismiss: closes a client, or reports that this failed; returns whether the client has ended.
    """

    recorder: Recorder
    stopping: Event
    dismiss: Callable[[Closable | None], bool]


class Transactor:
    """Successive instances of a transactional producer, under one transactional id.

    Args:
        context: context of the run.
        staff: resources of its worker.
        kind: the client library.
        name: the transactional id.
        make: makes producers.
        timeout_ms: timeout of its transactions; None: that of the workload.
    """

    def __init__(
        self,
        context: TransactionalContext,
        staff: Staff,
        kind: ClientKind,
        name: str,
        make: Make,
        *,
        timeout_ms: int | None = None,
    ) -> None:
        self._context = context
        self._staff = staff
        self._kind = kind
        self._name = name
        self._make = make
        self._who = ProducerRequested(client=kind, timeout_ms=UNSET if timeout_ms is None else timeout_ms)
        self._options = TransactionalOptions(
            context.bootstrap,
            name,
            context.workload.transaction_timeout_ms if timeout_ms is None else timeout_ms,
            delivery_ms=DELIVERY_MS,
            request_ms=REQUEST_MS,
        )
        self._client: TransactionalProducer | None = None

    @property
    def ready(self) -> bool:
        """Whether there is an initialised instance without known errors."""
        return self._client is not None

    def initialise(self) -> bool:
        """Make a new instance and initialise it; returns whether this succeeded."""
        who = self._who
        nobody = ProducerInitialised(**asdict(who))
        recorder = self._staff.recorder
        recorder.invoke("init-transactions", self._name, who)
        try:
            client = self._make(self._kind, self._options)
        except ClientFailedError as error:
            recorder.complete(OperationType.FAIL, nobody, f"no client, nothing sent: {error}")
            return False
        identity = self._identity(client)
        if isinstance(identity, str):
            recorder.complete(OperationType.INFO, nobody, identity)
            self._close(client)
            return False
        recorder.complete(OperationType.OK, ProducerInitialised(**asdict(who), **identity._asdict()))
        self._client = client
        return True

    @staticmethod
    def _identity(client: TransactionalProducer) -> Identity | str:
        """The identity of an instance, or why it has none.

        An error that is being handled keeps what it passed through, so it must be gone before the instance is
        closed: librdkafka's producers end when nothing refers to them.
        """
        try:
            return client.initialise(STEP_S)
        except TransactionError as error:
            return str(error)

    def carry_out(self, intent: Intent) -> bool:
        """Carry out one transaction; returns whether it ended as intended.

        If it did not, the instance is no longer used.

        Raises:
            RuntimeError: there is no instance.
        """
        if self._client is None:
            raise RuntimeError(f"{self._name} was not initialised")
        sent: list[SendResult] = []
        self._staff.recorder.invoke("txn", self._name, self._transaction_value(intent, sent))
        end = self._perform(self._client, intent, sent)
        requested = self._transaction_value(intent, sent)
        value = TxnEnded(
            **asdict(requested),
            ended=end.ended,
            ending_ns=end.ending_ns,
            version=UNSET if end.version is None else end.version,
        )
        self._staff.recorder.complete(end.outcome, value, end.error)
        if end.error is not None:
            self.give_up()
        return end.error is None

    def give_up(self) -> None:
        """Close the instance, if there is one; its transaction, if any, stays open."""
        client, self._client = self._client, None
        if client is not None:
            self._close(client)

    def _close(self, client: TransactionalProducer) -> None:
        """Close an instance, and record whether and when it ended: requests of its may be late until then."""
        ended = self._staff.dismiss(client)
        self._staff.recorder.observe(PRODUCER_CLOSED, self._name, ProducerClosed(self._kind, ended))

    def _perform(self, client: TransactionalProducer, intent: Intent, sent: list[SendResult]) -> _End:
        try:
            version = client.begin()
        except TransactionError as error:
            return _End(OperationType.FAIL, None, f"nothing was sent: {error}")
        records = [self._context.topic_record(*send) for send in intent.sends]
        early = len(records) - intent.late
        sent += client.send(records[:early])
        trouble = _trouble(sent) or (None if intent.late else _offsets_trouble(client, intent))
        if intent.meanwhile is not None:
            intent.meanwhile()
        self._staff.stopping.wait(intent.pause_s)
        if intent.late:
            sent += client.send(records[early:]) if trouble is None else [_NOT_SENT] * intent.late
            trouble = _trouble(sent) or _offsets_trouble(client, intent)
        ending_ns = self._staff.recorder.journal.clock.now_ns()
        commits = intent.commits and trouble is None
        end = _committed(client) if commits else _aborted(client, trouble)
        return end._replace(ending_ns=ending_ns, version=version)

    def _transaction_value(self, intent: Intent, sent: Sequence[SendResult]) -> TxnRequested:
        """The transaction in the form of the history, with the offsets of sent records."""
        mops: list[TxnSendRequested | TxnOffsets] = [
            *(TxnSend(*send, one.offset) for send, one in zip(intent.sends, sent, strict=False)),
            *(TxnSendRequested(*send) for send in intent.sends[len(sent) :]),
        ]
        if intent.offsets is not None:
            where = list(intent.offsets.positions.items())
            mops.append(TxnOffsets(intent.offsets.group, intent.offsets.topic, where))
        return TxnRequested(
            client=self._kind,
            end="commit" if intent.commits else "abort",
            mops=mops,
            consumed=UNSET if intent.consumed is None else intent.consumed,
        )


def _trouble(sent: Sequence[SendResult]) -> str | None:
    errors = dict.fromkeys(one.error or "not acknowledged" for one in sent if one.offset is None)
    return "; ".join(list(errors)[:_ERRORS_RECORDED_MAX]) or None


def _offsets_trouble(client: TransactionalProducer, intent: Intent) -> str | None:
    if intent.offsets is None:
        return None
    try:
        client.send_offsets(intent.offsets, STEP_S)
    except TransactionError as error:
        return str(error)
    return None


def _committed(client: TransactionalProducer) -> _End:
    try:
        client.commit(STEP_S)
    except TransactionError as error:
        return _End(error.outcome, None, str(error))
    return _End(OperationType.OK, "commit")


def _aborted(client: TransactionalProducer, trouble: str | None) -> _End:
    """The end of a transaction that is aborted on purpose, whose commit was certainly not requested."""
    try:
        client.abort(_ABORT_S)
    except TransactionError as error:
        why = f"its commit was never asked for; abort: {error}"
        return _End(OperationType.FAIL, None, why if trouble is None else f"{trouble}; {why}")
    return _End(OperationType.FAIL, "abort", trouble)
