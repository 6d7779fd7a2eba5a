"""Gibbons' and Korach's zones: the kernel that decides linearizability of registers, on columns alone.

The operations on one value of one register, its write and the reads that returned it, are a *cluster*.  Its
zone lies between the first finish and the last start of the cluster.  Where the finish comes first the zone
is *forward*: the register held the value all the time between.  Otherwise all operations of the cluster
overlap, the zone is *backward*, and holding the value for a moment within it is enough.  Where every value is
written at most once, a history of one register is linearizable exactly if (Gibbons and Korach, Testing Shared
Memories, 1997, section 4)

1. every value that was read was written, and no read finished before the write of its value started,
2. no two forward zones overlap,
3. no backward zone lies within a forward zone.

Registers are judged together: stamps of one register are moved behind all stamps of those before it, so that
one sort and one prefix maximum serve them all.

A write of unknown fate never finishes.  If its value was read it happened, and its zone ends where the reads
say; if not, nothing forbids that it never happens, and it has no zone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns import Booleans, Integers
from checkers.registers.columns import Rows

_ROOM = 2**62
"""Joined codes stay below this, so that they and their sums fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Zones:
    """Clusters, one each, in the order of register and value.

    Attributes:
        key: code of the register.
        value: code of the value.
        finish: stamp of the first completion; the horizon if there is none.
        start: stamp of the last invocation.
        writes: how many writes the cluster has; the next two are for one.
        write_start: stamp of the write's invocation.
        write_finish: stamp of its completion; the horizon if unknown.
        order: rows, those of one cluster side by side.
        first: where in `order` a cluster begins.
        horizon: above every stamp.
    """

    key: Integers
    value: Integers
    finish: Integers
    start: Integers
    writes: Integers
    write_start: Integers
    write_finish: Integers
    order: Integers
    first: Integers
    horizon: int

    def rows_of(self, zone: int) -> Integers:
        """Rows of one cluster."""
        after = self.first[zone + 1] if zone + 1 < len(self.first) else len(self.order)
        return self.order[self.first[zone] : after]

    def zone_of_rows(self) -> Integers:
        """The cluster of each row."""
        zone = np.empty(len(self.order), dtype=np.int64)
        zone[self.order] = np.repeat(
            np.arange(len(self.first)), np.diff(np.append(self.first, len(self.order)))
        )
        return zone


class Conflicts(NamedTuple):
    """Pairs of zones that no order explains, one for each zone that conflicts with one that begins before it.

    Attributes:
        zone: the zone, forward or backward.
        within: the forward zone that overlaps or encloses it.
    """

    zone: Integers
    within: Integers


class Asked(NamedTuple):
    """Questions whether a register was written anew; arrays of one shape.

    Attributes:
        key: register of each.
        at: stamp before which the new write must be known to have happened.
        since: stamp after which it must have begun.
    """

    key: Integers
    at: Integers
    since: Integers


class Overwriting(NamedTuple):
    """Answers: whether it was, and the zone of the new write; `by` means nothing where it was not."""

    found: Booleans
    by: Integers


def zones_of(rows: Rows) -> Zones:
    """Gather rows into clusters: one sort, O(n log n).  There must be at least one row."""
    order, code = _sorted(_joined(rows))
    first = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))
    write = rows.write[order]
    start, finish = rows.start[order], rows.finish[order]
    return Zones(
        key=rows.key[order[first]],
        value=rows.value[order[first]],
        finish=np.minimum.reduceat(finish, first),
        start=np.maximum.reduceat(start, first),
        writes=np.add.reduceat(write, first, dtype=np.int64),
        write_start=np.maximum.reduceat(np.where(write, start, 0), first),
        write_finish=np.maximum.reduceat(np.where(write, finish, 0), first),
        order=order,
        first=first,
        horizon=rows.horizon,
    )


def read_early(zones: Zones) -> Booleans:
    """Which clusters have a read that finished before the only write started."""
    early: Booleans = (zones.writes == 1) & (zones.finish < zones.write_start)
    return early


def conflicts_of(zones: Zones, chosen: Booleans) -> Conflicts:
    """Find the zones that conflict: one sort by where they begin, one prefix maximum of where they end.

    Args:
        zones: all clusters.
        chosen: which of them count; each needs exactly one write, not after a read's finish.
    """
    some = np.flatnonzero(chosen & (zones.finish < zones.horizon))
    if not len(some):
        return Conflicts(some, some)
    finish, start, base = zones.finish[some], zones.start[some], _base(zones, zones.key[some])
    forward = finish < start
    left, right = base + np.minimum(finish, start), base + np.maximum(finish, start)
    order, left = _sorted(left)
    right, forward = right[order], forward[order]
    reach = np.maximum.accumulate(np.where(forward, right, 0))
    before = np.concatenate(([0], reach[:-1]))
    found = np.flatnonzero(before > np.where(forward, left, right))
    return Conflicts(some[order[found]], some[order[np.searchsorted(reach, before[found])]])


def overwritten(zones: Zones, chosen: Booleans, known: Integers, asked: Asked) -> Overwriting:
    """Ask whether some write began after one stamp and was known to have happened before another.

    Args:
        zones: all clusters.
        chosen: clusters whose writes count.
        known: stamp from which each cluster's write is known to have happened, shape of `zones`.
        asked: the questions.
    """
    some = np.flatnonzero(chosen)
    if not len(some):
        return Overwriting(np.zeros(len(asked.key), np.bool_), np.zeros(len(asked.key), np.int64))
    base = _base(zones, zones.key[some])
    order, known_by = _sorted(base + known[some])
    some, base = some[order], base[order]
    reach = np.maximum.accumulate(base + zones.write_start[some])
    behind = _base(zones, asked.key)
    last = np.searchsorted(known_by, behind + asked.at) - 1
    latest = np.where(last >= 0, reach[last], -1)
    by = np.minimum(np.searchsorted(reach, latest), len(some) - 1)
    return Overwriting(latest > behind + asked.since, some[by])


def _base(zones: Zones, key: Integers) -> Integers:
    """What is added to stamps of a register, so that those of different registers do not meet."""
    return key * (zones.horizon + 1)


def _joined(rows: Rows) -> Integers:
    """One code for register and value, in the order of both."""
    value = rows.value
    least, most = int(value.min()), int(value.max())
    registers = int(rows.key.max()) + 1
    if registers * (most - least + 1) >= _ROOM:
        value = np.unique(value, return_inverse=True)[1]
        least, most = 0, len(value) - 1
    return rows.key * (most - least + 1) + (value - least)


def _sorted(code: Integers) -> tuple[Integers, Integers]:
    """The order of codes from 0, equal ones in the order of their rows; and the codes in that order.

    Codes and rows are packed into one integer of 64 bits where they fit, because NumPy sorts integers several
    times as fast as it finds their order.
    """
    room = (len(code) - 1).bit_length()
    if int(code.max()).bit_length() + room > np.iinfo(np.uint64).bits:
        order = np.argsort(code, kind="stable")
        return order, code[order]
    packed = (code.astype(np.uint64) << np.uint64(room)) | np.arange(len(code), dtype=np.uint64)
    packed.sort()
    row = packed & np.uint64((1 << room) - 1)
    return row.astype(np.int64), (packed >> np.uint64(room)).astype(np.int64)
