"""Received and acknowledged records of share groups as columns, one row for each record.

The time at which a broker acquired a record for a member is unknown, but it is between two operations:

* The acquisition has happened when the poll that returns the record ends.
* If the consumer does not prefetch (``share.acquire.mode=record_limit``), its fetches are sent by polls, and
  no fetch is outstanding after a poll that returned records.  So the acquisition came after the beginning of
  the first poll after that one.  If the consumer prefetches, the acquisition came after the beginning of its
  first poll.
* If a poll without records came before the one that returned some, the answer may be that of the earlier
  poll's fetch, while the later poll sent another one (``ShareConsumeRequestManager.fetch``).  Then the next
  acquisition may have come after the beginning of the poll that returned records, and is not exact.
* If the member renewed locks (KIP-1222), the next poll returns the renewed records, and no others.  It sends
  a fetch only if answers to renewals are missing (``ShareConsumerImpl.collect``).  Then the member may
  acquire records while it holds others, and these are not exact any more.  Otherwise it counts for nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from checkers.columns.rows import Codes, ValueCodes, transposed
from checkers.columns.tables import NEVER, NONE, Booleans, GroupPartition, Integers
from checkers.evidence.loading import columns_of
from checkers.history.operations import FAIL, INVOKE, OK, History, Operation, once
from checkers.history.shares import is_not_held
from checkers.share_groups.chunks import Chunks
from checkers.share_groups.earlier_rows import codes_of, highest_before
from checkers.share_groups.lives import Change, Lives

ACCEPT, RELEASE, REJECT, RENEW = range(4)
"""Codes of the types of acknowledgements."""
_TYPES = {"accept": ACCEPT, "release": RELEASE, "reject": REJECT, "renew": RENEW}
SETS, DELETES = "alter-share-offsets", "delete-share-offsets"
"""Functions of requests that change start offsets."""
_EXACT = 2
"""The column of deliveries that says whether they are exact."""
_ENDED = {"share-poll", "acknowledge", "share-offsets", SETS, DELETES}


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Records that polls returned, in the order of completion; arrays (n,), positions in the history.

    Attributes:
        place: code of the share partition.
        life: code of its life in which the record was delivered (`lives`).
        settled: whether certainly no change of the start offset was carried out in that life.
        record: code of life, offset and value together.
        offset: the record's offset.
        value: code of its value, as in `Columns` and `ShareGroups.others`.
        count: its delivery count.
        process: code of the process that polled.
        exact: whether the consumer does not prefetch, and no fetch of an earlier poll may have been answered.
        since: position after which the broker acquired the record.
        asked: invocation of the poll.
        answered: completion of the poll; the broker acquired the record before this position.
    """

    place: Integers
    life: Integers
    settled: Booleans
    record: Integers
    offset: Integers
    value: Integers
    count: Integers
    process: Integers
    exact: Booleans
    since: Integers
    asked: Integers
    answered: Integers


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """Acknowledgements that a broker confirmed or refused, in the order of completion; arrays of shape (n,).

    Attributes:
        delivery: row of the delivery that is acknowledged.
        kind: `ACCEPT`, `RELEASE`, `REJECT` or `RENEW`.
        began: position of the invocation in the history.
        ended: position of the completion.
    """

    delivery: Integers
    kind: Integers
    began: Integers
    ended: Integers

    def only(self, kept: Booleans) -> "Acknowledgements":
        """Some of them."""
        return Acknowledgements(self.delivery[kept], self.kind[kept], self.began[kept], self.ended[kept])

    def with_(self, others: "Acknowledgements") -> "Acknowledgements":
        """These, and then others."""
        return Acknowledgements(
            np.concatenate((self.delivery, others.delivery)),
            np.concatenate((self.kind, others.kind)),
            np.concatenate((self.began, others.began)),
            np.concatenate((self.ended, others.ended)),
        )


class StartAnswers(NamedTuple):
    """Reported start offsets of share partitions; arrays of shape (n,), positions in the history.

    The life is that in which the answer was given.  Answers during a change of the start offset are left out.
    """

    place: Integers
    life: Integers
    start: Integers
    asked: Integers
    answered: Integers


@dataclass(frozen=True, slots=True)
class ShareGroups:
    """All data about share groups in a history.

    Attributes:
        places: share partitions by code.
        lives: their lives.
        others: values that are not integers from 0, those of the columns first; the code of ``others[i]`` is
            ``-1 - i``.
        deliveries: records that polls returned.
        acknowledgements: the acknowledgements that succeeded, without renewals.
        renewals: the renewals of locks that succeeded: their member still holds the record.
        refused: acknowledgements that a broker refused because their member did not hold the records.
        starts: start offsets that were reported.
        topics: topics that each group polled.
        failed: groups with polls that failed, or whose outcome is unknown.
        unconfirmed: acknowledgements that failed, or whose outcome is unknown.
    """

    places: tuple[GroupPartition, ...]
    lives: Lives
    others: tuple[object, ...]
    deliveries: Deliveries
    acknowledgements: Acknowledgements
    renewals: Acknowledgements
    refused: Acknowledgements
    starts: StartAnswers
    topics: dict[str, set[str]]
    failed: frozenset[str]
    unconfirmed: int


