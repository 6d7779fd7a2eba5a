"""Compares the logs of a partition's replicas around the first offset at which they differ.

A row is a range of offsets.  Ranges are cut where a batch of any replica begins or ends.  Consecutive ranges
that are equal on all replicas are folded into one row, with their number.  The source is what was read from
the disks at the end of the run (docs/histories.md, section Replicas).  The notes name what is not recorded.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.columns.tables import NONE, Integers, PartitionName
from checkers.evidence.leader_epochs import leader_epochs
from checkers.evidence.replicas import METADATA_PARTITION, Batches, ReplicaLog, batches_of
from checkers.history.operations import History
from checkers.history.setup import Setup, recorded_setup
from checkers.logs.replicas.committed import End, InSync, MetadataEnd, committed_ends, metadata_end
from checkers.logs.replicas.comparison import COMPARED
from checkers.logs.replicas.left import members_of
from results.markup.cleaning import clean
from results.report.cards.replicas.cells import CellPart, batch_parts, offsets_text, one_line
from results.run.readable import readable

_CONTEXT = 3
"""Number of equal rows shown before the first difference, and after the last shown difference."""
_AFTER = 6
"""Number of ranges after the first difference in which each further difference has its own row."""
_REPLICAS_MAX = 9
_STARTS_MAX = 12
_NAME, _ERROR = 40, 160
_Flags = NDArray[np.bool_]


class _EpochStart(NamedTuple):
    """The first offset of a leader epoch, and the nodes that have it in their checkpoints."""

    offset: int
    epoch: int
    nodes: str


class ReplicaColumn(msgspec.Struct, frozen=True):
    """A replica: its node, and texts about its whole log."""

    node: str
    texts: tuple[str, ...]


class ReplicaRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table.

    Attributes:
        kind: ``batch`` if replicas differ, ``alike`` if they do not, ``fold`` for several ranges,
            ``mark`` for a text between two ranges.
        offsets: the range; empty for a ``mark``.
        text: text across all columns; empty for a ``batch``.
        cells: the batch of each replica; only for a ``batch``.
        first: whether it is the first difference.
    """

    kind: Literal["batch", "alike", "fold", "mark"]
    offsets: str = ""
    text: str = ""
    cells: tuple[tuple[CellPart, ...], ...] = ()
    first: bool = False


class SideBySide(msgspec.Struct, frozen=True):
    """The logs of a partition's replicas, compared.

    Attributes:
        partition: its name.
        summary: the first difference, in sentences.
        columns: one for each replica whose log was read.
        rows: in the order of offsets.
        notes: what is not shown, and what is not recorded.
    """

    partition: str
    summary: tuple[str, ...]
    columns: tuple[ReplicaColumn, ...]
    rows: tuple[ReplicaRow, ...]
    notes: tuple[str, ...]


