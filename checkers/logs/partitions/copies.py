"""Acknowledged or read records that a member of the ISR lacked, by the end of its log on disk.

Only periods in which one broker leads all the time are judged.  Records that were acknowledged with acks=all
in that period, or returned to a reader, are in the leader's log, which is not truncated during the period.
So every member of the ISR has them in its log, and a log end that is read later is above them.  A broker that
joins the ISR also has the records that were acknowledged before, because it has caught up with the high
watermark.

A broker appends to its log before it answers or sends the next fetch, so its file always contains what it
reported.  After a disk fault, nothing is concluded about a broker until it has rejoined the ISR.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from checkers.columns.tables import NONE, Columns, Integers, PartitionName
from checkers.evidence.partition_changes import NOBODY, PartitionState
from checkers.history.observed import ENDS, EndsSeen
from checkers.history.operations import History, once
from checkers.history.units import NS_PER_S
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.logs.partitions.acknowledged import acknowledged
from checkers.logs.partitions.anomalies import ACKED_WITHOUT_MEMBER, READ_WITHOUT_MEMBER
from checkers.logs.partitions.zones import certain_states, memberships
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Ends(NamedTuple):
    """The ends of one replica's log, one row for each reading, in order.

    Attributes:
        op: index of the observation.
        began_ns: when the reading began, nanoseconds.
        time_ns: when the reading ended.
        end: the offset after the last record.
    """

    op: Integers
    began_ns: Integers
    time_ns: Integers
    end: Integers


class RequiredRecords(NamedTuple):
    """Records that the ISR must have, one per row, in the order in which they were acknowledged or returned.

    Attributes:
        kind: the anomaly if a member lacks a record.
        text: description of a row's record, as the start of a sentence.
        verb: how it was reported, such as acknowledged.
        sent_ns: when it was sent, nanoseconds.
        reported_ns: when it was acknowledged, or returned.
        offset: the record's offset.
        op: index of the operation that reported it.
        epoch: the leader epoch in which it was appended; `NONE` if not reported.
    """

    kind: AnomalyKind
    text: Callable[[int], str]
    verb: str
    sent_ns: Integers
    reported_ns: Integers
    offset: Integers
    op: Integers
    epoch: Integers


class Tables(Protocol):
    """Sources of records that members of the ISR must have."""

    def of(self, partition: PartitionName) -> Sequence[RequiredRecords]:
        """Return the records of one partition."""
        ...


class Violations(NamedTuple):
    """Violations of the rule in one period: the number of readings, and a finding for some of them."""

    kind: AnomalyKind
    number: int
    anomalies: list[Anomaly]


class _Stretch(NamedTuple):
    """A period in which one broker led, and a broker (the same or another) was in the ISR all the time.

    `epochs` are the first and the last leader epoch of that leadership.
    """

    partition: PartitionName
    leader: int
    led_from_ns: int
    member: str
    from_ns: int
    to_ns: int
    epochs: tuple[int, int]
    why: tuple[str, ...]


@once
def ends_of(history: History) -> Mapping[tuple[PartitionName, str], Ends]:
    """The log ends that were read, by partition and node.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    rows: dict[tuple[PartitionName, str], list[tuple[int, int, int, int]]] = defaultdict(list)
    for operation in history.observed(ENDS):
        seen = msgspec.convert(operation.value, EndsSeen)
        look = (operation.index, seen.began_ns, operation.time_ns)
        for node, topics in seen.nodes.items():
            for topic, ends in topics.items():
                for partition, end in ends:
                    rows[PartitionName(topic, partition), node].append((*look, end))
    return {place: Ends(*np.array(readings, dtype=np.int64).T) for place, readings in rows.items()}


def lacking_copies(facts: Facts, tables: Iterable[Tables], end_ns: int) -> Iterator[Violations]:
    """Readings that show a member of the ISR without a record that was acknowledged or returned before.

    Args:
        facts: the history.
        tables: the records that members must have.
        end_ns: the time until which the metadata log is complete, nanoseconds.
    """
    looks = ends_of(facts.history)
    looked_at = {partition for partition, _ in looks}
    all_states = facts.changes.states.items()
    judged = [(p, s) for p, s in all_states if p in looked_at and not _made_again(s)]
    for partition, states in judged:
        had = [one for table in tables for one in table.of(partition)]
        for stretch in _stretches(facts, partition, states, end_ns):
            ends = looks.get((partition, stretch.member))
            if ends is not None:
                yield from _lacking(stretch, ends, had)


