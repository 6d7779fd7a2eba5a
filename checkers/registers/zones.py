"""Gibbons' and Korach's zones: decides linearizability of registers, on columns alone.

The operations on one value of one register, its write and the reads that returned it, are a *cluster*.  Its
zone lies between the first finish and the last start of the cluster.  If the finish comes first, the zone is
*forward*: the register held the value all the time between them.  Otherwise all operations of the cluster
overlap, the zone is *backward*, and holding the value for a moment within it is enough.  If every value is
written at most once, a history of one register is linearizable if and only if (Gibbons and Korach, Testing
Shared Memories, 1997, section 4)

1. every value that was read was written, and no read finished before the write of its value started,
2. no two forward zones overlap,
3. no backward zone lies within a forward zone.

Registers are judged together: the stamps of one register are shifted above all stamps of earlier registers,
so that one sort and one prefix maximum cover all of them.  Both work part by part (`sorting`), in the
processor's cache.

A write with an unknown outcome never finishes.  If its value was read, it happened, and the reads determine
the end of its zone.  If its value was not read, it may never have happened, and it has no zone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Booleans, Integers
from checkers.registers.columns import Rows
from checkers.registers.sorting import Columns, blocks_of, in_order, in_parts

_ROOM = 2**62
"""Upper bound of joined codes, so that they and their doubles fit 64 bits."""
_COLUMNS = 8
"""Number of attributes of `Zones` that have an element for each cluster."""


@dataclass(frozen=True, slots=True)
class Zones:
    """Clusters, one element each, in the order of register and value.

    Attributes:
        key: code of the register.
        value: code of the value.
        finish: stamp of the first completion; the horizon if there is none.
        start: stamp of the last invocation.
        writes: number of writes of the cluster; the next two attributes are valid if it is one.
        write_start: stamp of the write's invocation.
        write_finish: stamp of its completion; the horizon if unknown.
        first: index in `order` at which a cluster begins.
        order: rows; those of one cluster are adjacent, its writes before its reads.
        horizon: a stamp above all others.
    """

    key: Integers
    value: Integers
    finish: Integers
    start: Integers
    writes: Integers
    write_start: Integers
    write_finish: Integers
    first: Integers
    order: Integers
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
    """Pairs of conflicting zones, one for each zone that conflicts with a zone that begins before it.

    Attributes:
        zone: the zone, forward or backward.
        within: the forward zone that overlaps or encloses it.
    """

    zone: Integers
    within: Integers


@dataclass(frozen=True, slots=True)
class _Joint:
    """How register and value are combined to one code, in the order of both.

    Attributes:
        value: code of each row's value, not below `least`.
        least: the number that is subtracted from it.
        values: upper bound of the remaining codes of values.
        names: values by code; None if codes are the values themselves.
        codes: upper bound of the joined codes.
    """

    value: Integers
    least: int
    values: int
    names: Integers | None
    codes: int


class Questions(NamedTuple):
    """Queries whether a register was written again; arrays of one shape.

    Attributes:
        key: the register of each query.
        at: stamp before which the new write must be known to have happened.
        since: stamp after which it must have begun.
    """

    key: Integers
    at: Integers
    since: Integers


class Overwriting(NamedTuple):
    """Whether the register was written again, and the zone of the write; otherwise `by` is undefined."""

    found: Booleans
    by: Integers


def zones_of(rows: Rows) -> Zones:
    """Gather rows into clusters by one sort, O(n log n).

    There must be at least one row.
    """
    joint, size = _joint_of(rows), len(rows.key)
    # There are at most as many clusters as rows; memory that is never filled is not allocated.
    columns, order = np.empty((_COLUMNS, size), np.int64), np.empty(size, np.int64)
    clusters = done = 0
    for code, row, start, finish in in_parts(_blocks(rows, joint), rows_max=size, codes=2 * joint.codes):
        found = _clusters(joint, code, start, finish)
        behind = clusters + len(found[0])
        for column, values in zip(columns, found, strict=True):
            column[clusters:behind] = values
        columns[-1, clusters:behind] += done
        order[done : done + len(row)] = row
        clusters, done = behind, done + len(row)
    key, value, finish, start, writes, write_start, write_finish, first = columns[:, :clusters]
    return Zones(
        key, value, finish, start, writes, write_start, write_finish, first, order, horizon=rows.horizon
    )


def read_early(zones: Zones) -> Booleans:
    """Which clusters have a read that finished before the only write started."""
    early: Booleans = (zones.writes == 1) & (zones.finish < zones.write_start)
    return early


def conflicts_of(zones: Zones, chosen: Booleans) -> Conflicts:
    """Find the zones that conflict, by one sort of their starts and one prefix maximum of their ends.

    Args:
        zones: all clusters.
        chosen: clusters that count; each must have exactly one write, which does not begin after a read's
            finish.
    """
    codes = (int(zones.key[-1]) + 1) * (zones.horizon + 1)
    conflicts = [Conflicts(np.empty(0, np.int64), np.empty(0, np.int64))]
    furthest, its_zone = 0, 0
    for left, zone, ended in in_parts(_spans(zones, chosen), rows_max=len(zones.key), codes=codes):
        forward, right = (ended & 1) > 0, ended >> 1
        # The part's zones, after the zone of earlier parts that reaches furthest.
        reach = np.maximum.accumulate(np.concatenate(([furthest], np.where(forward, right, 0))))
        reaching = np.concatenate(([its_zone], zone))
        before = reach[:-1]
        found = np.flatnonzero(before > np.where(forward, left, right))
        conflicts.append(Conflicts(zone[found], reaching[np.searchsorted(reach, before[found])]))
        furthest, its_zone = int(reach[-1]), int(reaching[np.searchsorted(reach, reach[-1])])
    return Conflicts(*map(np.concatenate, zip(*conflicts, strict=True)))


def overwritten(zones: Zones, chosen: Booleans, known: Integers, asked: Questions) -> Overwriting:
    """Whether some write began after one stamp and was known to have happened before another.

    Args:
        zones: all clusters.
        chosen: clusters whose writes count.
        known: stamp from which each cluster's write is known to have happened, shape of `zones`.
        asked: the queries.
    """
    some = np.flatnonzero(chosen)
    if not len(some):
        return Overwriting(np.zeros(len(asked.key), np.bool_), np.zeros(len(asked.key), np.int64))
    base = _base(zones, zones.key[some])
    order, known_by = in_order(base + known[some])
    some, base = some[order], base[order]
    reach = np.maximum.accumulate(base + zones.write_start[some])
    behind = _base(zones, asked.key)
    last = np.searchsorted(known_by, behind + asked.at) - 1
    latest = np.where(last >= 0, reach[last], -1)
    by = np.minimum(np.searchsorted(reach, latest), len(some) - 1)
    return Overwriting(latest > behind + asked.since, some[by])


def _base(zones: Zones, key: Integers) -> Integers:
    """The offset that is added to a register's stamps, so that registers do not overlap."""
    return key * (zones.horizon + 1)


