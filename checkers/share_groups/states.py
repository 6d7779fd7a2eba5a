"""Compares acknowledgements with the states that share coordinators wrote to ``__share_group_state``.

A leader changes the state of records in three steps.  It marks them, it lets the share coordinator append
their new states to its log, and it answers once all in-sync replicas have that record (KIP-932, Managing
durable share-partition state; ``SharePartition.rollbackOrProcessStateUpdates``).  So, by Kafka 4.2 to 4.4:

1. ``share-answered-early``: when an acceptance or a rejection is answered without an error, the log has a
   final state of the record, Acknowledged or Archived.  Another member, or the limit of deliveries, may have
   caused it: a leader ignores acknowledgements below the start offset, without an error.
2. ``share-state-unasked``: a record is Acknowledged only if some member asked to accept it.
3. ``share-state-undone``: after that answer no coordinator writes that the record is Available, with a higher
   delivery count.  A new leader has read the log, and the coordinator refuses what a deposed one writes after
   that (FENCED_LEADER_EPOCH).  A write that was delayed in the network changes nothing, because the state
   with the higher delivery count is kept (``PersisterStateBatchCombiner``).
4. ``share-state-epoch-back``: a coordinator knows all records of its log.  So leader epochs and state epochs
   of a share partition do not decrease, each snapshot has the next snapshot epoch, and updates have that of
   the last snapshot (``ShareCoordinatorShard.generateShareStateRecord``).  A state that is initialised again
   has leader epoch 0, until a leader with a higher epoch than the last one reads it
   (``ShareGroupOffset.UNINITIALIZED_EPOCH``).

When a record was appended is known from the log alone.  The state Acknowledged was appended after the first
request to accept that record, and whatever follows in the log was appended later.  So no clock is compared.

The first and the third rule judge only whole logs, of states that were never deleted or begun again, and
only records that are left in their topics at the end: a leader gives up those below the start of the log.
If the lock of the last delivery ends, a leader archives the record before that is in the log, and also if it
can't be written (``SharePartition.releaseAcquisitionLockOnTimeout``).  So an acknowledgement is judged only
if its lock can't have ended before it was answered, or if more than one delivery was left.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers, PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import INVOKE, History
from checkers.history.share_states import Delivery, Kind
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.appended import unspent
from checkers.share_groups.loading import RELEASE, ShareGroups
from checkers.share_groups.passing import listed_offsets
from checkers.share_groups.stored_logs import (
    StoredBatch,
    StoredFinding,
    StoredLog,
    StoredRecord,
    stored_logs,
)
from checkers.verdict.kinds import AnomalyKind

_NOTHING: Integers = np.zeros(0, np.int64)


class StatesJudged(NamedTuple):
    """Findings about the states of share partitions, and what was compared.

    Attributes:
        found: findings.
        records: number of records of the logs.
        compared: number of records of topics whose confirmed acceptance or rejection was compared.
    """

    found: list[StoredFinding]
    records: int
    compared: int


class _Firsts(NamedTuple):
    """Offsets, each once and ascending, and the earliest position in the history of each; shape (n,)."""

    offset: Integers
    position: Integers

    def between(self, first: int, last: int) -> slice:
        """The rows of the offsets from one to another."""
        from_row, to_row = np.searchsorted(self.offset, [first, last + 1])
        return slice(int(from_row), int(to_row))


_NONE_ASKED = _Firsts(_NOTHING, _NOTHING)


class _Answers(NamedTuple):
    """Confirmed acceptances and rejections of one share partition, the earliest of each record.

    Attributes:
        ended: offsets and completions.
        began: shape (n,), the invocations.
        row: shape (n,), the first record of the log with a final state; `NONE` if there is none.
        count: shape (n,), the highest delivery count of a final state.
    """

    ended: _Firsts
    began: Integers
    row: Integers
    count: Integers  # type: ignore[assignment]  # the field has the name of a method of tuples


class _Epochs(NamedTuple):
    """Epochs of a share partition: of its snapshots, of its state, and the highest one of its leaders.

    The last one is whether it was initialised, and no leader has read it since.
    """

    snapshot: int
    state: int
    leader: int
    begun: bool


def judge_states(history: History, groups: ShareGroups) -> StatesJudged:
    """Judge the logs of share coordinators.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    logs = stored_logs(history)
    if not logs:
        return StatesJudged([], 0, 0)
    asked, given = _accepted(history), _delivered(groups)
    answers = _answered(history, groups)
    found: list[StoredFinding] = []
    compared = 0
    for stored in logs:
        walk = _Walk(stored, asked)
        found += walk.epochs()
        found += walk.unasked(given)
        if stored.log.whole:
            mine = {name: answers[name] for name in stored.kept() if name in answers}
            compared += sum(len(each.began) for each in mine.values())
            found += walk.against(mine)
    return StatesJudged(found, sum(len(stored.log.records["offset"]) for stored in logs), compared)