def share_groups_of(history: History) -> ShareGroups:
    """Load a history.

    Args:
        history: as `checkers.history.reading.read_history` returns it: its shapes are not checked again here.
    """
    loader = _Loader()
    takers = {
        "share-poll": loader.poll,
        "acknowledge": loader.acknowledge,
        "share-offsets": loader.offsets,
        SETS: loader.change,
        DELETES: loader.change,
    }
    found = sorted((o for f in _ENDED for o in history.of(f)), key=lambda operation: operation.index)
    for operation in found:
        takers[operation.f](operation)
    return loader.groups(columns_of(history).others if loader.delivers else ())


class _Loader:
    """Collects the operations of a history in their order."""

    def __init__(self) -> None:
        self._places: Codes[GroupPartition] = Codes()
        self._processes: Codes[int | str] = Codes()
        self._asked: dict[int | str, Operation] = {}
        self._since: dict[tuple[int | str, int], int] = {}
        self._outstanding: set[tuple[int | str, int]] = set()
        self._latest: dict[tuple[int | str, int], list[int]] = {}
        self._delivered, self._acknowledged, self._refused = Chunks(6), Chunks(4), Chunks(4)
        self._values: list[Any] = []
        self._counts: list[int] = []
        self._types: list[str] = []
        self._refused_types: list[str] = []
        self._starts: list[tuple[int, int, int, int]] = []
        self._changes: list[tuple[Operation, Operation | None]] = []
        self._received: Counter[str] = Counter()
        self._turns: dict[str, tuple[int, int, int]] = {}
        self._turn_of: dict[int, int] = {}
        self._topics: dict[str, set[str]] = {}
        self._failed: set[str] = set()
        self._unconfirmed = 0

    def poll(self, operation: Operation) -> None:
        """Add a poll's invocation or completion."""
        if operation.type is INVOKE:
            self._asked[operation.process] = operation
            self._since.setdefault((operation.process, operation.value["consumer"]), operation.index)
            return
        asked = self._asked.pop(operation.process)
        group, consumer = asked.value["group"], (operation.process, asked.value["consumer"])
        self._topics.setdefault(group, set()).add(operation.key)
        if operation.type is not OK:
            self._failed.add(group)
            return
        records, alone = operation.value["records"], not asked.value["prefetches"]
        self._received[group] += len(records)
        exact = alone and consumer not in self._outstanding
        process, since = self._processes[operation.process], self._since[consumer]
        if records:
            self._latest[consumer] = []
        for partition, offsets, values, counts in records:
            place = self._places[GroupPartition(group, operation.key, partition)]
            chunk = (place, process, int(exact), since, asked.index, operation.index)
            self._latest[consumer].append(self._delivered.add(chunk, offsets))
            self._values.extend(values)
            self._counts.extend(counts)
        if alone and records:
            self._go_on(consumer, since, asked.index)
        elif alone and operation.value.get("renewed"):
            self._go_on_holding(consumer, since, asked.index)

    def _go_on(self, consumer: tuple[int | str, int], since: int, asked: int) -> None:
        """Store from where on the next records of a consumer that does not prefetch may be acquired."""
        if since == asked:
            del self._since[consumer]
            self._outstanding.discard(consumer)
        else:
            self._since[consumer] = asked
            self._outstanding.add(consumer)

    def _go_on_holding(self, consumer: tuple[int | str, int], since: int, asked: int) -> None:
        """Leave out a poll that returned only renewed records, if it certainly sent no fetch."""
        if since == asked and consumer not in self._outstanding:
            del self._since[consumer]

    def acknowledge(self, operation: Operation) -> None:
        """Add the invocation or the completion of acknowledgements."""
        if operation.type is INVOKE:
            self._asked[operation.process] = operation
            return
        asked = self._asked.pop(operation.process)
        confirmed = operation.type is OK
        errors = dict(operation.value["refused"]) if confirmed else {}
        if any(not is_not_held(error) for error in errors.values()) and _renews(asked):
            self._fetches_on((operation.process, asked.value["consumer"]))
        for partition, offsets, types in asked.value["acknowledgements"]:
            error = errors.get(partition)
            place = self._places[GroupPartition(asked.value["group"], operation.key, partition)]
            chunk = (place, self._processes[operation.process], asked.index, operation.index)
            if not confirmed or error is not None:
                self._unconfirmed += len(offsets)
            if error is not None and is_not_held(error):
                self._refused.add(chunk, offsets)
                self._refused_types.extend(types)
            elif confirmed and error is None:
                self._acknowledged.add(chunk, offsets)
                self._types.extend(types)

    def _fetches_on(self, consumer: tuple[int | str, int]) -> None:
        """Note that a consumer may acquire records while it holds those of its last poll."""
        for number in self._latest.get(consumer, ()):
            self._delivered.change(number, _EXACT, 0)
        self._outstanding.add(consumer)

    def offsets(self, operation: Operation) -> None:
        """Add the invocation or the completion of a request for start offsets."""
        if operation.type is INVOKE:
            self._asked[operation.process] = operation
            return
        asked = self._asked.pop(operation.process)
        if operation.type is not OK:
            return
        topic = operation.value["topic"]
        for partition, start in operation.value["offsets"]:
            place = self._places[GroupPartition(operation.key, topic, partition)]
            offset = NONE if start is None else start
            self._starts.append((place, offset, asked.index, operation.index))

    def change(self, operation: Operation) -> None:
        """Add the invocation or the completion of a change of start offsets."""
        if operation.type is INVOKE:
            self._asked[operation.process] = operation
            self._turn_of[operation.index] = self._turn(operation)
            return
        asked = self._asked.pop(operation.process)
        if operation.type is not FAIL:
            self._changes.append((asked, operation))

    def _turn(self, asked: Operation) -> int:
        """Number of the break of a request, or of the first of several without a delivery in between.

        Without a delivery it is not known whether a member joined, so the group may have the same epoch.
        """
        turn: int = asked.value["turn"]
        received = self._received[asked.key]
        first, last, before = self._turns.get(asked.key, (turn, turn, NONE))
        if turn != last and received != before:
            first = turn
        self._turns[asked.key] = first, turn, received
        return first

    def _lives(self) -> Lives:
        """The lives of all share partitions; a change without a completion may be carried out at any time."""
        open_ = ((asked, None) for asked in self._asked.values() if asked.f in (SETS, DELETES))
        changes: list[list[Change]] = [[] for _ in self._places]
        for asked, done in sorted((*self._changes, *open_), key=lambda each: each[0].index):
            deletes, topic = asked.f == DELETES, asked.value["topic"]
            begin = 0 if deletes else asked.value["offset"]
            accepted, ended = (False, NEVER) if done is None else (done.type is OK, done.index)
            turn = self._turn_of[asked.index]
            one = Change(begin, turn, accepted, deletes, asked.index, ended)
            for place, (group, of, partition) in enumerate(self._places):
                if (group, of) == (asked.key, topic) and (deletes or partition == asked.value["partition"]):
                    changes[place].append(one)
        return Lives(changes)

    @property
    def delivers(self) -> bool:
        """Whether any poll returned a record."""
        return bool(self._values)

    def groups(self, others: Sequence[object]) -> ShareGroups:
        """Return everything that was collected, as columns; `others` are values that have the first codes."""
        codes = ValueCodes()
        codes.of(others)
        value = codes.of(self._values)
        (place, process, exact, since, asked, answered), offset = self._delivered.columns()
        lives = self._lives()
        life, apart = lives.between(place, asked, answered)
        deliveries = Deliveries(
            place=place,
            life=life,
            settled=apart & lives.settled(life),
            record=codes_of(life, offset, value),
            offset=offset,
            value=value,
            count=np.array(self._counts, np.int64),
            process=process,
            exact=exact.astype(np.bool_),
            since=since,
            asked=asked,
            answered=answered,
        )
        confirmed = _matched(self._acknowledged, self._types, deliveries)
        return ShareGroups(
            places=tuple(self._places),
            lives=lives,
            others=tuple(codes.others),
            deliveries=deliveries,
            acknowledgements=confirmed.only(confirmed.kind != RENEW),
            renewals=confirmed.only(confirmed.kind == RENEW),
            refused=_matched(self._refused, self._refused_types, deliveries),
            starts=_in_lives(lives, self._starts),
            topics=self._topics,
            failed=frozenset(self._failed),
            unconfirmed=self._unconfirmed,
        )


