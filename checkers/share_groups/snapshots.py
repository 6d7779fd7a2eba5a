"""Snapshots in the log of share coordinators: each has the final states that were written before it.

An update has the states of one request.  After some updates the coordinator writes a snapshot instead, with
all states that it knows and those of the request (``ShareCoordinatorShard.mergeBatches``).  A new coordinator
begins with the last snapshot.  So if a state is missing there, the next leader of the share partition may
deliver a record again that was acknowledged.  A record below the start offset needs no state.

A snapshot is compared with the records since the last one of the same share partition, if the log has all of
them, and the state was not begun again (`resets`).  Only records that are Acknowledged or Archived are
compared, because states of others are replaced by later deliveries.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.columns.tables import NONE
from checkers.history.operations import History
from checkers.history.share_states import Delivery, Kind
from checkers.share_groups.anomalies import SNAPSHOT_INCOMPLETE
from checkers.share_groups.stored_logs import StoredFinding, StoredLog, StoredRecord, stored_logs
from checkers.verdict.verdict import Anomaly

_Batch = tuple[int, int, int, int]
"""First and last offset, state and delivery count."""


@dataclass(slots=True)
class _Known:
    """What the log has of a share partition so far: its epoch and start, and offsets with a final state."""

    state_epoch: int = NONE
    start: int = NONE
    final: set[int] = field(default_factory=set)

    def add(self, start: int, batches: list[_Batch]) -> None:
        """Take up the states of a record."""
        self.start = max(self.start, start)
        for first, last, state, _ in batches:
            change = self.final.difference_update if state == Delivery.AVAILABLE else self.final.update
            change(range(first, last + 1))

    def lacking(self, start: int, batches: list[_Batch]) -> list[int]:
        """The offsets with a final state from a start offset on that are in none of some batches."""
        covered = {offset for first, last, *_ in batches for offset in range(first, last + 1)}
        return sorted(offset for offset in self.final - covered if offset >= start)


def incomplete_snapshots(history: History) -> Iterator[StoredFinding]:
    """Yield snapshots without a final state that their coordinator had written before, by share partition.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    for stored in stored_logs(history):
        for record, lacking in _dropped(stored):
            yield StoredFinding(stored.name_of(record.place), _found(stored, record, lacking), record.row)


def _dropped(stored: StoredLog) -> Iterator[tuple[StoredRecord, list[int]]]:
    """Snapshots that lack states, and the offsets of these states."""
    known: dict[int, _Known] = {}
    for record in stored.walk():
        if not record.follows:
            known = {}
        if record.kind == Kind.REMOVED:
            known.pop(record.place, None)
        elif record.kind == Kind.UPDATE:
            known.setdefault(record.place, _Known()).add(record.start, record.batches)
        else:
            before = known.get(record.place, _Known())
            goes_on = record.state_epoch <= before.state_epoch and record.start >= before.start
            if goes_on and not record.late:
                lacking = before.lacking(record.start, record.batches)
                if lacking:
                    yield record, lacking
            known[record.place] = _Known(record.state_epoch)
            known[record.place].add(record.start, record.batches)


def _found(stored: StoredLog, record: StoredRecord, lacking: list[int]) -> Anomaly:
    name = stored.name_of(record.place)
    return SNAPSHOT_INCOMPLETE.found(
        f"{stored.at(record.row)}: the snapshot of {name} has no state of the record at offset {lacking[0]}, "
        "which was Acknowledged or Archived before",
        subject=f"{name}@{lacking[0]}",
        time_ns=stored.log.time_ns,
        witness=(stored.log.op,),
        explanation=[
            f"It lacks {len(lacking)} of the final states that were written since the last snapshot."
        ],
    )
