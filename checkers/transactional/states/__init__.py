"""Judges the states of transactional ids that coordinators wrote to the log of ``__transaction_state``.

A coordinator changes the state of a transactional id in three steps.  It decides on the new state, appends it
to the log of its partition, and adopts it once all in-sync replicas have the record
(``TransactionStateManager.appendTransactionToLog``).  Meanwhile it refuses other changes of this id.  A new
coordinator reads the log first and adopts the last record of each id.  So for each record, one of the records
before it was adopted when it was written.  By Kafka 3.5 to 4.4:

1. ``transaction-state-illegal``: the state can be reached from it (``TransactionState.validPreviousStates``).
   Only clients of version 2 may abort what has not begun.
2. ``transaction-epoch-back``: its producer id and epoch follow (``TransactionMetadata``).  A transaction
   keeps both while partitions are added.  A decision of version 2 raises the epoch by one, others do not
   (KIP-890).  An abort after a timeout, or because of an initialisation, raises it, too; with version 2 that
   was twice before 4.1.0 (KAFKA-19367).  A completion has those of the decision, or epoch 0 of the producer
   id that the decision announced.  An initialisation raises the epoch by one, repeats it, or assigns a new
   producer id with epoch 0.
3. ``transaction-partition-dropped``: a transaction has all partitions that it had.  Its decision has exactly
   these, and a state without a transaction has none.
4. ``transaction-start-wrong``: a transaction starts when its first partition is added, so the start time of
   that record is the time of the record (``TransactionMetadata.prepareAddPartitions``).  Later records of the
   transaction have the same start time.  Coordinators abort what is open for longer than its timeout, counted
   from there.  No clock is compared: both times are in the record.

Reasons why a correct Kafka causes no finding:

- *An append fails*, for lack of in-sync replicas or after a timeout.  The record stays in the log, but is not
  adopted, and the next record follows from an earlier one.  So every record may have been adopted or not: the
  checker keeps all records that may be the current state.  Each record removes those from which it can't be
  reached.  Between records of two leaders, only the last one is kept, because the new leader has loaded it.
- *A deposed leader's records are truncated*: one log is judged.  It has what its coordinators had.
- *An unclean election or a disk loses records*: the next coordinator adopts what its log has.
- *The log was compacted*, or a record can't be decoded: records are missing.  From there on, an id is
  judged only after it was completed.
- *A fence can't be appended*: the epoch that it raised stays in the coordinator's memory, and the next fence
  does not raise it again (``hasFailedEpochFence``).  If ``transaction.version`` is raised to 2 in between,
  the abort of the next fence does.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.evidence.features import TRANSACTION_VERSION, levels_in_run
from checkers.evidence.partition_changes import NOBODY, partition_changes
from checkers.evidence.transaction_states import StatesLog, states_of, unread_states
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.transaction_states import Status
from checkers.transactional.states.anomalies import (
    ANOMALIES,
    EPOCH_BACK,
    NEEDS,
    PARTITION_DROPPED,
    START_WRONG,
    STATE_ILLEGAL,
)
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ENTRY", "check_states"]

CHECKER = "transaction-states"
"""Name of the checker, as in verdicts."""
_NOWHERE = -1
_DONE = frozenset({Status.EMPTY, Status.COMPLETE_COMMIT, Status.COMPLETE_ABORT})
"""States of ids without a transaction."""
_BEFORE: dict[int, frozenset[int]] = {
    Status.REMOVED: _DONE | {Status.REMOVED},
    Status.EMPTY: _DONE | {Status.REMOVED},
    Status.ONGOING: _DONE | {Status.ONGOING},
    Status.PREPARE_COMMIT: frozenset({Status.ONGOING}),
    Status.PREPARE_ABORT: _DONE | {Status.ONGOING},
    Status.COMPLETE_COMMIT: frozenset({Status.PREPARE_COMMIT}),
    Status.COMPLETE_ABORT: frozenset({Status.PREPARE_ABORT}),
}
"""Each state that is written to the log, and those from which it can be reached."""
_PREPARED = {
    Status.COMPLETE_COMMIT.value: Status.PREPARE_COMMIT.value,
    Status.COMPLETE_ABORT.value: Status.PREPARE_ABORT.value,
}
_EPOCH_MAX = 2**15 - 1
_RAISING = 2
"""The first version of transactions whose ends raise the epoch of the producer (KIP-890)."""
_FENCED_ONCE = (4, 1, 0)
"""Since this version an abort of version 2 raises the epoch once (KAFKA-19367)."""
_SEVERITY = (STATE_ILLEGAL, EPOCH_BACK, PARTITION_DROPPED, START_WRONG)
"""The kinds of findings in the order in which they are looked for."""


class LoggedState(NamedTuple):
    """A record of the log; the fields are those of docs/histories.md.

    An id that has no record is like one whose record is deleted.
    """

    offset: int = _NOWHERE
    status: int = Status.REMOVED
    producer_id: int = -1
    epoch: int = -1
    next_id: int = -1
    version: int = 0
    updated_ms: int = -1
    started_ms: int = -1
    partitions: frozenset[tuple[str, int]] = frozenset()

    def __str__(self) -> str:
        if self.offset == _NOWHERE:
            return "The log has no record of the id before."
        if self.status == Status.REMOVED:
            return f"At offset {self.offset} the id is deleted."
        names = ", ".join(str(PartitionName(*each)) for each in sorted(self.partitions)) or "none"
        return (
            f"At offset {self.offset} the state is {state_name(self.status)}, with producer "
            f"{self.producer_id} in epoch {self.epoch} and the partitions {names}; it was written at "
            f"{self.updated_ms} ms, and the transaction started at {self.started_ms} ms."
        )


def state_name(status: int) -> str:
    """The name of a state as Kafka prints it, such as ``PrepareCommit``."""
    return Status(status).name.title().replace("_", "")


def check_states(history: History) -> CheckerResult:
    """Judge the states of a history; the result is not exercised if none was compared.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
        ValueError: the columns of an observation are not.
    """
    logs = sorted(states_of(history).items())
    walks = [_Walk(history, PartitionName(TRANSACTIONS_TOPIC, number), log) for number, log in logs]
    found = [anomaly for walk in walks for anomaly in walk.judged()]
    records, judged = sum(len(walk.rows) for walk in walks), sum(walk.compared for walk in walks)
    ids = {name for _, log in logs for name in log.seen.ids}
    return result_of(
        CHECKER,
        found,
        figures={"transactional_ids": len(ids), "records": records, "compared": judged},
        unknown_because="; ".join(unread_states(history)) or None,
        exercised=judged > 0,
    )


class _Walk:
    """Follows the records of one log.

    Args:
        history: has the leaders.
        partition: the partition.
        log: its records.

    Attributes:
        rows: the records, with their leader epochs and the places of their ids.
        compared: number of records that were compared with earlier ones of their ids.
    """

    def __init__(self, history: History, partition: PartitionName, log: StatesLog) -> None:
        self._partition = partition
        self._log = log
        states = partition_changes(history).states.get(partition, ())
        self._leaders = {state.leader_epoch: state.leader for state in states if state.leader != NOBODY}
        self._fenced_twice = _may_fence_twice(history)
        self._whole = True
        self._current: dict[int, tuple[LoggedState, ...]] = {}
        self._epochs: dict[int, int] = {}
        self.rows = _rows(log)
        self.compared = 0

    def judged(self) -> Iterator[Anomaly]:
        """Yield what is wrong, in the order of the log."""
        for gap, (epoch, name, state) in zip(self._log.gaps.tolist(), self.rows, strict=True):
            if gap:
                self._whole = False
                self._current.clear()
            yield from self._step(epoch, name, state)

    def _step(self, epoch: int, name: int, state: LoggedState) -> Iterator[Anomaly]:
        before = self._before(epoch, name)
        self._epochs[name] = epoch
        if not before:
            # After a gap, the state is known once a transaction is completed: then the decision was adopted.
            if state.status in _PREPARED:
                self._current[name] = (state._replace(status=_PREPARED[state.status]), state)
            return
        self.compared += 1
        wrong = [(_wrong(one, state, fenced_twice=self._fenced_twice), one) for one in before]
        possible = tuple(one for kind, one in wrong if kind is None)
        self._current[name] = (*possible, state)
        if not possible:
            kind, one = max(
                ((kind, one) for kind, one in wrong if kind is not None),
                key=lambda each: (_SEVERITY.index(each[0]), each[1].offset),
            )
            yield self._found(kind, name, one, state)

    def _before(self, epoch: int, name: int) -> tuple[LoggedState, ...]:
        """The records of an id that its coordinator may have adopted; none if they are unknown."""
        before = self._current.get(name, (LoggedState(),) if self._whole else ())
        leaders = [self._leaders.get(each) for each in (self._epochs.get(name, epoch), epoch)]
        return before[-1:] if None not in leaders and leaders[0] != leaders[1] else before

    def _found(self, kind: AnomalyKind, name: int, before: LoggedState, state: LoggedState) -> Anomaly:
        transactional_id = self._log.seen.ids[name]
        return kind.found(
            f"{self._partition}@{state.offset}: {transactional_id} is {state_name(state.status)} with "
            f"producer {state.producer_id} in epoch {state.epoch}, after {state_name(before.status)} with "
            f"producer {before.producer_id} in epoch {before.epoch}",
            subject=transactional_id,
            time_ns=self._log.time_ns,
            witness=(self._log.op,),
            explanation=(
                str(before),
                str(state),
                "The log has all records between them, and no other one from which this can follow.",
            ),
        )


def _may_fence_twice(history: History) -> bool:
    """Whether an abort of version 2 may raise the epoch twice: by a defect, or as version 2 was enabled."""
    if recorded_setup(history).oldest_version < _FENCED_ONCE:
        return True
    return min(levels_in_run(history, TRANSACTION_VERSION)) < _RAISING


class _Row(NamedTuple):
    """Leader epoch, place of the id, and content of a record."""

    leader_epoch: int
    id: int
    state: LoggedState


def _rows(log: StatesLog) -> list[_Row]:
    sets = [
        frozenset((topic, number) for topic, numbers in each.items() for number in numbers)
        for each in log.seen.sets
    ]
    sets.append(frozenset())
    names = ("leader_epoch", "id", "offset", "status", "producer_id", "producer_epoch", "next_producer_id")
    times = ("updated_ms", "started_ms")
    columns = [log.records[name].tolist() for name in (*names, "version", *times, "partitions")]
    return [
        _Row(epoch, name, LoggedState._make((*fields, sets[where])))
        for epoch, name, *fields, where in zip(*columns, strict=True)
    ]


def _wrong(before: LoggedState, state: LoggedState, *, fenced_twice: bool) -> AnomalyKind | None:
    """Why a coordinator that had adopted one record can't have written another; None if it can have.

    ``fenced_twice``: an abort of version 2 may raise the epoch twice.
    """
    if before.status not in _BEFORE.get(state.status, ()):
        return STATE_ILLEGAL
    if state.status == Status.PREPARE_ABORT and before.status in _DONE and state.version < _RAISING:
        return STATE_ILLEGAL
    if Status.REMOVED in {before.status, state.status}:
        return None
    if not _producer_follows(before, state, fenced_twice=fenced_twice):
        return EPOCH_BACK
    if not _partitions_follow(before, state):
        return PARTITION_DROPPED
    return None if _start_follows(before, state) else START_WRONG


def _producer_follows(before: LoggedState, state: LoggedState, *, fenced_twice: bool) -> bool:
    if state.status in _PREPARED and before.next_id >= 0:
        return (state.producer_id, state.epoch) == (before.next_id, 0)
    if state.producer_id != before.producer_id:
        return state.status == Status.EMPTY and state.epoch == 0
    return state.epoch in _epochs_after(before.epoch, state, fenced_twice=fenced_twice)


def _epochs_after(epoch: int, state: LoggedState, *, fenced_twice: bool) -> Collection[int]:
    """The epochs that a state may have after an epoch of the same producer id."""
    ended = epoch if state.version < _RAISING else min(epoch + 1, _EPOCH_MAX)
    if state.status == Status.PREPARE_COMMIT:
        return (ended,)
    if state.status == Status.PREPARE_ABORT:
        return (ended, ended + 1) if fenced_twice or state.version < _RAISING else (ended,)
    return (epoch, epoch + 1) if state.status == Status.EMPTY else (epoch,)


def _partitions_follow(before: LoggedState, state: LoggedState) -> bool:
    if state.status in _DONE:
        return not state.partitions
    # A state before a transaction has no partitions.
    if state.status == Status.ONGOING:
        return before.partitions <= state.partitions
    return before.partitions == state.partitions


def _start_follows(before: LoggedState, state: LoggedState) -> bool:
    if before.status in _DONE:
        return state.status != Status.ONGOING or state.started_ms == state.updated_ms
    return state.status == Status.EMPTY or state.started_ms == before.started_ms


ENTRY = Entry(CHECKER, check_states, ANOMALIES, NEEDS)
