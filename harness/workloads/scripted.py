"""Scripts of raw transactions that reproduce bugs of Kafka deterministically.

Most delay one request on its connection until the requests are done that should follow it.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

import msgspec

from checkers.history.error_codes import ErrorCode
from checkers.history.transactions import ScriptPlayed
from harness.clients.raw_transactions import EndTxnAnswer, ProducerState, Protocol, end_transaction
from harness.faults.contract import NotConfirmedError
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder, describe
from harness.vocabulary import Script
from harness.workloads.context import Holds
from harness.workloads.log import log_workers
from harness.workloads.script import ScriptClient, ScriptContext
from harness.workloads.script_transaction import FENCED, OpenTransaction, ScriptedSend, ScriptError
from harness.workloads.worker import Worker

T = TypeVar("T")
HOLD_S = 5.5
"""Longer than the five seconds that a verdict requires of every fault."""
_LATE_ANSWER_S = 40.0
_POLL_S = 0.1
_TIMEOUT_MS = 5_000
_NAMES = 20
_GROUPS = 12
"""With this many, hardly ever all have the coordinator that they had."""
_REFUSED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED)
_LEAD_S = 3.0
"""Time for the traffic that a verdict requires before the first fault."""


def scripted_workers(context: ScriptContext) -> list[Worker]:
    """The log workload's workers, and the script."""
    return [*log_workers(context), ScriptWorker(context)]


class ScriptWorker(Worker):
    """Carries out the script once; the operation ``control`` records whether it went as required."""

    def __init__(self, context: ScriptContext) -> None:
        super().__init__("script")
        self._context = context
        self._recorder = Recorder(context.journals.open("script", "script"), "script")

    def work(self) -> None:
        """Wait for some traffic, then carry out the script."""
        if self.stopping.wait(_LEAD_S):
            return
        script = self._context.workload.script
        known = ScriptPlayed(self._context.workload.transaction_version)
        with self._recorder.operation("control", script, known) as outcome, ExitStack() as cleanup:
            try:
                client = ScriptClient(self._context, cleanup, self.stopping)
                outcome.ok(self._played(script, client))
            except (ScriptError, WireError, NotConfirmedError) as error:
                outcome.error = describe(error)

    def _played(self, script: Script, client: ScriptClient) -> ScriptPlayed:
        try:
            return SCRIPTS[script](client, self)
        except (ScriptError, WireError, NotConfirmedError):
            try:
                client.abandon()
            except ScriptError as error:
                self.complaints.append(f"{self.name}: {error}")
            raise

    def held(
        self,
        client: ScriptClient,
        broker: int,
        late: Callable[[Connection], T],
        meanwhile: Callable[[], None],
    ) -> T:
        """Send a request that is delayed while `meanwhile` runs; returns its answer.

        Raises:
            ScriptError: no answer came within 40 s after the release, or before the load was stopped.
        """

        def hold(
            holds: Holds, connection: Connection, send: Callable[[], None]
        ) -> AbstractContextManager[None]:
            return holds.hold("hold-1", broker, connection.source_port, send)

        return self._during(client, broker, late, meanwhile, hold)

    def held_up(
        self,
        client: ScriptClient,
        leader: int,
        coordinator: int,
        late: Callable[[Connection], T],
        meanwhile: Callable[[], None],
    ) -> T:
        """Send a leader a request while nothing that it sends reaches a coordinator; returns its answer.

        Raises:
            ScriptError: no answer came within 40 s after the release, or before the load was stopped.
        """

        def hold(holds: Holds, _: Connection, send: Callable[[], None]) -> AbstractContextManager[None]:
            return holds.hold_broker("hold-1", coordinator, leader, send)

        return self._during(client, leader, late, meanwhile, hold)

    def _during(
        self,
        client: ScriptClient,
        broker: int,
        late: Callable[[Connection], T],
        meanwhile: Callable[[], None],
        hold: Callable[[Holds, Connection, Callable[[], None]], AbstractContextManager[None]],
    ) -> T:
        connection = client.connect(broker)
        holds = client.context.holds
        if holds is None:
            raise ScriptError("connections can't be held here")
        with ThreadPoolExecutor(1) as aside:
            answers: list[Future[T]] = []

            def send() -> None:
                answers.append(aside.submit(late, connection))

            try:
                with hold(holds, connection, send):
                    meanwhile()
                    self.stopping.wait(HOLD_S)
                return self._answer(answers[0])
            finally:
                connection.close()

    def _answer(self, pending: Future[T]) -> T:
        deadline = time.monotonic() + _LATE_ANSWER_S
        while not wait([pending], _POLL_S).done:
            if self.stopping.is_set():
                raise ScriptError("no answer to what was held before the load was stopped")
            if time.monotonic() > deadline:
                raise ScriptError(f"no answer to what was held within {_LATE_ANSWER_S:.0f} s")
        return pending.result()


