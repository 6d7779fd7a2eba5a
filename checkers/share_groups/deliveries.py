"""Rules about single records; each rule finds rows, and every row is a finding.

An acknowledgement or a renewal without an error states that its member held the record, or that the start
offset had passed it: below that a broker ignores them, without an error (`SharePartition.acknowledge`).  One
that failed, or whose outcome is unknown, proves nothing, and permits any further delivery.
No rule measures how long a record is held, because only the broker's clock determines that.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, PartitionName
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.calm import Calm
from checkers.share_groups.earlier_rows import highest_before
from checkers.share_groups.loading import RELEASE, RENEW, ShareGroups
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly


def _unexplained(_: int) -> tuple[str, ...]:
    return ()


class Found(NamedTuple):
    """Findings of one rule, one row for each.

    Attributes:
        kind: kind of the anomaly.
        delivery: shape (n,), row of the delivery that breaks the promise.
        place: shape (n,), code of the share partition.
        witness: operations that show the finding, in order; one array of shape (n,) for each.
        text: returns a text about one row.
        explained: returns the proof of one row, as sentences.
    """

    kind: AnomalyKind
    delivery: Integers
    place: Integers
    witness: tuple[Integers, ...]
    text: Callable[[int], str]
    explained: Callable[[int], tuple[str, ...]] = _unexplained

    def anomaly(self, groups: ShareGroups, times_ns: Integers, row: int) -> Anomaly:
        """The finding of one row; `times_ns` are the times of all operations of the history."""
        delivery = int(self.delivery[row])
        name = f"{groups.places[int(self.place[row])]}@{groups.deliveries.offset[delivery]}"
        witness = sorted({int(column[row]) for column in self.witness})
        return self.kind.found(
            f"{name} {self.text(row)}",
            subject=name,
            time_ns=int(times_ns[witness[-1]]),
            witness=witness,
            explanation=self.explained(row),
        )


def found_in(groups: ShareGroups, calm: Calm, limit: int) -> Iterator[Found]:
    """Apply all rules about single records.

    Args:
        groups: the records that members received and acknowledged.
        calm: the times at which leaders were undisputed.
        limit: largest legal delivery count; 0 if unknown.
    """
    steady = _steady(groups, calm)
    yield _acknowledged_twice(groups, steady)
    yield _too_many(groups, limit)
    of_steady_leaders = (
        _delivered_again(groups),
        _count_lost(groups),
        _held_twice(groups, steady),
        _below_start(groups),
    )
    for found in of_steady_leaders:
        yield _kept(found, steady[found.delivery])


def _steady(groups: ShareGroups, calm: Calm) -> Booleans:
    """Whether certainly no deposed leader made each delivery, and no change of the start offset did."""
    all_ = groups.deliveries
    steady = np.zeros(len(all_.place), np.bool_)
    for place in np.unique(all_.place).tolist():
        here, name = all_.place == place, groups.places[place]
        where = PartitionName(name.topic, name.partition)
        steady[here] = calm.between(where, all_.since[here], all_.answered[here])
    return steady & all_.settled


def _kept(found: Found, kept: Booleans) -> Found:
    """Keep only some of the findings."""
    rows = np.flatnonzero(kept)
    witness = tuple(column[rows] for column in found.witness)
    return Found(
        found.kind, found.delivery[rows], found.place[rows], witness, lambda row: found.text(int(rows[row]))
    )


def _found(
    groups: ShareGroups,
    kind: AnomalyKind,
    delivery: Integers,
    witness: tuple[Integers, ...],
    text: Callable[[int], str],
) -> Found:
    return Found(kind, delivery, groups.deliveries.place[delivery], witness, text)


def _acknowledged_twice(groups: ShareGroups, steady: Booleans) -> Found:
    """Acknowledgements after a final one of the record: final ones, and releases that began after its end."""
    acks, records = groups.acknowledgements, groups.deliveries.record
    record, final = records[acks.delivery], acks.kind != RELEASE
    finals = np.flatnonzero(final)
    # The earlier a final acknowledgement ended, the higher it is, so the earliest is found.
    earliest = highest_before(
        record[finals],
        acks.began[finals],
        -acks.ended[finals],
        record,
        np.where(final, acks.began, acks.ended),
    )
    first = np.append(finals, NONE)[earliest]
    after = (first != NONE) & (final | (acks.ended[first] < acks.began))
    after &= _is_kept(groups, steady, acks.delivery, np.maximum(acks.ended[first], acks.ended))
    later = np.flatnonzero(after)
    first = first[later]

    def text(row: int) -> str:
        return (
            f"was acknowledged successfully by operation {acks.ended[later[row]]}, after a final "
            f"acknowledgement, operation {acks.ended[first[row]]}"
        )

    witness = (acks.began[first], acks.ended[first], acks.began[later], acks.ended[later])
    return _found(groups, kinds.ACKNOWLEDGED_TWICE, acks.delivery[later], witness, text)


def _is_kept(groups: ShareGroups, steady: Booleans, delivery: Integers, until: Integers) -> Booleans:
    """Whether the start offset had certainly not passed records by some positions in the history.

    It had not passed a record if that record, or one below it, was acquired later.  A deposed leader may
    deliver a record that the start offset has passed, so its deliveries prove nothing.
    """
    all_ = groups.deliveries
    life, offset = all_.life[delivery], all_.offset[steady]
    # Times and offsets are negated, because the highest earlier row is searched.
    lowest = highest_before(all_.life[steady], -all_.since[steady], -offset, life, -until)
    kept: Booleans = (lowest != NONE) & (np.append(offset, NONE)[lowest] <= all_.offset[delivery])
    return kept


def _too_many(groups: ShareGroups, limit: int) -> Found:
    """Deliveries with a count above the limit."""
    all_ = groups.deliveries
    rows = np.flatnonzero(all_.count > limit) if limit else np.zeros(0, np.int64)

    def text(row: int) -> str:
        return f"was delivered with the delivery count {all_.count[rows[row]]}; the limit is {limit}"

    return _found(groups, kinds.TOO_MANY, rows, (all_.asked[rows], all_.answered[rows]), text)


def _delivered_again(groups: ShareGroups) -> Found:
    """Deliveries that can only have begun after a final acknowledgement was confirmed."""
    all_, acks = groups.deliveries, groups.acknowledgements
    finals = np.flatnonzero(acks.kind != RELEASE)
    record, ended = all_.record[acks.delivery[finals]], acks.ended[finals]
    by = highest_before(record, ended, -ended, all_.record, all_.since)
    rows = np.flatnonzero(by != NONE)
    by = finals[by[rows]]

    def text(row: int) -> str:
        return (
            f"was delivered by operation {all_.answered[rows[row]]}, after its final acknowledgement, "
            f"operation {acks.ended[by[row]]}"
        )

    witness = (acks.began[by], acks.ended[by], all_.asked[rows], all_.answered[rows])
    return _found(groups, kinds.DELIVERED_AGAIN, rows, witness, text)


def _count_lost(groups: ShareGroups) -> Found:
    """Deliveries after a confirmed release whose count is not above that of the released delivery."""
    all_, acks = groups.deliveries, groups.acknowledgements
    releases = np.flatnonzero(acks.kind == RELEASE)
    released = acks.delivery[releases]
    count = all_.count[released]
    by = highest_before(all_.record[released], acks.ended[releases], count, all_.record, all_.since)
    rows = np.flatnonzero((by != NONE) & (np.append(count, 0)[by] >= all_.count))
    by = releases[by[rows]]

    def text(row: int) -> str:
        before = all_.count[acks.delivery[by[row]]]
        return (
            f"was delivered with the delivery count {all_.count[rows[row]]}, after it had been released with "
            f"the count {before}, operation {acks.ended[by[row]]}"
        )

    witness = (acks.began[by], acks.ended[by], all_.asked[rows], all_.answered[rows])
    return _found(groups, kinds.COUNT_LOST, rows, witness, text)


def _held_twice(groups: ShareGroups, steady: Booleans) -> Found:
    """Deliveries between a delivery to another member and that member's acknowledgement or renewal.

    That member does not prefetch, so it fetched nothing in between and did not acquire the record again.
    """
    all_, acks = groups.deliveries, groups.acknowledgements.with_(groups.renewals)
    holds = np.flatnonzero(all_.exact[acks.delivery] & _is_kept(groups, steady, acks.delivery, acks.ended))
    held = acks.delivery[holds]
    by = highest_before(all_.record[held], all_.answered[held], acks.began[holds], all_.record, all_.since)
    rows = np.flatnonzero((by != NONE) & (np.append(acks.began[holds], NONE)[by] > all_.answered))
    by = holds[by[rows]]

    def text(row: int) -> str:
        other, what = acks.delivery[by[row]], "renewal" if acks.kind[by[row]] == RENEW else "acknowledgement"
        return (
            f"was delivered by operation {all_.answered[rows[row]]}, while the member to which operation "
            f"{all_.answered[other]} had delivered it held it: its {what} succeeded later, "
            f"operation {acks.ended[by[row]]}"
        )

    witness = (
        all_.answered[acks.delivery[by]],
        all_.asked[rows],
        all_.answered[rows],
        acks.began[by],
        acks.ended[by],
    )
    return _found(groups, kinds.HELD_TWICE, rows, witness, text)


def _below_start(groups: ShareGroups) -> Found:
    """Deliveries below a start offset that was reported before they can have begun."""
    all_, starts = groups.deliveries, groups.starts
    by = highest_before(starts.life, starts.answered, starts.start, all_.life, all_.since)
    rows = np.flatnonzero((by != NONE) & (np.append(starts.start, NONE)[by] > all_.offset))
    by = by[rows]

    def text(row: int) -> str:
        return (
            f"was delivered by operation {all_.answered[rows[row]]}, but the start offset was already "
            f"{starts.start[by[row]]}, operation {starts.answered[by[row]]}"
        )

    witness = (starts.asked[by], starts.answered[by], all_.asked[rows], all_.answered[rows])
    return _found(groups, kinds.START_WENT_BACK, rows, witness, text)
