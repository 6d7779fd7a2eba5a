"""Events around a change of leaders: the change itself, and the faults that may cause it."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.faults import FOREVER_NS
from checkers.history.observed import PARTITIONS, PartitionsSeen
from checkers.history.units import NS_PER_S
from checkers.licences.facts import Facts
from checkers.licences.permits import LicenceEvent


def always(_: Facts) -> Iterator[LicenceEvent]:
    """Return one event that spans the whole history."""
    yield LicenceEvent(0, NEVER, None, "the guarantee never applies")


def leader_moves(facts: Facts) -> Iterator[LicenceEvent]:
    """Every rise of a partition's leader epoch."""
    for move in moves(facts):
        text = f"the leader epoch of {move.partition} increased from {move.known} to {move.epoch}"
        within = span_text(move.from_ns, move.to_ns)
        yield LicenceEvent(move.from_ns, move.to_ns, move.partition, f"{text} {within}")


class EpochRise(NamedTuple):
    """A rise of a partition's leader epoch, between two times; nanoseconds."""

    partition: PartitionName
    known: int
    epoch: int
    from_ns: int
    to_ns: int


def moves(facts: Facts) -> Iterator[EpochRise]:
    """Find rises of partitions' leader epochs.

    Brokers may report an old epoch, so a move lies between the first sightings of the old and the new one.
    """
    seen: dict[PartitionName, tuple[int, int]] = {}
    for operation in facts.history.observed(PARTITIONS):
        for partition, epoch in _epochs(msgspec.convert(operation.value, PartitionsSeen)):
            known, since_ns = seen.get(partition, (epoch, operation.time_ns))
            if epoch > known:
                yield EpochRise(partition, known, epoch, since_ns, operation.time_ns)
            if epoch > known or partition not in seen:
                seen[partition] = (epoch, operation.time_ns)


def faults(facts: Facts) -> Iterator[LicenceEvent]:
    """Every fault that was injected, and every attempted fault that may have taken effect."""
    for window in facts.windows:
        within = span_text(window.invoked_ns, window.end_ns)
        text = f"fault {window.id} ({window.kind}) was in force {within}"
        yield LicenceEvent(window.invoked_ns, window.end_ns, None, text)


def _epochs(seen: PartitionsSeen) -> Iterator[tuple[PartitionName, int]]:
    for topic, partitions in seen.topics.items():
        for state in partitions:
            yield PartitionName(topic, state.partition), state.leader_epoch


def span_text(from_ns: int, to_ns: int) -> str:
    """Return a span of time as text."""
    until = "the end" if to_ns == FOREVER_NS else f"{to_ns / NS_PER_S:.3f} s"
    return f"between {from_ns / NS_PER_S:.3f} s and {until}"