def hanging_transaction(client: ScriptClient, worker: ScriptWorker) -> ScriptPlayed:
    """A Produce arrives after its transaction was aborted; then another producer commits a record.

    Before KIP-890's verification (KAFKA-14402) the broker appends it: a transaction begins that no producer
    will end, and the last stable offset stays there forever.
    """
    producer = client.begin_producer("hanging-0")
    early, late = (ScriptedSend(0, client.values.draw()) for _ in range(2))
    with client.transaction(producer, [early, late], "abort") as opened:
        client.add(producer, [0])
        client.append(producer, early, 0, opened)

        def abort() -> None:
            client.end(producer, commit=False)
            client.await_stable(0)

        answer = worker.held(client, client.leader(0), lambda c: client.produce(c, producer, late, 1), abort)
        if answer.offset is not None:
            opened.offsets[late.value] = answer.offset
    other = client.begin_producer("hanging-1", process=1)
    with client.transaction(other, [ScriptedSend(0, client.values.draw())], "commit", process=1) as opened:
        client.add(other, [0])
        client.append(other, opened.sends[0], 0, opened)
        client.end(other, commit=True)
    return ScriptPlayed(client.protocol, late_produce_error=answer.error)


def delayed_end_txn(client: ScriptClient, worker: ScriptWorker) -> ScriptPlayed:
    """An EndTxn(commit) arrives in the middle of the next transaction, which is then aborted.

    Without an epoch for each transaction, the coordinator treats it as the end of the next one (KAFKA-17754):
    the records that this one has sent so far are committed, its later records are aborted.
    """
    producer = client.begin_producer("delayed-0")
    coordinator = client.coordinator(producer.transactional_id)
    once, twice, last = (client.values.draw() for _ in range(3))
    next_sequence = 1 if client.protocol is Protocol.V1 else 0
    with ExitStack() as first, ExitStack() as second:
        opened = first.enter_context(client.transaction(producer, [ScriptedSend(0, once)], "commit"))
        client.add(producer, [0])
        client.append(producer, opened.sends[0], 0, opened)
        begun: list[tuple[ProducerState, OpenTransaction]] = []

        def overtake() -> None:
            """Send the retry, which is acknowledged, and half of the next transaction."""
            later = client.end(producer, commit=True)
            first.close()
            sends = [ScriptedSend(0, twice), ScriptedSend(1, last)]
            following = second.enter_context(client.transaction(later, sends, "abort"))
            client.add(later, [0])
            client.append(later, sends[0], next_sequence, following)
            begun.append((later, following))

        answer = worker.held(client, coordinator, lambda c: _commit(c, producer, client), overtake)
        (later, following) = begun[0]
        client.add(later, [1])
        client.append(later, following.sends[1], 0, following)
        client.end(later, commit=False)
        second.close()
    return ScriptPlayed(client.protocol, late_end_error=answer.error)


def timed_out_producer(client: ScriptClient, worker: ScriptWorker) -> ScriptPlayed:
    """A transaction times out while a leader waits for the coordinator's answer about one of two partitions.

    The leader need not ask about the other partition, where the transaction is ongoing.  When it appends, the
    transaction is over, and the producer's epoch is old (KAFKA-19690).

    Raises:
        ScriptError: a step failed, or the answer about the other partition is not INVALID_PRODUCER_EPOCH, so
            that the producer's epoch may not have been old.
    """
    leader = client.leader(0)
    if client.leader(1) != leader:
        raise ScriptError("the two partitions have different leaders")
    names = (f"timed-out-{number}" for number in range(_NAMES))
    name = next((each for each in names if client.coordinator(each) != leader), None)
    if name is None:
        raise ScriptError("the leader coordinates all transactional ids that were tried")
    producer = client.begin_producer(name, timeout_ms=_TIMEOUT_MS)
    coordinator = client.coordinator(name)
    first, known, late, other = (client.values.draw() for _ in range(4))
    # For the markers of this transaction the coordinator connects to the leader.
    with client.transaction(producer, [ScriptedSend(0, first)], "commit") as opened:
        client.add(producer, [0])
        client.append(producer, opened.sends[0], 0, opened)
        client.end(producer, commit=True)
        client.await_stable(0)
    sends = [ScriptedSend(0, known), ScriptedSend(0, late), ScriptedSend(1, other)]
    with client.transaction(producer, sends, "abort") as opened:
        client.add(producer, [0, 1])
        client.append(producer, sends[0], 1, opened)
        sequences = {sends[1]: 2, sends[2]: 0}
        answers = worker.held_up(
            client,
            leader,
            coordinator,
            lambda connection: client.produce_both(connection, producer, sequences),
            lambda: client.await_stable(0),
        )
        if answers[1].error != ErrorCode.INVALID_PRODUCER_EPOCH:
            raise ScriptError(f"the producer's epoch was not old: partition 1 answered {answers[1].error}")
        appended = {send.value: answers[send.partition].offset for send in sends[1:]}
        opened.offsets |= {value: offset for value, offset in appended.items() if offset is not None}
    return ScriptPlayed(client.protocol, timed_out_errors=(answers[0].error, answers[1].error))


