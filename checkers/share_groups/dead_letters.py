"""Dead-letter queues of share groups (KIP-1191): which records they have, and what these say.

The leader of a share partition writes a record to the dead-letter queue once it is Archiving: a member
rejected it, or its delivery count has reached the limit.  The write is repeated a few times.  If it fails,
the record is Archived all the same (``SharePartition.initiateDLQAndArchive``), so a missing dead letter
breaks no promise; it is a figure.  There may be several dead letters of one record, because the queue and the
state are not written together (KIP-1191).

A request to reject a record is recorded before it is sent, so a dead letter without one was not asked for.  A
delivery that no member received counts too, so at the limit nothing must be asked for.  The value of a dead
letter is missing if its leader could not read the record any more.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import GroupPartition
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.setup import recorded_setup
from checkers.history.shares import DeadLetters
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.loading import REJECT, ShareGroups
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_PREFIX = "__dlq.errors."
_NUMBERS = ("partition", "offset")
_Finding = tuple[GroupPartition, Anomaly]
_Place = tuple[GroupPartition, int]
"""A share partition, and the offset of a record."""


class _Letter(NamedTuple):
    """A dead letter: the record that it stands for, its delivery count, and its value, if it has these."""

    record: _Place
    deliveries: int | None
    value: int | str | None


class _Known(NamedTuple):
    """What dead letters are compared with.

    Attributes:
        groups: what members of share groups received.
        limit: largest legal delivery count; 0 if unknown.
        rejected: every record that a member asked to reject, whatever the outcome.
        values: the values that members received.
    """

    groups: ShareGroups
    limit: int
    rejected: frozenset[_Place]
    values: Mapping[_Place, frozenset[object]]


@dataclass(slots=True)
class LettersJudged:
    """What was found.

    Attributes:
        found: findings with their share partitions.
        figures: the number of dead letters, and of records whose rejection was confirmed without one; empty
            if no queue was read.
        asked: by group, the partitions of its queue that were to be read.
        read: by group, those that were read.
    """

    found: list[_Finding] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    asked: dict[str, set[int]] = field(default_factory=dict)
    read: dict[str, set[int]] = field(default_factory=dict)

    def unread(self, groups: Iterable[str]) -> list[str]:
        """Those of some groups whose queue was not read as a whole."""
        asked = ((group, self.asked.get(group, set())) for group in groups)
        return [group for group, parts in asked if not parts or parts != self.read.get(group, set())]


def judge_dead_letters(history: History, groups: ShareGroups) -> LettersJudged:
    """Judge the dead-letter queues that were read.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.
    """
    judged, there = LettersJudged(), set[_Place]()
    if not history.of("dead-letters"):
        return judged
    limit = recorded_setup(history).workload.delivery_limit
    known = _Known(groups, limit, _asked_to_reject(history), _values(groups))
    number = 0
    for operation in history.of("dead-letters"):
        group, partition = operation.value["group"], operation.value["partition"]
        if operation.type is INVOKE:
            judged.asked.setdefault(group, set()).add(partition)
        elif operation.type is OK:
            judged.read.setdefault(group, set()).add(partition)
            read = msgspec.convert(operation.value, DeadLetters)
            letters = [(at, _parsed(headers, value)) for at, headers, value in read.records]
            number += len(letters)
            there |= {letter.record for _, letter in letters if isinstance(letter, _Letter)}
            judged.found += (
                found for at, letter in letters for found in _judged(operation, at, letter, known)
            )
    whole = set(judged.asked).difference(judged.unread(judged.asked))
    missing = _confirmed(groups, whole) - there
    judged.figures = {"dead_letters": number, "dead_letters_missing": len(missing)}
    return judged


def _judged(operation: Operation, at: int, letter: _Letter | str, known: _Known) -> Iterator[_Finding]:
    """Judge one dead letter, or say what is wrong with its headers."""
    if isinstance(letter, str):
        name = GroupPartition(operation.value["group"], str(operation.key), operation.value["partition"])
        yield name, _wrong(operation, at, name, letter)
        return
    (name, offset), count, limit = letter.record, letter.deliveries, known.limit
    problem = None
    if name.group != operation.value["group"]:
        problem = f"names the group {name.group}, in the queue of {operation.value['group']}"
    elif name.topic not in known.groups.topics.get(name.group, set()):
        problem = f"names the topic {name.topic}, which no member polled"
    elif count is not None and limit and not 1 <= count <= limit:
        problem = f"has the delivery count {count}; the limit is {limit}"
    elif letter.value is not None and letter.value not in known.values.get(letter.record, {letter.value}):
        problem = f"has the value {letter.value}, and members received another one at {name}@{offset}"
    if problem is not None:
        yield name, _wrong(operation, at, name, problem)
    elif count is not None and count < limit and letter.record not in known.rejected:
        text = f"has the delivery count {count}, the limit is {limit}, and no member asked to reject it"
        yield name, _finding(kinds.DEAD_LETTER_UNASKED, operation, f"{name}@{offset}", at, text)


def _wrong(operation: Operation, at: int, name: GroupPartition, problem: str) -> Anomaly:
    return _finding(kinds.DEAD_LETTER_WRONG, operation, str(name), at, problem)


def _finding(kind: AnomalyKind, operation: Operation, subject: str, at: int, problem: str) -> Anomaly:
    where = f"{operation.key}/{operation.value['partition']}@{at}"
    return kind.found(
        f"{subject}: the dead letter {where} {problem}",
        subject=subject,
        time_ns=operation.time_ns,
        witness=(operation.index,),
    )


def _parsed(headers: Mapping[str, str], value: int | str | None) -> _Letter | str:
    """The dead letter by its headers, or what is wrong with them."""
    texts = {name: headers.get(_PREFIX + name) for name in ("topic", "partition", "offset", "group")}
    for name, text in texts.items():
        if text is None:
            return f"has no header {_PREFIX}{name}"
        if name in _NUMBERS and not text.isdecimal():
            return f"has the header {_PREFIX}{name}={text!r}"
    counted = headers.get(_PREFIX + "delivery.count")
    if counted is not None and not counted.isdecimal():
        return f"has the header {_PREFIX}delivery.count={counted!r}"
    place = GroupPartition(str(texts["group"]), str(texts["topic"]), int(str(texts["partition"])))
    return _Letter((place, int(str(texts["offset"]))), None if counted is None else int(counted), value)


def _asked_to_reject(history: History) -> frozenset[_Place]:
    """Every record that a member asked to reject, whatever the outcome."""
    return frozenset(
        (GroupPartition(operation.value["group"], str(operation.key), partition), offset)
        for operation in history.of("acknowledge")
        if operation.type is INVOKE
        for partition, offsets, types in operation.value["acknowledgements"]
        for offset, kind in zip(offsets, types, strict=True)
        if kind == "reject"
    )


def _values(groups: ShareGroups) -> Mapping[_Place, frozenset[object]]:
    """The values that members received."""
    all_ = groups.deliveries
    found: defaultdict[_Place, set[object]] = defaultdict(set)
    for place, offset, value in zip(
        all_.place.tolist(), all_.offset.tolist(), all_.value.tolist(), strict=True
    ):
        found[groups.places[place], offset].add(value if value >= 0 else groups.others[-1 - value])
    return {place: frozenset(values) for place, values in found.items()}


def _confirmed(groups: ShareGroups, names: set[str]) -> set[_Place]:
    """The records of some groups whose rejection a broker confirmed."""
    all_, acks = groups.deliveries, groups.acknowledgements
    rows = acks.delivery[np.flatnonzero(acks.kind == REJECT)]
    pairs = zip(all_.place[rows].tolist(), all_.offset[rows].tolist(), strict=True)
    return {(groups.places[place], offset) for place, offset in pairs if groups.places[place].group in names}