class ReportedRecords:
    """Records that were acknowledged, and records that were returned.

    Args:
        columns: the columns of the history.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._codes = {partition: code for code, partition in enumerate(columns.partitions)}
        self._acknowledged = acknowledged(columns) & (columns.sends.offset != NONE)
        self._by_value = np.argsort(columns.sends.value, kind="stable")

    def of(self, partition: PartitionName) -> tuple[RequiredRecords, RequiredRecords]:
        """Return the records of one partition."""
        sends, reads, calls = self._columns.sends, self._columns.reads, self._columns.calls
        code = self._codes.get(partition, NONE)
        sent = np.flatnonzero(self._acknowledged & (sends.partition == code))
        sent = sent[np.argsort(sends.completed_ns[sent], kind="stable")]
        read = np.flatnonzero(reads.partition == code)
        read = read[np.argsort(calls.completed_ns[reads.call[read]], kind="stable")]
        call, sent_ns = reads.call[read], self._sent_ns(reads.value[read])
        return (
            RequiredRecords(
                ACKED_WITHOUT_MEMBER,
                lambda row: self._named(partition, sends.value[sent[row]]),
                "acknowledged",
                sends.invoked_ns[sent],
                sends.completed_ns[sent],
                sends.offset[sent],
                sends.complete_op[sent],
                np.full(len(sent), NONE),
            ),
            RequiredRecords(
                READ_WITHOUT_MEMBER,
                lambda row: self._named(partition, reads.value[read[row]]),
                "returned",
                sent_ns,
                calls.completed_ns[call],
                reads.offset[read],
                calls.op[call],
                np.full(len(read), NONE),
            ),
        )

    def _named(self, partition: PartitionName, value: int) -> str:
        return f"Record {self._columns.value_named(value)} of {partition}"

    def _sent_ns(self, values: Integers) -> Integers:
        """When each of these values was sent; -1 for values never sent."""
        if not len(self._by_value):
            return np.full(len(values), NONE, dtype=np.int64)
        sends = self._columns.sends
        found = np.searchsorted(sends.value, values, sorter=self._by_value)
        rows = self._by_value[np.minimum(found, len(self._by_value) - 1)]
        return np.where(sends.value[rows] == values, sends.invoked_ns[rows], NONE)


def _made_again(states: Sequence[PartitionState]) -> bool:
    """Whether a topic of that name was deleted and created again, so that offsets start again at 0."""
    return any(after.leader_epoch < before.leader_epoch for before, after in pairwise(states))


def _stretches(
    facts: Facts, partition: PartitionName, states: Sequence[PartitionState], end_ns: int
) -> Iterator[_Stretch]:
    certain = list(certain_states(facts, states, end_ns))
    names = {number: name for name, number in facts.ids.items()}
    begin = 0
    for place in range(1, len(certain) + 1):
        leader = certain[begin][0].leader
        if place < len(certain) and certain[place][0].leader == leader:
            continue
        led = certain[begin:place]
        begin = place
        whole_ns = _unstruck(facts, partition, names.get(leader, ""), led[0][1].from_ns, led[-1][1].to_ns)
        if leader == NOBODY or leader not in names or whole_ns <= led[0][1].from_ns:
            continue
        for member in sorted({one for state, _ in led for one in state.isr} & {*names}):
            for first, span in memberships(led, member):
                to_ns = _unstruck(facts, partition, names[member], span.from_ns, min(span.to_ns, whole_ns))
                why = (str(led[0][0]), str(first))
                yield _Stretch(
                    partition,
                    leader,
                    led[0][1].from_ns,
                    names[member],
                    span.from_ns,
                    to_ns,
                    (led[0][0].leader_epoch, led[-1][0].leader_epoch),
                    tuple(dict.fromkeys(why)),
                )


def _unstruck(facts: Facts, partition: PartitionName, node: str, from_ns: int, to_ns: int) -> int:
    """The time, between two times, until which no fault had touched a node's data of a partition."""
    return min(
        (
            window.invoked_ns
            for window in facts.windows
            if window.concerns(node)
            and window.overlaps(from_ns, to_ns)
            and hits(facts.history, window, partition.topic, partition.partition)
        ),
        default=to_ns,
    )


def _lacking(stretch: _Stretch, ends: Ends, had: Sequence[RequiredRecords]) -> Iterator[Violations]:
    within = np.flatnonzero((ends.began_ns >= stretch.from_ns) & (ends.time_ns <= stretch.to_ns))
    for one in had:
        in_time = (one.sent_ns >= stretch.led_from_ns) & (one.reported_ns <= stretch.to_ns)
        first, last = stretch.epochs
        of_it = np.flatnonzero(in_time & ((one.epoch == NONE) | ((one.epoch >= first) & (one.epoch <= last))))
        if not len(of_it) or not len(within):
            continue
        # The highest offset that was acknowledged or returned before each reading began.
        highest = np.maximum.accumulate(one.offset[of_it])
        before = np.searchsorted(one.reported_ns[of_it], ends.began_ns[within], side="left") - 1
        behind = within[(before >= 0) & (ends.end[within] <= highest[np.maximum(before, 0)])]
        if len(behind):
            finding = _Finding(stretch, ends, one, of_it)
            examples = [finding.of(look) for look in behind[:EXAMPLES_PER_ANOMALY].tolist()]
            yield Violations(one.kind, len(behind), examples)


class _Finding(NamedTuple):
    """The contents of a finding: a period, its readings, and the records that count in it."""

    stretch: _Stretch
    ends: Ends
    had: RequiredRecords
    rows: Integers

    def of(self, look: int) -> Anomaly:
        """The first record that was reported before a reading and is missing in the log that was read."""
        stretch, had, rows = self.stretch, self.had, self.rows
        end, began_ns = int(self.ends.end[look]), int(self.ends.began_ns[look])
        first = int(rows[(had.reported_ns[rows] < began_ns) & (had.offset[rows] >= end)][0])
        until = f"to {_s(stretch.to_ns)} at least."
        where = f"at offset {int(had.offset[first])}, was {had.verb} at {_s(int(had.reported_ns[first]))}"
        return had.kind.found(
            f"{had.text(first)}, {where}; at {_s(began_ns)} the log of {stretch.member}, which was "
            f"in sync, ended at {end}.",
            subject=f"{stretch.partition}@{int(had.offset[first])}",
            time_ns=began_ns,
            witness=(int(had.op[first]), int(self.ends.op[look])),
            explanation=(
                f"Broker {stretch.leader} led from {_s(stretch.led_from_ns)} {until}",
                f"{stretch.member} was in the ISR from {_s(stretch.from_ns)} {until}",
                *stretch.why,
            ),
        )


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
