"""Committed values that a new coordinator may not return yet.

The group coordinator of Kafka 4.0 and later answers a plain OffsetFetch as of the high watermark, and a new
leader's high watermark is the last one that its predecessor sent.  A leader may acknowledge a commit and end
before its followers know the new high watermark.  Then the new coordinator has read the commit, but does not
return it until its own followers have fetched it.  A fetch that requests stable offsets (KIP-447) is answered
once the high watermark is there.  Coordinators of earlier versions return all commits that they read.

This ends with the first commit that the new coordinator acknowledges: its high watermark is above all earlier
records.  Until then an answer may miss commits that were acknowledged since followers last learned a high
watermark.  Without faults they learn it with each fetch, but during faults they do not.  A broker that starts
again knows the one that it last stored (``replica.high.watermark.checkpoint.interval.ms``, 5 s).
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, Integers, PartitionName
from checkers.evidence.faults import FaultWindow
from checkers.registers.columns import Registers

AS_OF_HIGH_WATERMARK = (4, 0)
"""Since this version coordinators answer as of the high watermark (KAFKA-14499), which excuses old answers.

Enough that one node has it at some time: any broker may be the coordinator.
"""
LAG_NS = 6_000_000_000
"""A broker that nothing hits learns of a high watermark, and writes it down, within this time."""


class Catching(NamedTuple):
    """A coordinator after its election; all in stamps of operations, or all in nanoseconds.

    Attributes:
        known: what was acknowledged before this it must answer with.
        begin: from when it may have been elected.
        elected: when it certainly was.
        end: until when its high watermark may not have reached what was there.
    """

    known: int
    begin: int
    elected: int
    end: int


class Commits(NamedTuple):
    """Acknowledged commits of some registers: stamps of their invocations and completions."""

    start: Integers
    finish: Integers


def catching_up(begin: int, elected: int, end: int, windows: Sequence[FaultWindow]) -> Catching:
    """What the coordinator that was elected between two times may not know; in nanoseconds.

    Args:
        begin: from when it may have been elected.
        elected: when it certainly was.
        end: until when followers that nothing hits need to fetch from it.
        windows: all faults; followers can't fetch during them, nor learn of high watermarks.
    """
    known = begin - LAG_NS
    for window in sorted(windows, key=attrgetter("end_ns"), reverse=True):
        if window.overlaps(known, elected):
            known = min(known, window.invoked_ns - LAG_NS)
        if window.overlaps(begin, end):
            end = max(end, min(window.end_ns, NEVER - LAG_NS) + LAG_NS)
    return Catching(known, begin, elected, end)


def commits_of(registers: Registers, partitions: Mapping[str, PartitionName]) -> dict[PartitionName, Commits]:
    """The acknowledged commits that each partition of the offsets topic keeps.

    Args:
        registers: of a whole history.
        partitions: by register, where its group's offsets are kept.
    """
    rows = registers.rows
    acknowledged = rows.write & (rows.finish < rows.horizon)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(partitions.values()))}
    names: Iterator[Any] = map(partitions.get, map(str, registers.keys))
    of_key = np.fromiter((numbers.get(name, -1) for name in names), np.int64, len(registers.keys))
    of_row = np.where(acknowledged, of_key[rows.key], -1)
    found = {name: of_row == number for name, number in numbers.items()}
    return {name: Commits(rows.start[which], rows.finish[which]) for name, which in found.items()}


def caught_up(catching: Catching, commits: Commits) -> Catching:
    """Let a coordinator have caught up with its first commit that was begun after its election; in stamps."""
    later = commits.finish[commits.start > catching.elected]
    end = min(catching.end, int(later.min())) if len(later) else catching.end
    return catching._replace(end=end)