def _renews(asked: Operation) -> bool:
    """Whether a request renews locks."""
    return any("renew" in types for _, _, types in asked.value["acknowledgements"])


def _in_lives(lives: Lives, answers: Sequence[tuple[int, int, int, int]]) -> StartAnswers:
    """Start offsets with the lives in which they were reported."""
    place, start, asked, answered = transposed(answers, 4)
    life, apart = lives.between(place, asked, answered)
    return StartAnswers(*(column[apart] for column in (place, life, start, asked, answered)))


@once
def times_of(history: History) -> Integers:
    """The times of all operations, in nanoseconds; shape (n,)."""
    times_ns: Integers = np.fromiter((o.time_ns for o in history.operations), np.int64)
    return times_ns


def _matched(rows: Chunks, types: Sequence[str], deliveries: Deliveries) -> Acknowledgements:
    """Acknowledgements, each with the last earlier delivery of the record to the same process."""
    (place, process, began, ended), offset = rows.columns()
    kind = np.fromiter(map(_TYPES.__getitem__, types), np.int64, len(types))
    both = zip(
        (deliveries.place, deliveries.offset, deliveries.process), (place, offset, process), strict=True
    )
    code = codes_of(*(np.concatenate(columns) for columns in both))
    size, answered = len(deliveries.place), deliveries.answered
    row = highest_before(code[:size], answered, answered, code[size:], began)
    known = row != NONE
    return Acknowledgements(row[known], kind[known], began[known], ended[known])
