"""Compares the records that share polls returned with the log: its values and its end.

A share group reads the same log as any other reader, up to the high watermark, so the records that it
receives are committed.  Values are unique.  So three rules apply to every record that a share poll returned:

* ``share-phantom``: its value was sent to that partition, and the send did not definitely fail.  A topic to
  which the history has no send at all is left out.
* ``share-wrong-record``: no acknowledgement and no reader, share polls included, has another value at that
  offset.
* ``share-not-in-log``: the final reads at read_uncommitted that cover the record returned some record at that
  offset.  A final read covers the offsets that it passed.  If it reached the listed end, it also covers the
  records that were in the log before the listing: those that were returned by then, and every copy of a value
  whose send was acknowledged by then.

The licences are those of the log checker: none for the first rule, truncations for the second one,
truncations and deletions for the third one.  The third rule leaves compacted topics out.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers
from checkers.history.operations import History
from checkers.history.units import NS_PER_S
from checkers.licences import Permit, first_permit, licences_of
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.claims import Comparison
from checkers.share_groups.deliveries import Found
from checkers.share_groups.loading import ShareGroups
from checkers.verdict.kinds import AnomalyKind

_REPORTS_MAX = 6
_BY = ("the acknowledgement", "the read", "the share poll")


class Compared(NamedTuple):
    """Findings of one rule, and the events that permit them.

    Attributes:
        found: the findings.
        licence: shape (n,), index of the permit of each finding, `NONE` if there is none.
        permits: events that permit losses.
    """

    found: Found
    licence: Integers
    permits: tuple[Permit, ...]

    def text(self, row: int) -> str | None:
        """The permit of a finding as text; None if it is illegal."""
        licence = int(self.licence[row])
        return None if licence == NONE else self.permits[licence].text

    def examples(self, count: int) -> list[int]:
        """Rows of at most `count` findings, illegal ones first."""
        some: list[int] = np.argsort(self.licence != NONE, kind="stable")[:count].tolist()
        return some

    def doubts(self) -> Iterator[str]:
        """Why it is uncertain whether findings that count as permitted are permitted."""
        used = np.unique(self.licence[self.licence != NONE]).tolist()
        yield from filter(None, (self.permits[row].event.doubt for row in used))


def compared_with_log(history: History, groups: ShareGroups) -> Iterator[Compared]:
    """Apply all rules about values and offsets.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: the records that members of share groups received.
    """
    if len(groups.deliveries.place):
        comparison = Comparison(history, groups)
        phantom = _phantom(comparison)
        yield _phantoms(comparison, np.flatnonzero(phantom))
        yield _contradictions(comparison, ~phantom)
        yield _missing(comparison, ~phantom)


def _phantom(comparison: Comparison) -> Booleans:
    """Which claims share polls returned although no worker can have sent them; shape (claims,)."""
    topics = {
        comparison.partitions[code].topic for code in np.unique(comparison.columns.sends.partition).tolist()
    }
    fed = np.array([name.topic in topics for name in comparison.partitions], np.bool_)
    claims = comparison.claims
    phantom: Booleans = (claims.delivery != NONE) & (comparison.sent.possible == 0) & fed[claims.partition]
    return phantom


def _phantoms(comparison: Comparison, rows: Integers) -> Compared:
    """Values that no worker can have sent to the partition."""
    sends = comparison.columns.sends

    def text(row: int) -> str:
        claim = int(rows[row])
        elsewhere = np.unique(sends.partition[sends.value == comparison.claims.value[claim]]).tolist()
        partitions = ", ".join(str(comparison.partitions[code]) for code in elsewhere)
        fate = f"was sent to {partitions} only" if partitions else "was never sent"
        if comparison.sent.sends[claim]:
            fate = "was not written, because its send failed"
        return f"was {_reported(comparison, claim)}, but this value {fate}"

    nothing = np.full(len(rows), NONE)
    return Compared(_found(comparison, kinds.PHANTOM, rows, _witness(comparison, rows), text), nothing, ())


def _contradictions(comparison: Comparison, judged: Booleans) -> Compared:
    """Pairs of claims about one offset, adjacent in time, at least one of them from a share poll."""
    claims = comparison.claims
    order = np.flatnonzero(judged)
    order = order[np.lexsort((claims.known_ns[order], claims.slot[order]))]
    pairs = np.stack((order[:-1], order[1:]))
    delivered = claims.delivery[pairs] != NONE
    rivals = (claims.slot[pairs[0]] == claims.slot[pairs[1]]) & delivered.any(axis=0)
    pairs = pairs[:, rivals]
    later = claims.delivery[pairs[1]] != NONE
    mine, other = np.where(later, pairs[::-1], pairs)

    def text(row: int) -> str:
        return f"was {_reported(comparison, int(mine[row]))}, and {_reported(comparison, int(other[row]))}"

    licence, permits = _permitted(
        comparison,
        pairs[0],
        np.minimum(_since_ns(comparison, pairs[0]), _since_ns(comparison, pairs[1])),
        claims.known_ns[pairs[1]],
        claims.kept[pairs[0]] & claims.kept[pairs[1]],
    )
    witness = (*_witness(comparison, mine), *_witness(comparison, other))
    return Compared(_found(comparison, kinds.WRONG_RECORD, mine, witness, text), licence, permits)


def _missing(comparison: Comparison, judged: Booleans) -> Compared:
    """Records that share polls returned, at offsets where covering final reads found no record."""
    claims = comparison.claims
    call, until_ns = np.full(len(claims.slot), NONE), np.full(len(claims.slot), NEVER)
    for partition in np.unique(claims.partition).tolist():
        if comparison.partitions[partition].topic in comparison.columns.keys:
            continue
        here = np.flatnonzero(judged & (claims.delivery != NONE) & (claims.partition == partition))
        _cover(comparison, partition, here, call, until_ns)
    rows = np.flatnonzero(call != NONE)
    finals, calls = comparison.columns.final_reads, comparison.columns.calls

    def text(row: int) -> str:
        claim = int(rows[row])
        final = int(call[claim])
        end = finals.position[final]
        listed = "the listed end " if claims.offset[claim] >= end else ""
        span = f"from offset {finals.start[final]} to {listed}{end}"
        operation = calls.op[finals.call[final]]
        return (
            f"was {_reported(comparison, claim)}, but a final read {span} found no record there, "
            f"operation {operation}"
        )

    kept = np.ones(len(rows), np.bool_)
    since_ns = _since_ns(comparison, rows)
    last_ns = np.maximum(until_ns[rows], claims.known_ns[rows])
    licence, permits = _permitted(comparison, rows, since_ns, last_ns, kept, removable=True)
    witness = (*_witness(comparison, rows), calls.op[finals.call[call[rows]]])
    return Compared(_found(comparison, kinds.NOT_IN_LOG, rows, witness, text), licence, permits)


def _cover(
    comparison: Comparison, partition: int, here: Integers, call: Integers, until_ns: Integers
) -> None:
    """For claims of one partition that final reads should have found, store the first that covers each."""
    claims, columns = comparison.claims, comparison.columns
    finals = columns.final_reads
    offset, present_ns = (
        claims.offset[here],
        np.minimum(claims.known_ns[here], comparison.sent.until_ns[here]),
    )
    final = np.flatnonzero(columns.calls.final[columns.reads.call] & (columns.reads.partition == partition))
    lacking = ~np.isin(offset, columns.reads.offset[final])
    for row in comparison.finals(partition):
        covered = offset < finals.position[row]
        covered |= finals.whole[row] & (present_ns < finals.listed_ns[row])
        ended_ns = columns.calls.completed_ns[finals.call[row]]
        rows = here[lacking & covered & (ended_ns < until_ns[here])]
        call[rows], until_ns[rows] = row, ended_ns


def _permitted(
    comparison: Comparison,
    claims: Integers,
    since_ns: Integers,
    until_ns: Integers,
    kept: Booleans,
    *,
    removable: bool = False,
) -> tuple[Integers, tuple[Permit, ...]]:
    """The permits for missing records; `claims` are the claims that were known first.

    A known gap of Kafka explains a loss and does not permit it.
    """
    licence, permits = np.full(len(claims), NONE), list[Permit]()
    partitions, offset = comparison.claims.partition[claims], comparison.claims.offset[claims]
    known_ns = comparison.claims.known_ns[claims]
    for partition in np.unique(partitions).tolist():
        here = np.flatnonzero(partitions == partition)
        some = licences_of(comparison.history).of(comparison.partitions[partition])
        first = first_permit(
            some,
            since_ns[here],
            until_ns[here],
            kept[here],
            offset[here],
            known_ns=known_ns[here],
            removable=removable,
        )
        gaps = np.array([permit.gap for permit in some] + [True])  # `NONE` is the last row
        licence[here] = np.where(gaps[first], NONE, first + len(permits))
        permits += some
    return licence, tuple(permits)


def _since_ns(comparison: Comparison, claims: Integers) -> Integers:
    """Time before which records did not exist: they were neither being sent nor reported."""
    return np.minimum(comparison.claims.known_ns[claims], comparison.sent.since_ns[claims])


def _witness(comparison: Comparison, claims: Integers) -> tuple[Integers, Integers]:
    """Invocation and completion of the operations that report claims."""
    report = comparison.claims.report[claims]
    return comparison.reports.began[report], comparison.reports.ended[report]


def _reported(comparison: Comparison, claim: int) -> str:
    report = int(comparison.claims.report[claim])
    by = _BY[comparison.reports.by[report]]
    return f"{comparison.value(claim)!r} to {by} of operation {comparison.reports.ended[report]}"


def _found(
    comparison: Comparison,
    kind: AnomalyKind,
    claims: Integers,
    witness: tuple[Integers, ...],
    text: Callable[[int], str],
) -> Found:
    delivery = comparison.claims.delivery[claims]

    def explained(row: int) -> tuple[str, ...]:
        return _reports_at(comparison, int(comparison.claims.slot[claims[row]]))

    return Found(kind, delivery, comparison.groups.deliveries.place[delivery], witness, text, explained)


def _reports_at(comparison: Comparison, slot: int) -> tuple[str, ...]:
    """What each operation reported at a place, in the order of time; each kind of report of a value once."""
    reports = comparison.reports
    rows = np.flatnonzero(comparison.slots == slot)
    rows = rows[np.argsort(reports.known_ns[rows], kind="stable")]
    first = {(int(reports.value[row]), int(reports.by[row])): row for row in rows[::-1].tolist()}
    lines = [
        f"At {reports.known_ns[row] / NS_PER_S:.3f} s {_BY[by]} of operation {reports.ended[row]} had "
        f"{comparison.named(value)!r} there."
        for (value, by), row in sorted(first.items(), key=lambda each: int(reports.known_ns[each[1]]))
    ]
    return tuple(lines[:_REPORTS_MAX])
