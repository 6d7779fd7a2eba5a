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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, GroupPartition, Integers, PartitionName
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.loading import columns_of
from checkers.evidence.share_states import ShareStatesLog, share_places, share_states_of
from checkers.history.operations import INVOKE, History
from checkers.history.setup import recorded_setup
from checkers.history.share_states import SHARE_BATCH_TYPES, Delivery, Kind
from checkers.history.units import NS_PER_MS
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.loading import RELEASE, ShareGroups, times_of
from checkers.share_groups.passing import listed_offsets
from checkers.share_groups.resets import resets_of
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_NOTHING: Integers = np.zeros(0, np.int64)


class StatesJudged(NamedTuple):
    """Findings about the states of share partitions, and what was compared.

    Attributes:
        found: findings, each with its share partition.
        records: number of records of the logs.
        compared: number of records of topics whose confirmed acceptance or rejection was compared.
    """

    found: list[tuple[GroupPartition, Anomaly]]
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


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of states in the log: its share partition, record, offsets, state and delivery count."""

    name: GroupPartition
    row: int
    first: int
    last: int
    state: int
    count: int


def judge_states(history: History, groups: ShareGroups) -> StatesJudged:
    """Judge the logs of share coordinators.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    logs = share_states_of(history)
    if not logs:
        return StatesJudged([], 0, 0)
    asked, given = _accepted(history), _delivered(groups)
    answers = _answered(history, groups)
    found: list[tuple[GroupPartition, Anomaly]] = []
    compared = 0
    for number, log in sorted(logs.items()):
        walk = _Walk(history, number, log, asked)
        found += walk.epochs()
        found += walk.unasked(given)
        if log.whole:
            mine = {name: answers[name] for name in walk.kept if name in answers}
            compared += sum(len(each.began) for each in mine.values())
            found += walk.against(mine)
    return StatesJudged(found, sum(len(log.records["offset"]) for log in logs.values()), compared)


