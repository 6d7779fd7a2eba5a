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
request.  The log does not tell which request a record belongs to, so these are counted: each request permits
one record with its start offset.  A deletion removes the state first.  Records with the same state epoch as
before are judged by their start offset (`stored_starts`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.columns.tables import NONE, GroupPartition, PartitionName
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.share_states import ShareStatesLog, share_places, share_states_of
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import History
from checkers.history.share_states import Kind
from checkers.share_groups.anomalies import INITIALISED_AGAIN
from checkers.share_groups.loading import SETS
from checkers.share_groups.resets import Resets, resets_of
from checkers.verdict.verdict import Anomaly


class _Begun(NamedTuple):
    """A record by which a state begins again and loses stored states.

    Attributes:
        place: code of its share partition.
        offset: its offset in the log.
        start: its start offset.
        state_epochs: the state epoch before, and its own.
        lost: the first offset whose state is lost, and how many states and positions are.
    """

    place: int
    offset: int
    start: int
    state_epochs: tuple[int, int]
    lost: tuple[int, int]


@dataclass(slots=True)
class _Known:
    """What the log has of a share partition since its state began: epoch, start offset, and offsets."""

    state_epoch: int
    start: int
    stored: set[int] = field(default_factory=set)

    def add(self, start: int, batches: Sequence[tuple[int, int]]) -> None:
        """Take up a record of the leader."""
        self.start = max(self.start, start)
        for first, last in batches:
            self.stored.update(range(first, last + 1))

    def lost_by(self, start: int) -> tuple[int, int] | None:
        """The first offset from a start offset on that had a state or was passed, and their number."""
        begin = max(start, 0)
        passed = max(self.start - begin, 0)
        stored = [offset for offset in self.stored if offset >= max(begin, self.start)]
        first = begin if passed else min(stored, default=NONE)
        return None if first == NONE else (first, passed + len(stored))


def repeated_initialisations(history: History) -> Iterator[tuple[GroupPartition, Anomaly]]:
    """Yield records by which a state begins again and that no administrator requested, by share partition.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    requests = _requests(history)
    for number, log in sorted(share_states_of(history).items()):
        names = share_places(history, log)
        alike: dict[tuple[GroupPartition, int], list[_Begun]] = defaultdict(list)
        for begun in _begun_again(log, resets_of(history, log, names)):
            name = names[begun.place]
            if name is not None:
                alike[name, begun.start].append(begun)
        for (name, start), all_ in alike.items():
            asked = requests[name, start]
            for begun in all_[: max(len(all_) - asked, 0)]:
                yield name, _found(log, name, PartitionName(SHARES_TOPIC, number), begun, (asked, len(all_)))


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


def _begun_again(log: ShareStatesLog, resets: Resets) -> Iterator[_Begun]:
    """The records with a higher state epoch that begin a state and lose something, as the log has them."""
    known: dict[int, _Known] = {}
    batches = list(zip(*(log.batches[name].tolist() for name in ("first", "last")), strict=True))
    columns = [
        log.records[name].tolist() for name in ("offset", "place", "kind", "state_epoch", "start", "batches")
    ]
    following, taken = NONE, 0
    for offset, code, kind, state_epoch, start, count, begun in zip(
        *columns, resets.begun.tolist(), strict=True
    ):
        mine, taken = batches[taken : taken + count], taken + count
        if offset != following:
            known = {}
        following = offset + 1
        before = known.get(code)
        if kind == Kind.REMOVED:
            known.pop(code, None)
        elif before is None or (begun and state_epoch > before.state_epoch):
            if before is not None and (lost := before.lost_by(start)) is not None:
                yield _Begun(code, offset, start, (before.state_epoch, state_epoch), lost)
            known[code] = _Known(state_epoch, start)
            known[code].add(start, mine)
        else:
            before.add(start, mine)


def _found(
    log: ShareStatesLog,
    name: GroupPartition,
    partition: PartitionName,
    begun: _Begun,
    counts: tuple[int, int],
) -> Anomaly:
    (before, now), (first, number), (asked, all_) = begun.state_epochs, begun.lost, counts
    why = "no administrator asked for that"
    if asked:
        why = f"administrators asked for {asked} of the {all_} states that begin there"
    return INITIALISED_AGAIN.found(
        f"{partition}@{begun.offset}: the state of {name} begins again at start offset {begun.start}, with "
        f"state epoch {now} after {before}; {why}",
        subject=f"{name}@{first}",
        time_ns=log.time_ns,
        witness=(log.op,),
        explanation=[f"What was stored about {number} records, from offset {first} on, is lost."],
    )
