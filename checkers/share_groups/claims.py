"""The values at each offset, by share polls, by other readers and by acknowledgements.

Only offsets that a share poll returned count.  A returned value is left out if a worker whose journal is
missing may have sent it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Columns, Integers, PartitionName, SendOutcome
from checkers.evidence.loading import columns_of
from checkers.history.journals import is_unheard
from checkers.history.operations import History
from checkers.share_groups.earlier_rows import codes_of
from checkers.share_groups.loading import ShareGroups, times_of

ACKNOWLEDGEMENT, READ, SHARE_POLL = range(3)
"""The kinds of operations that report a value at an offset."""


class Reports(NamedTuple):
    """Reports of values at offsets, one row for each; arrays of shape (n,).

    Attributes:
        partition: code of the partition.
        offset: the record's offset.
        value: code of the value.
        known_ns: when the operation that reports it ended.
        kept: whether a reader received the record, or every in-sync replica had it.
        began: invocation of the operation, or its completion if the columns have no invocation.
        ended: completion of the operation.
        by: `ACKNOWLEDGEMENT`, `READ` or `SHARE_POLL`.
        delivery: row of `Deliveries`, `NONE` for other reports.
    """

    partition: Integers
    offset: Integers
    value: Integers
    known_ns: Integers
    kept: Booleans
    began: Integers
    ended: Integers
    by: Integers
    delivery: Integers


class Claims(NamedTuple):
    """The distinct values at each offset that a share poll returned, by partition and offset; shape (n,).

    Attributes:
        slot: code of partition and offset.
        partition: code of the partition.
        offset: the offset.
        value: code of the value.
        report: row of `Reports`: that of the first delivery if there is one, otherwise of the first report.
        delivery: row of `Deliveries`: the first delivery, `NONE` if there is none.
        known_ns: when the record was first reported.
        kept: whether a reader received the record, or every in-sync replica had it.
    """

    slot: Integers
    partition: Integers
    offset: Integers
    value: Integers
    report: Integers
    delivery: Integers
    known_ns: Integers
    kept: Booleans


class Sent(NamedTuple):
    """The sends of each claim's value to its partition; arrays of shape (claims,).

    Attributes:
        sends: number of sends.
        possible: number of sends that did not definitely fail.
        since_ns: when the first send began; `NEVER` if there is none.
        until_ns: when the last send was acknowledged, after which the value is not written again; `NEVER` if
            nothing shows this.
    """

    sends: Integers
    possible: Integers
    since_ns: Integers
    until_ns: Integers


@dataclass(frozen=True, eq=False)
class Comparison:
    """One history, with the reports about the offsets that share polls returned.

    Attributes:
        history: as `checkers.history.reading.read_history` returns it.
        groups: the records that members of share groups received.
    """

    history: History
    groups: ShareGroups

    @cached_property
    def columns(self) -> Columns:
        """The columns of ordinary sends and reads."""
        return columns_of(self.history)

    @cached_property
    def partitions(self) -> tuple[PartitionName, ...]:
        """Names of partitions by code: those of the columns, then those that only share polls returned."""
        places = (PartitionName(place.topic, place.partition) for place in self.groups.places)
        return tuple(dict.fromkeys((*self.columns.partitions, *places)))

    @cached_property
    def reports(self) -> Reports:
        """All reports about any offset."""
        parts = (self._acknowledged(), self._read(), self._delivered())
        return Reports(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @cached_property
    def slots(self) -> Integers:
        """Shape (reports,), code of partition and offset."""
        return codes_of(self.reports.partition, self.reports.offset)

    @cached_property
    def claims(self) -> Claims:
        """The claims about the offsets that share polls returned."""
        reports, slots = self.reports, self.slots
        rows = np.flatnonzero(np.isin(slots, slots[reports.delivery != NONE]))
        others = reports.delivery[rows] == NONE
        rows = rows[np.lexsort((reports.known_ns[rows], others, reports.value[rows], slots[rows]))]
        code = codes_of(slots[rows], reports.value[rows])
        shown = np.flatnonzero(np.diff(code, prepend=NONE))
        report = rows[shown]
        known_ns = np.full(len(shown), NEVER)
        np.minimum.at(known_ns, code, reports.known_ns[rows])
        kept: Booleans = np.bincount(code[reports.kept[rows]], minlength=len(shown)) > 0
        return Claims(
            slot=slots[report],
            partition=reports.partition[report],
            offset=reports.offset[report],
            value=reports.value[report],
            report=report,
            delivery=reports.delivery[report],
            known_ns=known_ns,
            kept=kept,
        )

    @cached_property
    def sent(self) -> Sent:
        """The sends of the claimed values."""
        sends, claims = self.columns.sends, self.claims
        both = ((sends.partition, claims.partition), (sends.value, claims.value))
        code = codes_of(*(np.concatenate(columns) for columns in both))
        of_send, of_claim, size = code[: len(sends.value)], code[len(sends.value) :], len(code)
        strict = self.columns.idempotent | self.columns.is_strict(np.arange(len(sends.value)))
        answered = strict & (sends.outcome == SendOutcome.OK)
        since_ns, until_ns = np.full(size, NEVER), np.full(size, NONE)
        np.minimum.at(since_ns, of_send, sends.invoked_ns)
        np.maximum.at(until_ns, of_send, np.where(answered, sends.completed_ns, NEVER))
        until_ns[until_ns == NONE] = NEVER
        count = np.bincount(of_send, minlength=size)
        possible = np.bincount(of_send[sends.outcome != SendOutcome.FAIL], minlength=size)
        return Sent(count[of_claim], possible[of_claim], since_ns[of_claim], until_ns[of_claim])

    def value(self, claim: int) -> object:
        """The value of a claim."""
        return self.named(int(self.claims.value[claim]))

    def named(self, code: int) -> object:
        """The value that a code stands for."""
        return code if code >= 0 else self.groups.others[-1 - code]

    def finals(self, partition: int) -> Iterator[int]:
        """Rows of final reads of a partition that return all records below the high watermark."""
        finals, calls = self.columns.final_reads, self.columns.calls
        for row in np.flatnonzero(finals.partition == partition).tolist():
            if not self.columns.readers[calls.reader[finals.call[row]]].committed:
                yield row

    def _acknowledged(self) -> Reports:
        columns, sends = self.columns, self.columns.sends
        # Without acks, only the write probe receives offsets, and it waits for all replicas.
        rows = np.flatnonzero(sends.offset != NONE)
        durable = np.full(len(rows), columns.acks == "0")
        return Reports(
            partition=sends.partition[rows],
            offset=sends.offset[rows],
            value=sends.value[rows],
            known_ns=sends.completed_ns[rows],
            kept=columns.is_strict(rows) | durable,
            began=sends.invoke_op[rows],
            ended=sends.complete_op[rows],
            by=np.full(len(rows), ACKNOWLEDGEMENT),
            delivery=np.full(len(rows), NONE),
        )

    def _read(self) -> Reports:
        reads, calls = self.columns.reads, self.columns.calls
        ended = calls.op[reads.call]
        return Reports(
            partition=reads.partition,
            offset=reads.offset,
            value=reads.value,
            known_ns=calls.completed_ns[reads.call],
            kept=np.ones(len(ended), np.bool_),
            began=ended,
            ended=ended,
            by=np.full(len(ended), READ),
            delivery=np.full(len(ended), NONE),
        )

    def _delivered(self) -> Reports:
        all_, rows = self.groups.deliveries, self._heard()
        codes = {name: code for code, name in enumerate(self.partitions)}
        places = (codes[PartitionName(place.topic, place.partition)] for place in self.groups.places)
        times_ns = times_of(self.history)
        return Reports(
            partition=np.fromiter(places, np.int64)[all_.place[rows]],
            offset=all_.offset[rows],
            value=all_.value[rows],
            known_ns=times_ns[all_.answered[rows]],
            kept=np.ones(len(rows), np.bool_),
            began=all_.asked[rows],
            ended=all_.answered[rows],
            by=np.full(len(rows), SHARE_POLL),
            delivery=rows,
        )

    def _heard(self) -> Integers:
        """Deliveries whose values no missing journal can contain."""
        value = self.groups.deliveries.value
        kept = np.ones(len(value), np.bool_)
        if self.history.lacking:
            odd = np.flatnonzero((value >= 0) & ~np.isin(value, self.columns.sends.value))
            kept[odd[is_unheard(self.history)(value[odd])]] = False
        return np.flatnonzero(kept)
