"""The offsets up to which brokers had compacted a log, according to the brokers' own logs.

A broker logs the range of offsets before it looks for the keys in it.  It removes only records that a record
of that range replaces.  The range ends below the active segment and below the first undecided offset.  So
records above all ranges of all brokers have replaced nothing on any replica, because a replica that fetches
from another one fetches its cleaned log.  This holds only if all cleanings were recorded: by every node,
until after the judged disk was read, and in log lines of one version of Kafka.  If no broker logged a
cleaning of the log, it is unknown whether it would log one.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.history.logged import CLEANED, LogsCleaned
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup


class Cleaned(NamedTuple):
    """The offset up to which a partition had been cleaned.

    Attributes:
        end: records at or above this offset were in no range.
        known_ns: all cleanings until this time are known.
        node: name of the node that cleaned up to there.
        line: number of the line in its log.
        op: index of the observation.
    """

    end: int
    known_ns: int
    node: str
    line: int
    op: int

    @property
    def text(self) -> str:
        """What the broker logged, as a text."""
        return (
            f"By their logs, no broker had compacted it beyond {self.end}; {self.node} had up to there "
            f"(line {self.line})."
        )


@once
def cleanings_of(history: History) -> Mapping[PartitionName, Cleaned]:
    """The offset up to which each partition had been cleaned; empty if not all nodes reported it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    observed = [(o, msgspec.convert(o.value, LogsCleaned)) for o in history.observed(CLEANED)]
    if not observed:
        return {}
    setup = recorded_setup(history)
    if len(setup.versions) > 1 or not set(setup.names.values()) <= {
        operation.node for operation, _ in observed
    }:
        return {}
    known_ns = min(seen.began_ns for _, seen in observed)
    found: dict[PartitionName, Cleaned] = {}
    for operation, seen in observed:
        for topic, partition, end, line in seen.logs:
            name = PartitionName(topic, partition)
            if name not in found or end > found[name].end:
                found[name] = Cleaned(end, known_ns, operation.node or "", line, operation.index)
    return found


def cleaned_by(history: History, partition: PartitionName, time_ns: int) -> Cleaned | None:
    """The offset up to which a partition had been cleaned when a disk was read; None if unknown."""
    cleaned = cleanings_of(history).get(partition)
    return cleaned if cleaned is not None and time_ns <= cleaned.known_ns else None
