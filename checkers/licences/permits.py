"""The table of rules: events that may remove records, and the losses that each of them permits."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, PartitionName
from checkers.history.setup import Topic
from checkers.licences.facts import Facts


class LicenceEvent(NamedTuple):
    """Something that happened, at an unknown moment between two known ones.

    Attributes:
        from_ns: not before this time.
        to_ns: not after this time; `NEVER` if it had not ended at the end of the history.
        where: the partition that it affected; None if it may have affected any.
        text: what it was.
        below: records below this offset were removed, and nothing else happened; None if the log was
            truncated, so that its end may have been written again.
        above: if the log was truncated, records below this offset must still exist; None if no record must.
        doubt: why it is unknown exactly which losses it permits; None if that is known.
        known_from_ns: it covers only records that were known to exist at this time, or later.
    """

    from_ns: int
    to_ns: int
    where: PartitionName | None
    text: str
    below: int | None = None
    above: int | None = None
    doubt: str | None = None
    known_from_ns: int = 0


class Permit(NamedTuple):
    """An event, and the rule by which it permits a loss.

    Attributes:
        event: what happened, when, and where.
        covers_returned: whether records that a consumer had received may be lost too.
        text: the licence, as a verdict states it.
        gap: whether the event only explains the loss and does not permit it, because it is a known gap in
            Kafka's guarantees.
    """

    event: LicenceEvent
    covers_returned: bool
    text: str
    gap: bool = False


class LicenceRule(NamedTuple):
    """One row of the table.

    Attributes:
        name: the configuration, or the event, that the rule is about.
        applies: whether the rule applies to a topic.
        events: finds the events that it needs.
        covers_returned: whether it covers records that a consumer had received.
        reason: why the loss is permitted.
        gap: whether the event only explains the loss and does not permit it, see `Permit`.
    """

    name: str
    applies: Callable[[Facts, Topic], bool]
    events: Callable[[Facts], Iterator[LicenceEvent]]
    covers_returned: bool
    reason: str
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Decisions:
    """Transactions whose decision may have been lost.

    Attributes:
        operation: shape (n,), positions of their invocations in the history, ascending.
        licence: shape (n,), row of `texts` for each.
        texts: the licences.
    """

    operation: Integers
    licence: Integers
    texts: tuple[str, ...] = ()

    def of(self, operations: Integers) -> Integers:
        """Row of `texts` for each of some operations, `NONE` where no decision may have been lost."""
        place = np.searchsorted(self.operation, operations)
        known = np.append(self.operation, NONE)[place] == operations
        return np.where(known & (operations != NONE), np.append(self.licence, NONE)[place], NONE)

    def joined(self, other: "Decisions") -> "Decisions":
        """The transactions of both; those in both have the licence of the first."""
        operation, first = np.unique(np.append(self.operation, other.operation), return_index=True)
        licence = np.append(self.licence, other.licence + len(self.texts))[first]
        return Decisions(operation, licence, (*self.texts, *other.texts))


def no_decisions() -> Decisions:
    """Return `Decisions` without any transaction."""
    return Decisions(np.zeros(0, np.int64), np.zeros(0, np.int64))


class Licences:
    """The permits of one history, by partition.

    Args:
        permits: by topic.
        decisions: the transactions whose decision may have been lost.
        missed: by partition, those with a marker that a leader may have missed.

    Attributes:
        decisions: the transactions whose decision may have been lost.
    """

    def __init__(
        self,
        permits: dict[str, list[Permit]] | None = None,
        decisions: Decisions | None = None,
        missed: Mapping[PartitionName, Decisions] | None = None,
    ) -> None:
        self.decisions = decisions or no_decisions()
        self._missed = missed or {}
        self._anywhere: dict[str, list[tuple[int, Permit]]] = {}
        self._somewhere: dict[PartitionName, list[tuple[int, Permit]]] = {}
        for topic, some in (permits or {}).items():
            for entry in enumerate(some):
                where = entry[1].event.where
                if where is None:
                    self._anywhere.setdefault(topic, []).append(entry)
                else:
                    self._somewhere.setdefault(where, []).append(entry)

    def decisions_in(self, partition: PartitionName) -> Decisions:
        """The transactions whose decision may have been lost, or that a leader of a partition may lack."""
        missed = self._missed.get(partition)
        return self.decisions if missed is None else self.decisions.joined(missed)

    def of(self, partition: PartitionName) -> tuple[Permit, ...]:
        """All permits that may apply to a partition, in the order of the table.

        Permits in doubt come after the others.  Gaps come last, because they permit nothing and a doubt
        outweighs them.
        """
        permits = [*self._anywhere.get(partition.topic, ()), *self._somewhere.get(partition, ())]
        permits.sort(key=lambda entry: (entry[1].gap, entry[1].event.doubt is not None, entry[0]))
        return tuple(permit for _, permit in permits)


def first_permit(
    permits: tuple[Permit, ...],
    since_ns: Integers,
    until_ns: Integers,
    returned: Booleans,
    offset: Integers,
    *,
    known_ns: Integers | None = None,
    removable: bool = False,
) -> Integers:
    """Find, for each of many losses in one partition, the first permit that covers it.

    Args:
        permits: the partition's permits.
        since_ns: shape (n,), time before which the record did not exist.
        until_ns: shape (n,), first time at which it is known to be missing.
        returned: shape (n,), whether a consumer had received it.
        offset: shape (n,), its offset, the lowest one if several are possible; `NONE` if unknown.
        known_ns: shape (n,), when the record was first known to exist, because it was acknowledged or
            returned; `since_ns` if not given.
        removable: whether the loss may be due to the removal of records, and not only to a truncation.

    Returns:
        Shape (n,), indices into `permits`, `NONE` where nothing permits the loss.
    """
    first = np.full(len(since_ns), NONE, dtype=np.int64)
    known_ns = since_ns if known_ns is None else known_ns
    for index in reversed(range(len(permits))):
        event = permits[index].event
        covered = (event.from_ns <= until_ns) & (event.to_ns >= since_ns)
        covered &= known_ns >= event.known_from_ns
        if event.below is not None:
            covered &= removable & (offset != NONE) & (offset < event.below)
        if event.above is not None:
            covered &= (offset == NONE) | (offset >= event.above)
        first[covered if permits[index].covers_returned else covered & ~returned] = index
    return first
