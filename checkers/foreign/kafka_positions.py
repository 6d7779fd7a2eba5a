"""Conclusions from one operation of Jepsen's kafka workload about others: positions, and commits."""

from collections.abc import Iterable, Sequence

from checkers.foreign.kafka_parts import Part, Poll, Send
from checkers.foreign.records import Foreign
from checkers.history.operations import INFO


class Positions:
    """The known positions at which one consumer continues reading.

    It continues after the last record that it received.  After a failed transaction it may also continue
    where that transaction began, or at an offset that was committed before.  From each of these positions it
    skips no record.  So a consumer that is found between two of them continued from the lower one.
    """

    def __init__(self) -> None:
        self._next: dict[int, int] = {}
        self._rewinds: dict[int, list[int]] = {}
        self._lost = False

    def of(self, partitions: Iterable[int]) -> list[tuple[int, int]]:
        """The positions of some partitions; none if unknown."""
        return [] if self._lost else [(one, self._next[one]) for one in partitions if one in self._next]

    def assign(self, begins: Iterable[tuple[int, int]]) -> None:
        """Remove all partitions except these, which begin at the given offsets."""
        self._next = dict(begins)
        self._rewinds = {one: some for one, some in self._rewinds.items() if one in self._next}
        self._lost = False

    def begin(self, chunks: Iterable[tuple[int, Sequence[int]]]) -> list[tuple[int, int]] | None:
        """New positions of all partitions before a poll; None if it continues, empty if they are unknown.

        Args:
            chunks: partition and offsets of the polled records.
        """
        if self._lost:
            self._next, self._rewinds, self._lost = {}, {}, False
            return []
        rewound = False
        for partition, offsets in chunks:
            begins = self._rewinds.pop(partition, None)
            if begins is not None and offsets[0] < self._next[partition]:
                self._next[partition] = max((one for one in begins if one <= offsets[0]), default=offsets[0])
                rewound = True
        return list(self._next.items()) if rewound else None

    def advance(self, chunks: Iterable[tuple[int, Sequence[int]]], *, failed: bool, complete: bool) -> None:
        """Advance the position after the polled records.

        Args:
            chunks: partition and offsets of the polled records.
            failed: whether they were polled in a transaction that failed.
            complete: whether all polled records are reported.
        """
        before = dict(self._next)
        for partition, offsets in chunks:
            before.setdefault(partition, offsets[0])
            self._next[partition] = offsets[-1] + 1
        if failed:
            for partition, begin in before.items():
                self._rewinds.setdefault(partition, []).append(begin)
            self._lost |= not complete


def committed_after_all(foreign: Foreign, parts: Sequence[tuple[Part, ...]]) -> frozenset[int]:
    """Completions of transactions with an unknown outcome that another client saw as committed; positions.

    Args:
        foreign: a history of a test with transactions, in which all clients read only committed records.
        parts: the micro-operations of each of its operations.
    """
    sent: dict[tuple[str, str], list[int]] = {}
    for call in foreign.calls:
        for part in parts[call.invoked]:
            if isinstance(part, Send):
                sent.setdefault((part.key, repr(part.value)), []).append(call.invoked)
    seen: set[int] = set()
    for call in foreign.calls:
        for key, value in _returned(parts[call.completed] if call.completed is not None else ()):
            senders = sent.get((key, repr(value)), [])
            # A value of two transactions identifies neither, and a client that reads its own record does not
            # prove a commit.
            if len(senders) == 1 and senders[0] != call.invoked:
                seen.add(senders[0])
    completed = {
        call.completed for call in foreign.calls if call.invoked in seen and call.completed is not None
    }
    return frozenset(position for position in completed if foreign.records[position].type is INFO)


def _returned(parts: Iterable[Part]) -> Iterable[tuple[str, object]]:
    """Key and value of every record that polls returned."""
    polls = (part for part in parts if isinstance(part, Poll))
    return ((chunk.key, value) for poll in polls for chunk in poll.chunks or () for value in chunk.values)
