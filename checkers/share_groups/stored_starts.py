"""Start offsets in the log of share coordinators: they do not go back until a state is begun again.

Each write of a leader has its start offset, and a coordinator forgets the states below it
(``PersisterStateBatchCombiner.pruneBatches``).  A write that is delayed has an earlier start offset.  A
coordinator that stores this one has no states of the records between them, so the next leader delivers them
again.  Since 4.4.0 a coordinator keeps the higher one (``ShareCoordinatorShard.generateShareStateRecord``).

An administrator who sets offsets begins a state again, with a higher state epoch, or with the same one in
the cases that `resets` describes.  Without such a reason the group coordinator may also initialise a state
several times with the same epoch.  This is judged, because the states are lost.
"""

from collections.abc import Iterator
from typing import NamedTuple

from checkers.columns.tables import NONE, GroupPartition, PartitionName
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.share_states import ShareStatesLog, share_places, share_states_of
from checkers.history.operations import History
from checkers.history.share_states import Kind
from checkers.share_groups.anomalies import STORED_START_BACK
from checkers.share_groups.resets import Resets, resets_of
from checkers.verdict.verdict import Anomaly


class _Known(NamedTuple):
    """The state of a share partition.

    Attributes:
        state_epoch: its state epoch.
        start: its start offset.
        offset: the record in the log that has this one.
        begun: whether that record begins the state: a snapshot without a leader and without states.
    """

    state_epoch: int
    start: int
    offset: int
    begun: bool


class _Back(NamedTuple):
    """A record that has an earlier start offset: code of its share partition, its offset and its start."""

    place: int
    offset: int
    start: int
    before: _Known


def stored_starts_back(history: History) -> Iterator[tuple[GroupPartition, Anomaly]]:
    """Yield records whose start offset is below that of an earlier record, by share partition.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    for number, log in sorted(share_states_of(history).items()):
        names = share_places(history, log)
        for back in _backs(log, resets_of(history, log, names)):
            name = names[back.place] or GroupPartition(*log.seen.places[back.place])
            yield name, _found(log, name, PartitionName(SHARES_TOPIC, number), back)


def _backs(log: ShareStatesLog, resets: Resets) -> Iterator[_Back]:
    known: dict[int, _Known] = {}
    columns = [log.records[name].tolist() for name in ("offset", "place", "kind", "state_epoch", "start")]
    reasons = [column.tolist() for column in resets]
    following = NONE
    for offset, code, kind, state_epoch, start, begun, asked, late in zip(*columns, *reasons, strict=True):
        if offset != following:
            known = {}
        following = offset + 1
        before = known.get(code)
        if kind == Kind.REMOVED:
            known.pop(code, None)
        elif kind == Kind.UPDATE and start == NONE:
            # The coordinator keeps the start offset that it has.
            if before is not None:
                known[code] = before._replace(begun=False)
        elif before is None or (kind == Kind.SNAPSHOT and state_epoch > before.state_epoch):
            known[code] = _Known(state_epoch, start, offset, begun)
        else:
            if start < before.start and not (late or (asked and before.begun)):
                yield _Back(code, offset, start, before)
            known[code] = _Known(before.state_epoch, start, offset, begun)


def _found(log: ShareStatesLog, name: GroupPartition, partition: PartitionName, back: _Back) -> Anomaly:
    first, before = max(back.start, 0), back.before
    return STORED_START_BACK.found(
        f"{partition}@{back.offset}: the start offset of {name} is {back.start}, after {before.start} at "
        f"{partition}@{before.offset}",
        subject=f"{name}@{first}",
        time_ns=log.time_ns,
        witness=(log.op,),
        explanation=[f"The states of the {before.start - first} records between them are no longer stored."],
    )
