"""Up to where brokers had compacted a log, as they logged it themselves.

A broker logs the range of offsets before it looks for the keys in it, and removes only what a record of that
range replaces.  The range ends at the active segment, and below what is undecided.  So what is behind
all ranges of all brokers has replaced nothing, on no replica: a replica that fetched from another one fetched
its cleaned log.  All of it must have been recorded: by every node, after the disk was read that is judged,
and in the words of one version of Kafka.  If no broker logged a cleaning of the log, it is unknown whether it
would log one.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.history.logged import CLEANED, LogsCleaned
from checkers.history.operations import History, once
from checkers.history.setup import told_setup


class Cleaned(NamedTuple):
    """Up to where a partition had been cleaned.

    Attributes:
        end: what stands here or farther was in no range.
        known_ns: the cleanings until then are known.
        node: who cleaned up to there.
        line: of its log.
        op: index of the observation.
    """

    end: int
    known_ns: int
    node: str
    line: int
    op: int

    @property
    def told(self) -> str:
        """What the broker logged, in words."""
        return (
            f"By their logs, no broker had compacted it beyond {self.end}; {self.node} had up to there "
            f"(line {self.line})."
        )


@once
def cleanings_of(history: History) -> Mapping[PartitionName, Cleaned]:
    """Up to where each partition had been cleaned; nothing where not all nodes reported it.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    told = [(o, msgspec.convert(o.value, LogsCleaned)) for o in history.observed(CLEANED)]
    if not told:
        return {}
    setup = told_setup(history)
    versions = {setup.kafka_version, *setup.node_versions.values()}
    if len(versions) > 1 or not set(setup.names.values()) <= {operation.node for operation, _ in told}:
        return {}
    known_ns = min(seen.began_ns for _, seen in told)
    found: dict[PartitionName, Cleaned] = {}
    for operation, seen in told:
        for topic, partition, end, line in seen.logs:
            name = PartitionName(topic, partition)
            if name not in found or end > found[name].end:
                found[name] = Cleaned(end, known_ns, operation.node or "", line, operation.index)
    return found


def cleaned_by(history: History, partition: PartitionName, time_ns: int) -> Cleaned | None:
    """Up to where a partition had been cleaned by the time when a disk had been read; None if not known."""
    cleaned = cleanings_of(history).get(partition)
    return cleaned if cleaned is not None and time_ns <= cleaned.known_ns else None