class ReplicaTables:
    """Makes the tables of one run.

    Args:
        history: the run's history.
    """

    def __init__(self, history: History) -> None:
        self._history = history

    def of(self, partition: PartitionName, offset: int | None) -> SideBySide | None:
        """The table of a partition around an offset; None if fewer than two logs were read.

        Args:
            partition: a partition of the run's topics, or of the metadata log.
            offset: offset of an anomaly; None for the first difference.
        """
        logs = self._logs(partition)
        read = _comparable(logs)
        if not read:
            return None
        starts = [] if partition == METADATA_PARTITION else list(self._starts(partition))
        return _Table(partition, read, self._high_watermark(partition), starts).side_by_side(
            offset,
            tuple(self._column(log) for log in read),
            tuple(self._notes(partition, logs, read, starts)),
        )

    def can_make(self, partition: PartitionName) -> bool:
        """Whether `of` returns a table at any offset; cheaper than making it."""
        return bool(_comparable(self._logs(partition)))

    def _logs(self, partition: PartitionName) -> Sequence[ReplicaLog]:
        if self._batches is None:
            return ()
        if partition == METADATA_PARTITION:
            return self._batches.metadata_logs
        return self._batches.of(partition)

    def _column(self, log: ReplicaLog) -> ReplicaColumn:
        lines = [f"offsets {offsets_text(log.start, log.end)}"]
        synced = self._members.get(log.partition)
        if synced is not None:
            leads = log.node == synced.leader
            inside = log.node in synced.nodes
            lines.append("leader after recovery" if leads else "in the ISR" if inside else "not in the ISR")
        return ReplicaColumn(clean(log.node, _NAME), tuple(lines))

    def _notes(
        self,
        partition: PartitionName,
        logs: Sequence[ReplicaLog],
        read: Sequence[ReplicaLog],
        starts: Sequence[_EpochStart],
    ) -> Iterator[str]:
        for log in logs:
            node = clean(log.node, _NAME)
            if log.seen.error is not None:
                yield f"The log on {node} could not be read: {clean(log.seen.error, _ERROR)}."
            elif not len(log):
                yield f"The log on {node} has no batch; it begins and ends at {log.end:,}."
            elif log not in read:
                yield f"The log on {node} is not shown."
        mark = self._high_watermark(partition)
        if mark is None:
            yield "The history has no high watermark of this partition."
        elif partition == METADATA_PARTITION:
            yield f"High watermark {mark:,}: as the last leader of the quorum reported it."
        else:
            yield (
                f"High watermark {mark:,}: the end that final reads listed. The high watermark that each "
                "replica wrote to its disk is not recorded."
            )
        if partition != METADATA_PARTITION and not starts:
            yield "The history does not record where the leader epochs of this partition began."
        if self._setup is not None and self._setup.is_compacted(partition.topic):
            yield "The topic is compacted: each broker rewrites its batches by itself, so they may differ."

    def _high_watermark(self, partition: PartitionName) -> int | None:
        if partition == METADATA_PARTITION:
            return None if self._metadata_end is None else self._metadata_end.high_watermark
        end = self._ends.get(partition)
        return None if end is None else end.offset

    def _starts(self, partition: PartitionName) -> Iterator[_EpochStart]:
        """The epoch starts in the checkpoints of replicas."""
        epochs = readable(partial(leader_epochs, self._history))
        noted = {} if epochs is None else epochs.noted.get(partition, {})
        by: dict[tuple[int, int], list[str]] = {}
        for node, entries in sorted(noted.items()):
            for epoch, start in entries:
                by.setdefault((start, epoch), []).append(node)
        for (start, epoch), nodes in sorted(by.items()):
            yield _EpochStart(start, epoch, clean(", ".join(nodes), _NAME * 2))

    @cached_property
    def _batches(self) -> Batches | None:
        return readable(partial(batches_of, self._history))

    @cached_property
    def _ends(self) -> dict[PartitionName, End]:
        return readable(partial(committed_ends, self._history)) or {}

    @cached_property
    def _setup(self) -> Setup | None:
        return readable(partial(recorded_setup, self._history))

    @cached_property
    def _members(self) -> dict[PartitionName, InSync]:
        setup = self._setup
        return {} if setup is None else readable(lambda: members_of(self._history, setup)) or {}

    @cached_property
    def _metadata_end(self) -> MetadataEnd | None:
        setup = self._setup
        return None if setup is None else readable(lambda: metadata_end(self._history, setup.names))


def _comparable(logs: Sequence[ReplicaLog]) -> Sequence[ReplicaLog]:
    """Logs that can be compared; empty if fewer than two were read."""
    read = [log for log in logs if log.readable and len(log)][:_REPLICAS_MAX]
    return read if len(read) > 1 else ()


