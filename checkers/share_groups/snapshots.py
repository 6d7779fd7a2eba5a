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

from checkers.columns.tables import NONE, GroupPartition, PartitionName
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.share_states import ShareStatesLog, share_places, share_states_of
from checkers.history.operations import History
from checkers.history.share_states import Delivery, Kind
from checkers.share_groups.anomalies import SNAPSHOT_INCOMPLETE
from checkers.share_groups.resets import Resets, resets_of
from checkers.verdict.verdict import Anomaly

_Batch = tuple[int, int, int]
"""First and last offset, and state."""


@dataclass(slots=True)
class _Known:
    """What the log has of a share partition so far: its epoch and start, and offsets with a final state."""

    state_epoch: int = NONE
    start: int = NONE
    final: set[int] = field(default_factory=set)

    def add(self, start: int, batches: list[_Batch]) -> None:
        """Take up the states of a record."""
        self.start = max(self.start, start)
        for first, last, state in batches:
            change = self.final.difference_update if state == Delivery.AVAILABLE else self.final.update
            change(range(first, last + 1))

    def lacking(self, start: int, batches: list[_Batch]) -> list[int]:
        """The offsets with a final state from a start offset on that are in none of some batches."""
        covered = {offset for first, last, _ in batches for offset in range(first, last + 1)}
        return sorted(offset for offset in self.final - covered if offset >= start)


def incomplete_snapshots(history: History) -> Iterator[tuple[GroupPartition, Anomaly]]:
    """Yield snapshots without a final state that their coordinator had written before, by share partition.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    for number, log in sorted(share_states_of(history).items()):
        names = share_places(history, log)
        for code, offset, lacking in _dropped(log, resets_of(history, log, names)):
            name = names[code] or GroupPartition(*log.seen.places[code])
            yield name, _found(log, name, PartitionName(SHARES_TOPIC, number), offset, lacking)


def _dropped(log: ShareStatesLog, resets: Resets) -> Iterator[tuple[int, int, list[int]]]:
    """The share partition and the offset of snapshots that lack states, and the offsets of these states."""
    known: dict[int, _Known] = {}
    batches = list(zip(*(log.batches[name].tolist() for name in ("first", "last", "state")), strict=True))
    columns = [
        log.records[name].tolist() for name in ("offset", "place", "kind", "state_epoch", "start", "batches")
    ]
    following, taken = NONE, 0
    for offset, code, kind, state_epoch, start, count, late in zip(
        *columns, resets.late.tolist(), strict=True
    ):
        mine, taken = batches[taken : taken + count], taken + count
        if offset != following:
            known = {}
        following = offset + 1
        if kind == Kind.REMOVED:
            known.pop(code, None)
        elif kind == Kind.UPDATE:
            known.setdefault(code, _Known()).add(start, mine)
        else:
            before = known.get(code, _Known())
            goes_on = state_epoch <= before.state_epoch and start >= before.start and not late
            if goes_on and (lacking := before.lacking(start, mine)):
                yield code, offset, lacking
            known[code] = _Known(state_epoch)
            known[code].add(start, mine)


def _found(
    log: ShareStatesLog, name: GroupPartition, partition: PartitionName, offset: int, lacking: list[int]
) -> Anomaly:
    return SNAPSHOT_INCOMPLETE.found(
        f"{partition}@{offset}: the snapshot of {name} has no state of the record at offset {lacking[0]}, "
        "which was Acknowledged or Archived before",
        subject=f"{name}@{lacking[0]}",
        time_ns=log.time_ns,
        witness=(log.op,),
        explanation=[
            f"It lacks {len(lacking)} of the final states that were written since the last snapshot."
        ],
    )
