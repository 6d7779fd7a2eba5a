"""States that the group coordinator initialises again, although the leader has stored states meanwhile.

When a group subscribes to a topic, its coordinator asks share coordinators to initialise the states of all
partitions (InitializeShareGroupState), and assigns them once all have answered.  A heartbeat asks again if
the interval ``group.share.initialize.retry.interval.ms`` has passed and no answer is known
(``GroupMetadataManager.subscribedTopicsChangeMap``).  Both requests are repeated independently until they are
answered.  If the first one is answered, members get records and acknowledge them.  If the second one is
carried out after that, the share coordinator replaces the state by an empty one: it refuses only a lower
state epoch (``ShareCoordinatorShard.initializeState``).  The state epoch is the group's epoch, which has
increased if members joined in between.  Then the leader is fenced, and delivers accepted records again.

Records in which nothing is lost are not judged: Kafka may initialise a state several times before it is used.
A state that an administrator sets (AlterShareGroupOffsets) also begins again, with the start offset of the
request.  The log does not have the request to which a record belongs, so requests are counted: each one
permits one record with its start offset.  A deletion removes the state first.  Records with the same state
epoch as before are judged by their start offset (`stored_starts`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.columns.tables import NONE, GroupPartition
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import History
from checkers.history.share_states import Kind
from checkers.share_groups.anomalies import INITIALISED_AGAIN
from checkers.share_groups.loading import SETS
from checkers.share_groups.stored_logs import StoredFinding, StoredLog, StoredRecord, stored_logs
from checkers.verdict.verdict import Anomaly


class _Begun(NamedTuple):
    """A record by which a state begins again and loses stored states.

    Attributes:
        record: the record.
        epoch_before: the state epoch before.
        lost: the first offset whose state is lost, and how many states and positions are.
    """

    record: StoredRecord
    epoch_before: int
    lost: tuple[int, int]


@dataclass(slots=True)
class _Known:
    """What the log has of a share partition since its state began: epoch, start offset, and offsets."""

    state_epoch: int
    start: int
    stored: set[int] = field(default_factory=set)

    def add(self, record: StoredRecord) -> None:
        """Take up a record of the leader."""
        self.start = max(self.start, record.start)
        for first, last, *_ in record.batches:
            self.stored.update(range(first, last + 1))

    def lost_by(self, start: int) -> tuple[int, int] | None:
        """The first offset from a start offset on that had a state or was passed, and their number."""
        begin = max(start, 0)
        passed = max(self.start - begin, 0)
        stored = [offset for offset in self.stored if offset >= max(begin, self.start)]
        first = begin if passed else min(stored, default=NONE)
        return None if first == NONE else (first, passed + len(stored))


def repeated_initialisations(history: History) -> Iterator[StoredFinding]:
    """Yield records by which a state begins again and that no administrator requested, by share partition.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    requests = _requests(history)
    for stored in stored_logs(history):
        alike: dict[tuple[GroupPartition, int], list[_Begun]] = defaultdict(list)
        for begun in _begun_again(stored):
            name = stored.names[begun.record.place]
            if name is not None:
                alike[name, begun.record.start].append(begun)
        for (name, start), all_ in alike.items():
            asked = requests[name, start]
            for begun in all_[: max(len(all_) - asked, 0)]:
                yield StoredFinding(name, _found(stored, begun, (asked, len(all_))), begun.record.row)


def _requests(history: History) -> Counter[tuple[GroupPartition, int]]:
    """Numbers of requests that may have been carried out, by share partition and requested offset."""
    return Counter(
        (GroupPartition(str(one.began.key), asked["topic"], asked["partition"]), asked["offset"])
        for one in requests_of(history, SETS)
        if not _refused(one)
        for asked in [one.began.value]
    )


def _refused(request: AdminOperation) -> bool:
    """Whether a request was refused before anything was asked of a share coordinator.

    After other errors a share coordinator may have carried it out.
    """
    value = None if request.ended is None else request.ended.value
    return request.failed and isinstance(value, dict) and value.get("code") == ErrorCode.NON_EMPTY_GROUP


def _begun_again(stored: StoredLog) -> Iterator[_Begun]:
    """The records with a higher state epoch that begin a state and lose something, as the log has them."""
    known: dict[int, _Known] = {}
    for record in stored.walk():
        if not record.follows:
            known = {}
        before = known.get(record.place)
        if record.kind == Kind.REMOVED:
            known.pop(record.place, None)
        elif before is None or (record.begun and record.state_epoch > before.state_epoch):
            if before is not None and (lost := before.lost_by(record.start)) is not None:
                yield _Begun(record, before.state_epoch, lost)
            known[record.place] = _Known(record.state_epoch, record.start)
            known[record.place].add(record)
        else:
            before.add(record)


def _found(stored: StoredLog, begun: _Begun, counts: tuple[int, int]) -> Anomaly:
    record, (first, number), (asked, all_) = begun.record, begun.lost, counts
    name = stored.name_of(record.place)
    why = "no administrator asked for that"
    if asked:
        why = f"administrators asked for {asked} of the {all_} states that begin there"
    return INITIALISED_AGAIN.found(
        f"{stored.at(record.row)}: the state of {name} begins again at start offset {record.start}, with "
        f"state epoch {record.state_epoch} after {begun.epoch_before}; {why}",
        subject=f"{name}@{first}",
        time_ns=stored.log.time_ns,
        witness=(stored.log.op,),
        explanation=[f"What was stored about {number} records, from offset {first} on, is lost."],
    )