def late_commit(client: ScriptClient, worker: ScriptWorker) -> ScriptPlayed:
    """A commit arrives after its transaction timed out, and the coordinator has raised the producer's epoch.

    With an epoch for each transaction (KIP-890) an epoch that is one behind may be that of a retry.  Then the
    coordinator looks at the transaction's state, and its answer does not name the epoch (KAFKA-20785).

    Raises:
        ScriptError: a step failed, or the answer does not refuse because of a state or an epoch.
    """
    producer = client.begin_producer("late-commit-0", timeout_ms=_TIMEOUT_MS)
    coordinator = client.coordinator(producer.transactional_id)
    sends = [ScriptedSend(0, client.values.draw())]
    epochs: list[int] = []
    with client.transaction(producer, sends, "abort") as opened:
        client.add(producer, [0])
        client.append(producer, sends[0], 0, opened)
        answer = worker.held(
            client,
            coordinator,
            lambda connection: _commit(connection, producer, client),
            lambda: epochs.append(client.await_aborted(producer)),
        )
        if answer.error not in _REFUSED:
            raise ScriptError(f"the late commit was answered {answer.error}")
    return ScriptPlayed(client.protocol, late_commit_error=answer.error, newer_by=epochs[0] - producer.epoch)


def older_epoch(client: ScriptClient, _worker: ScriptWorker) -> ScriptPlayed:
    """An older instance asks to raise its epoch, first without and then during its successor's transaction.

    Its epoch is not the newest, so it must be fenced, and the transaction must not be affected (KIP-360).

    Raises:
        ScriptError: a step failed, or the older instance was not fenced while there was no transaction.
    """
    older = client.begin_producer("older-epoch-0")
    newest = client.begin_producer("older-epoch-0", process=1)
    if newest != msgspec.structs.replace(older, epoch=older.epoch + 1):
        raise ScriptError(f"the second instance is {newest}, not the first one with the next epoch")
    idle = client.raise_epoch(older)
    if idle not in FENCED:
        raise ScriptError(f"without a transaction the older epoch was answered {idle}")
    sends = [ScriptedSend(0, client.values.draw())]
    with client.transaction(newest, sends, "commit", process=1) as opened:
        client.add(newest, [0])
        client.append(newest, sends[0], 0, opened)
        during = client.raise_epoch(older)
        commit = client.commit_if_permitted(newest, opened)
    client.await_stable(0)
    return ScriptPlayed(client.protocol, older_epoch_errors=(idle, during), newest_commit_error=commit)


def deleted_offsets(client: ScriptClient, _worker: ScriptWorker) -> ScriptPlayed:
    """The topic of committed offsets is deleted, and groups commit again.

    Brokers that coordinated them must not do so any more (KAFKA-19274).  At the end of the run each broker is
    asked which groups it coordinates.

    Raises:
        ScriptError: a step failed, or no group has another coordinator than before.
    """
    groups = [f"deleted-{number}" for number in range(_GROUPS)]
    before = {group: client.commit_offset(group) for group in groups}
    client.renew_offsets_topic(groups[0])
    moved = [group for group in groups if client.group_coordinator(group) != before[group]]
    if not moved:
        raise ScriptError("every group has its old coordinator")
    for group in moved:
        client.commit_offset(group)
    return ScriptPlayed(client.protocol, moved_groups=len(moved))


def _commit(connection: Connection, producer: ProducerState, client: ScriptClient) -> EndTxnAnswer:
    return end_transaction(connection, producer, commit=True, protocol=client.protocol)


SCRIPTS: Mapping[Script, Callable[[ScriptClient, ScriptWorker], ScriptPlayed]] = {
    Script.HANGING_TRANSACTION: hanging_transaction,
    Script.DELAYED_END_TXN: delayed_end_txn,
    Script.TIMED_OUT_PRODUCER: timed_out_producer,
    Script.LATE_COMMIT: late_commit,
    Script.OLDER_EPOCH: older_epoch,
    Script.DELETED_OFFSETS: deleted_offsets,
}