class _Table:
    """Logs, cut into ranges of offsets so that no batch begins or ends within one."""

    def __init__(
        self,
        partition: PartitionName,
        logs: Sequence[ReplicaLog],
        high_watermark: int | None,
        starts: Sequence[_EpochStart],
    ) -> None:
        self._partition, self._logs = partition, logs
        self._mark, self._starts = high_watermark, starts
        ends = [log["last_offset"] + 1 for log in logs]
        cuts = np.unique(np.concatenate([*(log["base_offset"] for log in logs), *ends]))
        between = [start.offset for start in starts] + ([] if high_watermark is None else [high_watermark])
        inside = [offset for offset in between if cuts[0] < offset < cuts[-1]]
        self._cuts: Integers = np.union1d(cuts, np.array(inside, dtype=np.int64))
        self._rows = [log.rows_at(self._cuts[:-1]) for log in logs]
        self._due = [self._due_of(log) for log in logs]
        self._alike = self._compared()
        differing = np.flatnonzero(~self._alike)
        self._first = int(differing[0]) if len(differing) else None

    def _due_of(self, log: ReplicaLog) -> _Flags:
        """The ranges that a replica must have: without those that it removed or above the high watermark."""
        first, end = self._cuts[:-1], self._cuts[1:]
        committed: _Flags = np.ones(len(first), dtype=bool) if self._mark is None else first < self._mark
        due: _Flags = (end > log.start) & (committed | (first < log.end))
        return due

    def _compared(self) -> _Flags:
        """The ranges that are equal on all replicas that must have them."""
        alike: _Flags = np.ones(len(self._cuts) - 1, dtype=bool)
        for name in COMPARED:
            low, high = np.full(len(alike), 2**62), np.full(len(alike), -(2**62))
            for log, rows, there in zip(self._logs, self._rows, self._due, strict=True):
                values = np.where(rows == NONE, -(2**61), np.append(log[name], 0)[rows])
                low = np.where(there, np.minimum(low, values), low)
                high = np.where(there, np.maximum(high, values), high)
            alike &= (low == high) | (low > high)
        return alike

    def side_by_side(
        self, offset: int | None, columns: tuple[ReplicaColumn, ...], notes: tuple[str, ...]
    ) -> SideBySide | None:
        """The table around an offset, or around the first difference."""
        focus = self._focus(offset)
        if focus is None:
            return None
        first, end = max(focus - _CONTEXT, 0), self._end_of_rows(focus)
        rows = [*self._folded(0, first), *self._near(first, end, focus), *self._folded(end, len(self._alike))]
        return SideBySide(
            partition=clean(str(self._partition), _NAME * 2),
            summary=(*self._outside(offset), *self._summary(focus)),
            columns=columns,
            rows=tuple(rows),
            notes=notes,
        )

    def _focus(self, offset: int | None) -> int | None:
        """The range of the offset, or the first range that differs."""
        if offset is None or not len(self._alike):
            return self._first
        place = int(np.searchsorted(self._cuts, offset, side="right")) - 1
        return min(max(place, 0), len(self._alike) - 1)

    def _end_of_rows(self, focus: int) -> int:
        """End of the rows that are shown: a few rows after the last difference or mark nearby."""
        near = range(focus, min(focus + _AFTER, len(self._alike)))
        end = max((at for at in near if not self._alike[at] or self._marks(at)), default=focus) + 1
        context = range(end, min(end + _CONTEXT, len(self._alike)))
        return next((at for at in context if not self._alike[at]), max([end, *(at + 1 for at in context)]))

    def _near(self, first: int, end: int, focus: int) -> Iterator[ReplicaRow]:
        """A row for each range; after the focus, consecutive equal ranges are folded."""
        at = first
        while at < end:
            alike_until = at
            while alike_until < end and self._alike[alike_until] and not self._marks(alike_until):
                alike_until += 1
            if at > focus and alike_until - at > _CONTEXT and alike_until < end:
                yield from self._folded(at, alike_until)
                at = alike_until
                continue
            yield from (ReplicaRow(kind="mark", text=text) for text in self._marks(at))
            yield self._row(at, first=at == self._first)
            at += 1

    def _row(self, at: int, *, first: bool) -> ReplicaRow:
        offsets = offsets_text(int(self._cuts[at]), int(self._cuts[at + 1]))
        if self._alike[at]:
            return ReplicaRow(kind="alike", offsets=offsets, text=f"on all alike: {self._alike_text(at)}")
        return ReplicaRow(kind="batch", offsets=offsets, cells=self._cells(at), first=first)

    def _alike_text(self, at: int) -> str:
        cells = [cell for due, cell in zip(self._due, self._cells(at), strict=True) if due[at]]
        return one_line(cells[0]) if cells else "no batch is due"

    def _cells(self, at: int) -> tuple[tuple[CellPart, ...], ...]:
        held = [(log, int(rows[at])) for log, rows in zip(self._logs, self._rows, strict=True)]
        alike = {
            name: len({int(log.columns[name][row]) for log, row in held if row != NONE}) <= 1
            for name in COMPARED
        }
        return tuple(
            batch_parts(log, row, alike) if row != NONE else (CellPart(self._absent(log, at), differs=True),)
            for log, row in held
        )

    def _absent(self, log: ReplicaLog, at: int) -> str:
        if self._cuts[at + 1] <= log.start:
            return f"not kept: the log begins at {log.start:,}"
        if self._cuts[at] >= log.end:
            return f"no batch: the log ends at {log.end:,}"
        return "no batch"

    def _marks(self, at: int) -> list[str]:
        """Texts of the marks at the start of a range."""
        offset = int(self._cuts[at])
        starts = [each for each in self._starts if each.offset == offset]
        lines = [
            f"leader epoch {epoch} starts at {start:,}, as noted by {nodes}"
            for start, epoch, nodes in starts[:_STARTS_MAX]
        ]
        if offset == self._mark:
            lines.append(f"high watermark {self._mark:,}: offsets below are committed")
        return lines

    def _folded(self, first: int, end: int) -> Iterator[ReplicaRow]:
        """A row for several ranges, with the number of ranges that differ."""
        if first >= end:
            return
        count, differing = end - first, int((~self._alike[first:end]).sum())
        ranges = "1 range" if count == 1 else f"{count:,} ranges"
        some = "all" if differing == count else f"{differing:,}"
        how = "alike on all replicas" if not differing else f"{some} of them differ"
        offsets = offsets_text(int(self._cuts[first]), int(self._cuts[end]))
        yield ReplicaRow(kind="fold", offsets=offsets, text=f"{ranges}, {how}")

    def _outside(self, offset: int | None) -> Iterator[str]:
        """A note if no log has a batch at the offset and the nearest range is shown."""
        if offset is None or self._cuts[0] <= offset < self._cuts[-1]:
            return
        span = offsets_text(int(self._cuts[0]), int(self._cuts[-1]))
        yield f"None of these logs has a batch at offset {offset:,}; their batches span {span}."

    def _summary(self, focus: int) -> Iterator[str]:
        place = offsets_text(int(self._cuts[focus]), int(self._cuts[focus + 1]))
        before = self._alike[:focus]
        if focus and before.all():
            yield f"The replicas hold the same batches below offset {int(self._cuts[focus]):,}."
        elif focus:
            count = int((~before).sum())
            ranges = "1 range" if count == 1 else f"{count:,} ranges"
            differ = "differs" if count == 1 else "differ"
            yield f"{ranges} below offset {int(self._cuts[focus]):,} {differ} as well."
        if self._alike[focus]:
            yield f"At {place} all hold: {self._alike_text(focus)}."
            return
        groups: dict[str, list[str]] = {}
        for log, cell in zip(self._logs, self._cells(focus), strict=True):
            parts = tuple(part for part in cell if part.differs) or cell
            groups.setdefault(one_line(parts), []).append(clean(log.node, _NAME))
        sides = (
            f"{', '.join(nodes)} {'has' if len(nodes) == 1 else 'have'} {text}"
            for text, nodes in groups.items()
        )
        yield f"At {place} they differ: {'; '.join(sides)}."
