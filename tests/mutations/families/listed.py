"""What leaders answered of where their partitions begin, end, are stable, and what stands there at a time."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from checkers.history.operations import OK, Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS, acked, pairs
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "listed"
RUN = ("listed-txn",)
_MS = 1_000_000


class Row(NamedTuple):
    """What one answer has of one partition."""

    seen: Operation
    topic: str
    partition: int
    epoch: int
    offset: int
    stamp_ms: int

    @property
    def began_ns(self) -> int:
        """When it was asked."""
        return int(self.seen.value["began_ns"])

    @property
    def who(self) -> tuple[str | None, str, int, int]:
        """The leader, and in which leadership of which partition."""
        return (self.seen.node, self.topic, self.partition, self.epoch)


def _rows(edit: Edit, *what: str) -> list[Row]:
    return [
        Row(seen, topic, *row)
        for seen in edit.original.observed("offsets")
        if seen.value["what"] in what
        for topic, rows in seen.value["topics"].items()
        for row in rows
    ]


def _certain(edit: Edit, *what: str) -> list[Row]:
    """Answers of brokers that led the same partition in the same epoch a second later, too."""
    every = _rows(edit, "latest", "stable", "earliest", "newest", "since")
    last = {row.who[1:]: row.seen.time_ns for row in every}
    newest: dict[tuple[str, int], int] = {}
    for row in every:
        newest[row.topic, row.partition] = max(row.epoch, newest.get((row.topic, row.partition), 0))
    return [
        row
        for row in _rows(edit, *what)
        if row.epoch == newest[row.topic, row.partition] or last[row.who[1:]] > row.seen.time_ns + SECOND_NS
    ]


def _change(edit: Edit, row: Row, change: Callable[[list[Any]], None]) -> None:
    def changed(value: dict[str, Any]) -> None:
        for each in value["topics"][row.topic]:
            if each[0] == row.partition:
                change(each)

    edit.change(row.seen.index, changed)


def _tell(edit: Edit, row: Row, offset: int, stamp_ms: int | None = None) -> None:
    def change(entry: list[Any]) -> None:
        entry[2] = offset
        entry[3] = entry[3] if stamp_ms is None else stamp_ms

    _change(edit, row, change)


def _known(edit: Edit, row: Row) -> int:
    """The highest offset that had been acknowledged of a partition before a question; -1 where none had."""
    mine = (r for r in acked(edit.original) if (r.topic, r.partition) == (row.topic, row.partition))
    return max((r.offset for r in mine if r.time_ns < row.began_ns), default=-1)


@mutation(FAMILY, invalid("listed-end-behind"), RUN, 3)
def an_end_below_what_was_acknowledged(edit: Edit) -> None:
    """A leader lists an end of a partition right below the last record that had been acknowledged."""
    row = edit.chosen(row for row in _certain(edit, "latest") if _known(edit, row) > 0)
    _tell(edit, row, _known(edit, row))


@mutation(FAMILY, invalid("listed-end-behind"), RUN, 3)
def an_end_that_goes_back(edit: Edit) -> None:
    """A leader lists an end of a partition below the one that was listed two seconds before."""
    places = []
    rows = _certain(edit, "latest")
    for row in rows:
        same = [r for r in rows if (r.topic, r.partition) == (row.topic, row.partition)]
        before = [r for r in same if r.seen.time_ns < row.began_ns - 2 * SECOND_NS and r.offset > 1]
        places += [(row, before[-1].offset - 1)] if before else []
    _tell(edit, *edit.chosen(places))


@mutation(FAMILY, invalid("listed-end-behind"), RUN, 3)
def a_stable_offset_that_goes_back(edit: Edit) -> None:
    """A leader lists a last stable offset below the one that was listed two seconds before."""
    places = []
    rows = _certain(edit, "stable")
    for row in rows:
        same = [r for r in rows if (r.topic, r.partition) == (row.topic, row.partition)]
        before = [r for r in same if r.seen.time_ns < row.began_ns - 2 * SECOND_NS and r.offset > 1]
        places += [(row, before[-1].offset - 1)] if before else []
    _tell(edit, *edit.chosen(places))


@mutation(FAMILY, invalid("listed-end-ahead"), RUN, 3)
def an_end_beyond_what_was_sent(edit: Edit) -> None:
    """A leader lists an end of a partition after a record that is sent seconds later."""
    begun = {o.index: i.time_ns for i, o in pairs(edit.original, "send")}
    places = []
    for row in _rows(edit, "latest", "stable"):
        later = [
            r.offset
            for r in acked(edit.original)
            if (r.topic, r.partition) == (row.topic, row.partition)
            and begun[r.index] > row.seen.time_ns + 3 * SECOND_NS
        ]
        places += [(row, min(later) + 1)] if later else []
    _tell(edit, *edit.chosen(places))


def _open(edit: Edit) -> Iterator[tuple[Row, int]]:
    """Answers given while a transaction was open that nobody ended in time, and where that begins there."""
    rows = _rows(edit, "stable")
    for _, ended in pairs(edit.original, "txn"):
        if not isinstance(ended.value, dict) or "sent_ns" not in ended.value:
            continue
        span = (ended.value["sent_ns"], ended.value["sent_ns"] + SECOND_NS)
        offsets = {(mop[1], mop[2]): mop[4] for mop in ended.value["mops"] if mop[4] is not None}
        for row in rows:
            within = span[0] < row.began_ns and row.seen.time_ns < span[1]
            offset = offsets.get((row.topic, row.partition))
            if within and offset is not None and not _aborted(edit, row, ended):
                yield row, offset


def _aborted(edit: Edit, row: Row, ended: Operation) -> bool:
    """Whether somebody asked to abort, or end, a transaction by the time of an answer."""
    asked = [o for o in edit.original.of("abort-transaction") if o.type is not OK]
    ending_ns = ended.value["ending_ns"]
    return (ending_ns is not None and ending_ns < row.seen.time_ns) or any(
        ended.value["sent_ns"] < o.time_ns < row.seen.time_ns for o in asked
    )


@mutation(FAMILY, invalid("stable-offset-ahead"), RUN, 2)
def a_stable_offset_behind_an_open_transaction(edit: Edit) -> None:
    """A leader lists a last stable offset right after the first record of an open transaction."""
    row, offset = edit.chosen(_open(edit))
    _tell(edit, row, offset + 1)


@mutation(FAMILY, invalid("listed-start-ahead"), RUN, 3)
def a_log_that_begins_too_late(edit: Edit) -> None:
    """A leader lists a start of a log that is above the offsets of all deletions."""
    below = {(o.key, number): 0 for o in edit.original.of("delete-records") for number, _ in o.value}
    for o in edit.original.of("delete-records"):
        for number, offset in o.value:
            below[o.key, number] = max(below[o.key, number], offset)
    row = edit.chosen(_rows(edit, "earliest"))
    _tell(edit, row, below.get((row.topic, row.partition), 0) + 1)


@mutation(FAMILY, invalid("listed-time-wrong"), RUN, 2)
def a_record_that_is_too_old(edit: Edit) -> None:
    """A leader answers a search by time with a record whose own timestamp is smaller."""
    row = edit.chosen(row for row in _rows(edit, "since") if row.offset > 0)
    _tell(edit, row, row.offset, row.seen.value["since_ms"] - 1)


@mutation(FAMILY, invalid("listed-time-wrong", "listed-end-ahead"), RUN, 2)
def records_that_are_passed_over(edit: Edit) -> None:
    """A leader answers a search by a time of seconds ago with no record, although there are some.

    It has led since before that time. A leader that has just truncated its log may answer so
    (docs/findings.md).
    """
    every = _rows(edit, "latest", "stable", "earliest", "newest", "since")
    led_ns: dict[tuple[str | None, str, int, int], int] = {}
    for row in every:
        led_ns.setdefault(row.who, row.seen.time_ns)
    rows = [row for row in _certain(edit, "since") if row.offset >= 0]
    old = [row for row in rows if row.seen.value["wall_ms"] - row.seen.value["since_ms"] > 5_000]
    begun = {o.index: i.time_ns for i, o in pairs(edit.original, "send")}
    due = []
    for row in old:
        since_ns = row.began_ns - (row.seen.value["wall_ms"] - row.seen.value["since_ms"]) * _MS
        mine = [r for r in acked(edit.original) if (r.topic, r.partition) == (row.topic, row.partition)]
        if led_ns[row.who] < since_ns and any(
            begun[r.index] > since_ns + SECOND_NS // 2 and r.time_ns < row.began_ns for r in mine
        ):
            due.append(row)
    _tell(edit, edit.chosen(due), -1, -1)


@mutation(FAMILY, invalid("listed-time-wrong"), RUN, 2)
def an_old_record_is_the_newest(edit: Edit) -> None:
    """A leader answers that the record with the largest timestamp is one of ten seconds ago."""
    places = []
    for row in _certain(edit, "newest"):
        mine = [r for r in acked(edit.original) if (r.topic, r.partition) == (row.topic, row.partition)]
        old = [r for r in mine if r.time_ns < row.began_ns - 10 * SECOND_NS]
        new = [r for r in mine if row.began_ns - 5 * SECOND_NS < r.time_ns < row.began_ns]
        places += [(row, old[-1])] if old and new and row.offset > old[-1].offset else []
    row, record = edit.chosen(places)
    stamp_ms = row.seen.value["wall_ms"] - (row.began_ns - record.time_ns) // _MS
    _tell(edit, row, record.offset, stamp_ms)


@mutation(FAMILY, VALID, RUN, 3)
def a_partition_was_refused(edit: Edit) -> None:
    """A leader refused to list one of its partitions."""
    row = edit.chosen(_rows(edit, "latest", "stable", "earliest", "newest", "since"))
    rows = [each for each in row.seen.value["topics"][row.topic] if each[0] != row.partition]
    topics = row.seen.value["topics"] | {row.topic: rows}
    edit.change(row.seen.index, lambda value: value | {"topics": topics})


@mutation(FAMILY, VALID, RUN, 2)
def a_question_was_not_answered(edit: Edit) -> None:
    """A broker did not answer one request."""
    edit.drop(edit.chosen(edit.original.observed("offsets")).index)


@mutation(FAMILY, VALID, RUN, 1)
def a_former_leader_tells_what_was(edit: Edit) -> None:
    """A broker that was deposed seconds ago lists the same end as before."""
    every, places = _rows(edit, "latest"), []
    for row in every:
        same = [r for r in every if (r.topic, r.partition) == (row.topic, row.partition)]
        later = [r for r in same if r.epoch > row.epoch]
        places += [(row, later[0])] if later and _known(edit, later[0]) < row.offset else []
    row, following = edit.chosen(places)
    at_ns = following.seen.time_ns + SECOND_NS
    value = row.seen.value | {
        "began_ns": at_ns - _MS,
        "wall_ms": row.seen.value["wall_ms"] + (at_ns - _MS - row.began_ns) // _MS,
        "topics": {row.topic: [[row.partition, row.epoch, row.offset, row.stamp_ms]]},
    }
    edit.add(row.seen, at_ns, value=value)


@mutation(FAMILY, VALID, RUN, 2)
def a_stable_offset_that_lags(edit: Edit) -> None:
    """A leader lists the same last stable offset as before: some transaction is open."""
    places = []
    rows = _certain(edit, "stable")
    for row in rows:
        before = [r for r in rows if r.who == row.who and r.seen.time_ns < row.began_ns]
        places += [(row, before[-1].offset)] if before else []
    _tell(edit, *edit.chosen(places))


@mutation(FAMILY, VALID, RUN, 2)
def nothing_is_the_newest(edit: Edit) -> None:
    """A leader lists no record with the largest timestamp: it is not committed yet."""
    _tell(edit, edit.chosen(_rows(edit, "newest")), -1, -1)