def _joint_of(rows: Rows) -> _Joint:
    value = rows.value
    least, most = int(value.min()), int(value.max())
    registers, names = int(rows.key.max()) + 1, None
    if registers * (most - least + 1) >= _ROOM:
        names, value = np.unique(value, return_inverse=True)
        least, most = 0, len(names) - 1
    values = most - least + 1
    return _Joint(value, least, values, names, registers * values)


def _blocks(rows: Rows, joint: _Joint) -> Iterator[Columns]:
    """Rows with their codes: an even code for a write, and the next odd code for a read of the same value."""
    for block in blocks_of(len(rows.key)):
        code = rows.key[block] * joint.values + (joint.value[block] - joint.least)
        row = np.arange(block.start, block.stop)
        yield 2 * code + ~rows.write[block], row, rows.start[block], rows.finish[block]


def _clusters(joint: _Joint, code: Integers, start: Integers, finish: Integers) -> Columns:
    """The columns of `Zones` that belong to clusters, from the ordered rows of a part."""
    cluster, write = code >> 1, 1 - (code & 1)
    first = np.flatnonzero(np.concatenate(([True], cluster[1:] != cluster[:-1])))
    written, writes = write[first], np.concatenate(([0], np.cumsum(write)))
    joined = cluster[first]
    key = joined // joint.values
    value = joined - key * joint.values
    return (
        key,
        value + joint.least if joint.names is None else joint.names[value],
        np.minimum.reduceat(finish, first),
        np.maximum.reduceat(start, first),
        np.diff(writes[np.append(first, len(code))]),
        written * start[first],
        written * finish[first],
        first,
    )


def _spans(zones: Zones, chosen: Booleans) -> Iterator[Columns]:
    """The starts of chosen zones, their numbers, and their ends.

    The ends are doubled, plus one for forward zones.
    """
    for block in blocks_of(len(zones.key)):
        some = block.start + np.flatnonzero(chosen[block] & (zones.finish[block] < zones.horizon))
        finish, start, base = zones.finish[some], zones.start[some], _base(zones, zones.key[some])
        left, right = base + np.minimum(finish, start), base + np.maximum(finish, start)
        yield left, some, 2 * right + (finish < start)