class _Walk:
    """Follows the records of one log.

    Args:
        stored: the log.
        asked: by share partition, the requests to accept records.
    """

    def __init__(self, stored: StoredLog, asked: Mapping[GroupPartition, _Firsts]) -> None:
        self._stored, self._log = stored, stored.log
        self._asked = asked
        self._batches = list(stored.batches())
        self._since = self._appended_after()

    def epochs(self) -> Iterator[StoredFinding]:
        """Yield records with an epoch that their coordinator can't have written, in the order of the log."""
        known: dict[int, _Epochs] = {}
        for record in self._stored.walk():
            if not record.follows:
                known = {}
            if record.kind == Kind.REMOVED:
                known.pop(record.place, None)
                continue
            before = known.get(record.place)
            now = _epochs_of(record, before)
            if before is not None and (problem := _problem(record.kind, before, now)):
                yield self._epoch_back(record, problem)
            highest = now.leader if before is None else max(before.leader, now.leader)
            known[record.place] = now._replace(leader=highest)

    def unasked(self, given: Mapping[GroupPartition, Integers]) -> Iterator[StoredFinding]:
        """Yield records of topics that are Acknowledged, although no member asked to accept them."""
        reported: set[tuple[GroupPartition, int]] = set()
        for batch in self._batches:
            if batch.state != Delivery.ACKNOWLEDGED:
                continue
            offsets = given.get(batch.name, _NOTHING)
            from_row, to_row = np.searchsorted(offsets, [batch.first, batch.last + 1])
            asked = self._asked.get(batch.name, _NONE_ASKED).offset
            for offset in np.setdiff1d(offsets[from_row:to_row], asked).tolist():
                if (batch.name, offset) not in reported:
                    reported.add((batch.name, offset))
                    text = (
                        f"is Acknowledged by {self._stored.at(batch.row)}, but no member asked to accept it"
                    )
                    yield self._found(kinds.STATE_UNASKED, batch.name, offset, text, ())

    def against(self, answers: Mapping[GroupPartition, _Answers]) -> Iterator[StoredFinding]:
        """Yield acceptances and rejections that were confirmed too early, or were undone."""
        for batch in self._batches:
            mine = answers.get(batch.name)
            if mine is None:
                continue
            rows = np.arange(len(mine.began))[mine.ended.between(batch.first, batch.last)]
            if batch.state != Delivery.AVAILABLE:
                mine.row[rows[mine.row[rows] == NONE]] = batch.row
                mine.count[rows] = np.maximum(mine.count[rows], batch.count)
                continue
            higher = (mine.row[rows] != NONE) & (mine.count[rows] < batch.count)
            for answer in rows[higher & (mine.ended.position[rows] < self._since[batch.row])].tolist():
                yield self._undone(batch, mine, answer)
        for name, mine in answers.items():
            since = np.append(self._since, np.iinfo(np.int64).max)[mine.row]
            for answer in np.flatnonzero(since > mine.ended.position).tolist():
                yield self._early(name, mine, answer)

    def _appended_after(self) -> Integers:
        """For each record of the log, a position in the history after which it was appended; shape (n,).

        A record itself does not count: it may have been appended for the acknowledgement that is judged.
        """
        asked = np.full(len(self._log.records["offset"]) + 1, NONE)
        for batch in self._batches:
            if batch.state == Delivery.ACKNOWLEDGED:
                accepts = self._asked.get(batch.name, _NONE_ASKED)
                positions = accepts.position[accepts.between(batch.first, batch.last)]
                row = batch.row + 1
                asked[row] = max(asked[row], positions.max(initial=NONE))
        since: Integers = np.maximum.accumulate(asked)[:-1]
        return since

    def _early(self, name: GroupPartition, mine: _Answers, answer: int) -> StoredFinding:
        row, ended = int(mine.row[answer]), int(mine.ended.position[answer])
        text = f"was accepted or rejected by operation {ended}, which was confirmed, but "
        witness: tuple[int, ...] = (int(mine.began[answer]), ended)
        if row == NONE:
            text += f"{self._stored.partition} has no final state of it"
        else:
            later = int(self._since[row])
            at = self._stored.at(row)
            text += f"its final state was appended at {at} only after operation {later} had begun"
            witness = (*witness, later)
        return self._found(kinds.ANSWERED_EARLY, name, int(mine.ended.offset[answer]), text, witness)

    def _undone(self, batch: StoredBatch, mine: _Answers, answer: int) -> StoredFinding:
        ended = int(mine.ended.position[answer])
        text = (
            f"is Available by {self._stored.at(batch.row)}, which was appended after operation {ended} had "
            "confirmed that it was accepted or rejected"
        )
        witness = (int(mine.began[answer]), ended, int(self._since[batch.row]))
        return self._found(kinds.STATE_UNDONE, batch.name, int(mine.ended.offset[answer]), text, witness)

    def _epoch_back(self, record: StoredRecord, problem: str) -> StoredFinding:
        name = self._stored.name_of(record.place)
        anomaly = kinds.STATE_EPOCH_BACK.found(
            f"{self._stored.at(record.row)}: the state of {name} has {problem}",
            subject=str(name),
            time_ns=self._log.time_ns,
            witness=(self._log.op,),
        )
        return StoredFinding(name, anomaly, record.row)

    def _found(
        self, kind: AnomalyKind, name: GroupPartition, offset: int, text: str, witness: tuple[int, ...]
    ) -> StoredFinding:
        anomaly = kind.found(
            f"{name}@{offset} {text}",
            subject=f"{name}@{offset}",
            time_ns=self._log.time_ns,
            witness=sorted({*witness, self._log.op}),
        )
        return StoredFinding(name, anomaly)


