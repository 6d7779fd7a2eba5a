"""Committed values that a new coordinator may not return yet.

The group coordinator of Kafka 4.0 and later answers a plain OffsetFetch as of the high watermark, and a new
leader's high watermark is the last one that its predecessor sent.  A leader may acknowledge a commit and end
before its followers know the new high watermark.  In that case the new coordinator has read the commit, but
does not return it until its own followers have fetched it.  A fetch that requests stable offsets (KIP-447) is
answered once the high watermark has reached the commit.  Coordinators of earlier versions return all commits
that they read.

This ends with the first commit that the new coordinator acknowledges: its high watermark is above all earlier
records.  Until then an answer may miss commits that were acknowledged since followers last learned a high
watermark.  Without faults they learn it with each fetch, but during faults they do not.  A broker that
restarts knows the high watermark that it last stored (``replica.high.watermark.checkpoint.interval.ms``, 5
s).
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, Integers, PartitionName
from checkers.evidence.faults import FaultWindow
from checkers.registers.columns import Registers

AS_OF_HIGH_WATERMARK = (4, 0)
"""Since this version coordinators answer as of the high watermark (KAFKA-14499), which excuses old answers.

It is enough that the new coordinator may have this version at some moment of that period.
"""
LAG_NS = 6_000_000_000
"""Without faults, a broker learns of a high watermark and stores it within this time."""


class CatchingUp(NamedTuple):
    """A coordinator after its election; all times are stamps of operations, or all are nanoseconds.

    Attributes:
        known: it must return all commits that were acknowledged before this time.
        begin: the earliest time at which it may have been elected.
        elected: the time by which it certainly was elected.
        end: the time until which its high watermark may not have reached the existing commits.
    """

    known: int
    begin: int
    elected: int
    end: int


class Commits(NamedTuple):
    """Acknowledged commits of some registers: stamps of their invocations and completions."""

    start: Integers
    finish: Integers


def catching_up(begin: int, elected: int, end: int, windows: Sequence[FaultWindow]) -> CatchingUp:
    """The period in which a coordinator, elected between two times, may not know all commits; nanoseconds.

    Args:
        begin: the earliest time at which it may have been elected.
        elected: the time by which it certainly was elected.
        end: the time until which followers without faults need to fetch from it.
        windows: all faults; followers can't fetch during them, nor learn of high watermarks.
    """
    known = begin - LAG_NS
    for window in sorted(windows, key=attrgetter("end_ns"), reverse=True):
        if window.overlaps(known, elected):
            known = min(known, window.invoked_ns - LAG_NS)
        if window.overlaps(begin, end):
            end = max(end, min(window.end_ns, NEVER - LAG_NS) + LAG_NS)
    return CatchingUp(known, begin, elected, end)


def commits_of(registers: Registers, partitions: Mapping[str, PartitionName]) -> dict[PartitionName, Commits]:
    """The acknowledged commits that each partition of the offsets topic stores.

    Args:
        registers: the registers of a whole history.
        partitions: by register, the partition that stores its group's offsets.
    """
    rows = registers.rows
    acknowledged = rows.write & (rows.finish < rows.horizon)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(partitions.values()))}
    codes = {register: numbers[name] for register, name in partitions.items()}
    of_register = (codes.get(str(register), -1) for register in registers.keys)
    of_key = np.fromiter(of_register, np.int64, len(registers.keys))
    of_row = np.where(acknowledged, of_key[rows.key], -1)
    found = {name: of_row == number for name, number in numbers.items()}
    return {name: Commits(rows.start[which], rows.finish[which]) for name, which in found.items()}


def caught_up(catching: CatchingUp, commits: Commits) -> CatchingUp:
    """End a coordinator's period at its first commit that began after its election; in stamps."""
    later = commits.finish[commits.start > catching.elected]
    end = min(catching.end, int(later.min())) if len(later) else catching.end
    return catching._replace(end=end)
