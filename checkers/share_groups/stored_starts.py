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

from checkers.columns.tables import NONE
from checkers.history.operations import History
from checkers.history.share_states import Kind
from checkers.share_groups.anomalies import STORED_START_BACK
from checkers.share_groups.stored_logs import StoredFinding, StoredLog, StoredRecord, stored_logs
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
    """A record that has an earlier start offset than the state before it."""

    record: StoredRecord
    before: _Known


def stored_starts_back(history: History) -> Iterator[StoredFinding]:
    """Yield records whose start offset is below that of an earlier record, by share partition.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    for stored in stored_logs(history):
        for back in _backs(stored):
            name = stored.name_of(back.record.place)
            yield StoredFinding(name, _found(stored, back), back.record.row)


def _backs(stored: StoredLog) -> Iterator[_Back]:
    known: dict[int, _Known] = {}
    for record in stored.walk():
        if not record.follows:
            known = {}
        before = known.get(record.place)
        if record.kind == Kind.REMOVED:
            known.pop(record.place, None)
        elif record.kind == Kind.UPDATE and record.start == NONE:
            # The coordinator keeps the start offset that it has.
            if before is not None:
                known[record.place] = before._replace(begun=False)
        elif before is None or (record.kind == Kind.SNAPSHOT and record.state_epoch > before.state_epoch):
            known[record.place] = _Known(record.state_epoch, record.start, record.offset, record.begun)
        else:
            if record.start < before.start and not (record.late or (record.asked and before.begun)):
                yield _Back(record, before)
            known[record.place] = _Known(before.state_epoch, record.start, record.offset, record.begun)


def _found(stored: StoredLog, back: _Back) -> Anomaly:
    record, before, name = back.record, back.before, stored.name_of(back.record.place)
    first = max(record.start, 0)
    return STORED_START_BACK.found(
        f"{stored.at(record.row)}: the start offset of {name} is {record.start}, after {before.start} at "
        f"{stored.partition}@{before.offset}",
        subject=f"{name}@{first}",
        time_ns=stored.log.time_ns,
        witness=(stored.log.op,),
        explanation=[f"The states of the {before.start - first} records between them are no longer stored."],
    )