class _Walk:
    """Follows the records of one log.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        number: number of the partition.
        log: its records.
        asked: by share partition, the requests to accept records.

    Attributes:
        kept: the share partitions in the log whose states are never deleted.
    """

    def __init__(
        self, history: History, number: int, log: ShareStatesLog, asked: Mapping[GroupPartition, _Firsts]
    ) -> None:
        self._log = log
        self._partition = PartitionName(SHARES_TOPIC, number)
        self._names = share_places(history, log)
        self._asked = asked
        place = log.records["place"]
        again = _begun_again(log) | resets_of(history, log, self._names).late
        left = np.setdiff1d(place, place[(log.records["kind"] == Kind.REMOVED) | again]).tolist()
        self.kept = [name for name in map(self._names.__getitem__, left) if name is not None]
        self._batches = list(self._known_batches())
        self._since = self._appended_after()

    def epochs(self) -> Iterator[tuple[GroupPartition, Anomaly]]:
        """Yield records with an epoch that their coordinator can't have written, in the order of the log."""
        known: dict[int, _Epochs] = {}
        names = ("offset", "place", "kind", "snapshot_epoch", "state_epoch", "share_epoch", "batches")
        columns = [self._log.records[name].tolist() for name in names]
        following = NONE
        for offset, code, kind, snapshot, state, leader, batches in zip(*columns, strict=True):
            if offset != following:
                known = {}
            following = offset + 1
            if kind == Kind.REMOVED:
                known.pop(code, None)
                continue
            before = known.get(code)
            # An update has no state epoch.
            update = kind == Kind.UPDATE
            begun = leader == 0 and ((before is not None and before.begun) or not (update or batches))
            now = _Epochs(snapshot, before.state if before and update else state, leader, begun)
            if before is not None and (problem := _problem(kind, before, now)):
                yield self._epoch_back(code, offset, problem)
            known[code] = now if before is None else now._replace(leader=max(before.leader, leader))

    def unasked(self, given: Mapping[GroupPartition, Integers]) -> Iterator[tuple[GroupPartition, Anomaly]]:
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
                    text = f"is Acknowledged by {self._at(batch.row)}, but no member asked to accept it"
                    yield batch.name, self._found(kinds.STATE_UNASKED, batch.name, offset, text, ())

    def against(self, answers: Mapping[GroupPartition, _Answers]) -> Iterator[tuple[GroupPartition, Anomaly]]:
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
                yield batch.name, self._undone(batch, mine, answer)
        for name, mine in answers.items():
            since = np.append(self._since, np.iinfo(np.int64).max)[mine.row]
            for answer in np.flatnonzero(since > mine.ended.position).tolist():
                yield name, self._early(name, mine, answer)

    def _known_batches(self) -> Iterator[_Batch]:
        """The batches of share partitions of the run's topics, in the order of the log."""
        columns = [self._log.batches[name].tolist() for name in SHARE_BATCH_TYPES]
        places = self._log.records["place"][self._log.row].tolist()
        for row, code, *rest in zip(self._log.row.tolist(), places, *columns, strict=True):
            name = self._names[code]
            if name is not None:
                yield _Batch(name, row, *rest)

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

    def _at(self, row: int) -> str:
        return f"{self._partition}@{self._log.records['offset'][row]}"

    def _early(self, name: GroupPartition, mine: _Answers, answer: int) -> Anomaly:
        row, ended = int(mine.row[answer]), int(mine.ended.position[answer])
        text = f"was accepted or rejected by operation {ended}, which was confirmed, but "
        witness: tuple[int, ...] = (int(mine.began[answer]), ended)
        if row == NONE:
            text += f"{self._partition} has no final state of it"
        else:
            later = int(self._since[row])
            text += f"its final state was appended at {self._at(row)} only after operation {later} had begun"
            witness = (*witness, later)
        return self._found(kinds.ANSWERED_EARLY, name, int(mine.ended.offset[answer]), text, witness)

    def _undone(self, batch: _Batch, mine: _Answers, answer: int) -> Anomaly:
        ended = int(mine.ended.position[answer])
        text = (
            f"is Available by {self._at(batch.row)}, which was appended after operation {ended} had "
            "confirmed that it was accepted or rejected"
        )
        witness = (int(mine.began[answer]), ended, int(self._since[batch.row]))
        return self._found(kinds.STATE_UNDONE, batch.name, int(mine.ended.offset[answer]), text, witness)

    def _epoch_back(self, code: int, offset: int, problem: str) -> tuple[GroupPartition, Anomaly]:
        name = self._names[code] or GroupPartition(*self._log.seen.places[code])
        anomaly = kinds.STATE_EPOCH_BACK.found(
            f"{self._partition}@{offset}: the state of {name} has {problem}",
            subject=str(name),
            time_ns=self._log.time_ns,
            witness=(self._log.op,),
        )
        return name, anomaly

    def _found(
        self, kind: AnomalyKind, name: GroupPartition, offset: int, text: str, witness: tuple[int, ...]
    ) -> Anomaly:
        return kind.found(
            f"{name}@{offset} {text}",
            subject=f"{name}@{offset}",
            time_ns=self._log.time_ns,
            witness=sorted({*witness, self._log.op}),
        )


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


def _begun_again(log: ShareStatesLog) -> Booleans:
    """Which records begin a state again: snapshots with a new state epoch, or an earlier start offset."""
    begun = np.zeros(len(log.records["place"]), np.bool_)
    snapshots = log.records["kind"] == Kind.SNAPSHOT
    for code in np.unique(log.records["place"]):
        here = log.records["place"] == code
        rows = np.flatnonzero(here & snapshots)
        begun[rows[1:]] |= np.diff(log.records["state_epoch"][rows]) > 0
        rows = np.flatnonzero(here)
        start = log.records["start"][rows]
        begun[rows] |= snapshots[rows] & (start < np.maximum.accumulate(start))
    return begun


def _answered(history: History, groups: ShareGroups) -> dict[GroupPartition, _Answers]:
    """Confirmed acceptances and rejections of records that are left in the log, by share partition."""
    acks, all_, listed = groups.acknowledgements, groups.deliveries, listed_offsets(columns_of(history))
    place, offset = all_.place[acks.delivery], all_.offset[acks.delivery]
    sure = _unspent(history, groups)
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


def _unspent(history: History, groups: ShareGroups) -> Booleans:
    """Which acknowledgements were answered before the end of a last lock can have archived the record."""
    acks, all_, workload = groups.acknowledgements, groups.deliveries, recorded_setup(history).workload
    times_ns = times_of(history)
    since, ended = all_.since[acks.delivery], acks.ended
    locked = times_ns[ended] - times_ns[since] < workload.lock_ms * NS_PER_MS
    _, record = np.unique(all_.record, return_inverse=True)
    most = np.zeros(record.max(initial=NONE) + 1, np.int64)
    np.maximum.at(most, record, all_.count)
    unspent: Booleans = most[record[acks.delivery]] + 1 < workload.delivery_limit
    unspent |= locked & (since != NONE)
    return unspent