def _epochs_of(record: StoredRecord, before: _Epochs | None) -> _Epochs:
    """The epochs of a record; an update has no state epoch."""
    update = record.kind == Kind.UPDATE
    state = before.state if before is not None and update else record.state_epoch
    first = not (update or record.batches)
    begun = record.leader == 0 and ((before is not None and before.begun) or first)
    return _Epochs(record.snapshot_epoch, state, record.leader, begun)


def _problem(kind: int, before: _Epochs, now: _Epochs) -> str | None:
    """Why the epochs of a record can't follow earlier ones of its share partition; None if they can."""
    expected = before.snapshot + (kind == Kind.SNAPSHOT)
    if now.snapshot != expected:
        return f"snapshot epoch {now.snapshot} instead of {expected}"
    if now.state < before.state:
        return f"state epoch {now.state}, after {before.state}"
    if NONE < now.leader < before.leader and not now.begun:
        return f"leader epoch {now.leader}, after {before.leader}"
    return None


def _accepted(history: History) -> dict[GroupPartition, _Firsts]:
    """The first request to accept each record, by share partition, whatever its outcome."""
    first: dict[GroupPartition, dict[int, int]] = {}
    for operation in history.of("acknowledge"):
        if operation.type is INVOKE:
            for partition, offsets, types in operation.value["acknowledgements"]:
                name = GroupPartition(operation.value["group"], str(operation.key), partition)
                mine = first.setdefault(name, {})
                for offset, kind in zip(offsets, types, strict=True):
                    if kind == "accept":
                        mine.setdefault(offset, operation.index)
    return {name: _firsts(mine) for name, mine in first.items()}


def _firsts(positions: Mapping[int, int]) -> _Firsts:
    pairs = np.array(sorted(positions.items()), np.int64).reshape(-1, 2)
    return _Firsts(pairs[:, 0], pairs[:, 1])


def _delivered(groups: ShareGroups) -> dict[GroupPartition, Integers]:
    """The offsets of records that members received, by share partition, ascending."""
    all_ = groups.deliveries
    return {name: np.unique(all_.offset[all_.place == code]) for code, name in enumerate(groups.places)}


def _answered(history: History, groups: ShareGroups) -> dict[GroupPartition, _Answers]:
    """Confirmed acceptances and rejections of records that are left in the log, by share partition."""
    acks, all_, listed = groups.acknowledgements, groups.deliveries, listed_offsets(columns_of(history))
    place, offset = all_.place[acks.delivery], all_.offset[acks.delivery]
    sure = unspent(history, groups)
    found: dict[GroupPartition, _Answers] = {}
    for code, name in enumerate(groups.places):
        there = listed.get(PartitionName(name.topic, name.partition), _NOTHING)
        rows = np.flatnonzero((place == code) & (acks.kind != RELEASE) & np.isin(offset, there) & sure)
        rows = rows[np.lexsort((acks.ended[rows], offset[rows]))]
        rows = rows[np.flatnonzero(np.diff(offset[rows], prepend=NONE))]
        ended = _Firsts(offset[rows], acks.ended[rows])
        found[name] = _Answers(
            ended, acks.began[rows], np.full(len(rows), NONE), np.zeros(len(rows), np.int64)
        )
    return found
