"""The checker dead-letters: the records in dead-letter queues of share groups, and what they say (KIP-1191).

The leader of a share partition writes a record to the dead-letter queue once it is Archiving: a member
rejected it, or its delivery count has reached the limit.  The write is repeated a few times.  If it fails,
the leader logs that, and the record is Archived all the same (``SharePartition.initiateDLQAndArchive``).  So
a missing dead letter is a figure if a broker logged such a failure, and otherwise a finding
(`missing_letters`).  There may be several dead letters of one record, because the queue and the state are not
written together (KIP-1191).

A request to reject a record is recorded before it is sent, so a dead letter without one was not asked for.  A
delivery that no member received counts too, so at the limit nothing must be asked for.  The value of a dead
letter is missing if its leader could not read the record any more.  If an event may have truncated the
partition, another record may have had its offset, and the result is unknown.

A checker of its own has these rules: if a queue was not read, nothing else about share groups is open.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import GroupPartition, PartitionName
from checkers.evidence.share_states import unread_share_states
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.setup import LoadSetup, recorded_setup
from checkers.history.shares import DeadLetters
from checkers.history.sources import Source, unassigned_damage
from checkers.licences import licences_of
from checkers.share_groups.archived import Asked, Place, archived_records
from checkers.share_groups.loading import REJECT, ShareGroups, share_groups_of
from checkers.share_groups.missing_letters import MISSING, Compared, missing_letters
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind, by_id
from checkers.verdict.needs import PERMITTED, Needs
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, OpenAnomaly, result_of

CHECKER = "dead-letters"
UNASKED = AnomalyKind(
    "dead-letter-unasked",
    "A dead-letter queue has a record that no member asked to reject, and whose delivery count is below the "
    "limit.",
    "Only records that are rejected, or whose delivery count has reached the limit, are written to the "
    "dead-letter queue.",
    "KIP-1191, Motivation: delivery attempt limit, rejected records; SharePartition.recordStateWithDlq",
)
WRONG = AnomalyKind(
    "dead-letter-wrong",
    "A record of a dead-letter queue does not say which record of the group it stands for, or has another "
    "value.",
    "The headers of a dead letter have topic, partition, offset and group of the record. A copied value is "
    "that of the record.",
    "KIP-1191, headers of the DLQ record; errors.deadletterqueue.copy.record.enable",
)
ANOMALIES = by_id(MISSING, UNASKED, WRONG)
_LOGGED = (Source.NODES, Source.BROKER_LOGS, Source.REFUSALS)
"""Sources that show that no broker logged a failure, and that no process ended before it could."""
NEEDS = Needs(
    (Source.CLIENTS, Source.DISKS),
    {
        MISSING.id: (Source.CLIENTS, *_LOGGED, *PERMITTED),
        UNASKED.id: (Source.CLIENTS,),
        WRONG.id: (Source.CLIENTS, *PERMITTED),
    },
    workloads=frozenset({"shares"}),
)
"""The journals that the rules need: those of members have the topics, the rejections and the values."""
_PREFIX = "__dlq.errors."
_NUMBERS = ("partition", "offset")


class _Letter(NamedTuple):
    """A dead letter: the record that it stands for, its delivery count, and its value, if it has these."""

    record: Place
    deliveries: int | None
    value: int | str | None


class _Known(NamedTuple):
    """What dead letters are compared with.

    Attributes:
        history: the history, which has the events that permit losses.
        limit: largest legal delivery count; 0 if unknown.
        polled: the topics that members of each group polled, or wanted to.
        rejected: every record that a member asked to reject, whatever the outcome.
        values: the values that members received.
    """

    history: History
    limit: int
    polled: Mapping[str, frozenset[str]]
    rejected: frozenset[Place]
    values: Mapping[Place, list[object]]


@dataclass(slots=True)
class _Read:
    """What was read of the queues.

    Attributes:
        asked: by group, the partitions of its queue that were to be read.
        read: by group, those that were read.
        letters: by group, the number of its dead letters.
        found: findings.
        records: the records that have a dead letter.
        queues: by group, the topic of its queue.
        began: by group, the position of the first request.
    """

    asked: dict[str, set[int]] = field(default_factory=dict)
    read: dict[str, set[int]] = field(default_factory=dict)
    queues: dict[str, str] = field(default_factory=dict)
    began: dict[str, int] = field(default_factory=dict)
    letters: Counter[str] = field(default_factory=Counter)
    found: list[Anomaly] = field(default_factory=list)
    records: set[Place] = field(default_factory=set)

    def whole(self, group: str) -> bool:
        """Whether all partitions of the queue of a group were read, from their first record to the last."""
        return bool(asked := self.asked.get(group)) and asked == self.read.get(group)

    def doubts(self, groups: Iterable[str]) -> Iterator[str]:
        """Why the rules are undecided for some groups."""
        for group in groups:
            if not self.whole(group):
                yield f"the dead-letter queue of {group} was not read completely"

    def open(self) -> Iterator[OpenAnomaly]:
        """The findings that an event may explain, one for each event and rule."""
        named = set[tuple[str, str]]()
        for anomaly in self.found:
            if anomaly.licence is not None and (anomaly.id, anomaly.licence) not in named:
                named.add((anomaly.id, anomaly.licence))
                doubt = f"{anomaly.id} of {anomaly.subject} may follow from {anomaly.licence}"
                yield OpenAnomaly(anomaly.id, doubt)


def check_dead_letters(history: History) -> CheckerResult:
    """Judge the dead-letter queues of a history.

    The result is not exercised if none was read and none was to be read.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    workload = recorded_setup(history).workload
    expected = _expected(workload)
    if not expected and not history.of("dead-letters"):
        return result_of(CHECKER, [], exercised=False)
    groups = share_groups_of(history)
    read = _read(history, groups, workload.delivery_limit)
    missing = _missing(history, groups, read, workload.delivery_limit)
    read.found += missing.found
    confirmed = {place for place in _confirmed(groups) if read.whole(place[0].group)}
    unread = unread_share_states(history)
    doubts = dict.fromkeys((*unassigned_damage(history), *read.doubts(expected), *unread))
    return result_of(
        CHECKER,
        read.found,
        assumptions=tuple(_written(read, group) for group in expected if read.whole(group)),
        figures={
            "dead_letters": read.letters.total(),
            "dead_letters_missing": len(confirmed - read.records),
            "dead_letters_failed": missing.failed,
            "archived_compared": missing.compared,
        },
        unknown_because="; ".join(doubts) or None,
        open_anomalies=[*read.open()],
    )


def _expected(workload: LoadSetup) -> tuple[str, ...]:
    """The groups whose queues must be read."""
    return () if isinstance(workload.groups, int) or not workload.dead_letters else tuple(workload.groups)


def _written(read: _Read, group: str) -> Assumption:
    number = read.letters[group]
    return Assumption(f"dead letters of {group}", number > 0, "at least 1 dead letter", str(number))


def _read(history: History, groups: ShareGroups, limit: int) -> _Read:
    """Judge what was read.  All partitions of a queue must be read that its topic was created with."""
    all_ = _Read()
    partitions = {topic.name: range(topic.partitions) for topic in recorded_setup(history).topics}
    known = _Known(history, limit, _polled(history), _asked_to_reject(history), _values(groups))
    for operation in history.of("dead-letters"):
        group, partition = operation.value["group"], operation.value["partition"]
        if operation.type is INVOKE:
            all_.asked.setdefault(group, set()).update((partition, *partitions.get(operation.key, ())))
            all_.queues[group] = str(operation.key)
            all_.began.setdefault(group, operation.index)
        elif operation.type is OK:
            answer = msgspec.convert(operation.value, DeadLetters)
            if _is_whole(answer):
                all_.read.setdefault(group, set()).add(partition)
            for at, headers, value in answer.records:
                all_.letters[group] += 1
                letter = _parsed(headers, value)
                if isinstance(letter, _Letter):
                    all_.records.add(letter.record)
                all_.found += filter(None, (_judged(operation, at, letter, known),))
    return all_


def _is_whole(answer: DeadLetters) -> bool:
    """Whether an answer has all records of a partition: retention may have removed the first ones."""
    if not answer.end:
        return True
    offsets = [offset for offset, *_ in answer.records]
    return bool(offsets) and offsets[0] == 0 and offsets[-1] >= answer.end - 1


def _missing(history: History, groups: ShareGroups, read: _Read, limit: int) -> Compared:
    """Compare the records that were archived with the dead letters of queues that were read completely."""
    began = {group: position for group, position in read.began.items() if read.whole(group)}
    asked = Asked(_asked_to_reject(history), limit, began)
    queues = {
        group: [PartitionName(read.queues[group], partition) for partition in sorted(read.asked[group])]
        for group in began
    }
    return missing_letters(history, archived_records(history, groups, asked), read.records, queues)


def _judged(operation: Operation, at: int, letter: _Letter | str, known: _Known) -> Anomaly | None:
    """Judge one dead letter, or say what is wrong with its headers."""
    if isinstance(letter, str):
        queue = GroupPartition(operation.value["group"], str(operation.key), operation.value["partition"])
        return _finding(WRONG, operation, at, f"{queue}@{at}", letter)
    (name, offset), count, limit = letter.record, letter.deliveries, known.limit
    if (problem := _misnamed(operation, letter, known)) is not None:
        return _finding(WRONG, operation, at, str(name), problem)
    subject = f"{name}@{offset}"
    if letter.value is not None and letter.value not in known.values.get(letter.record, [letter.value]):
        problem = f"has the value {letter.value}, and members received another one"
        found = _finding(WRONG, operation, at, subject, problem)
        licence = _truncated(known.history, letter.record)
        return msgspec.structs.replace(found, illegal=licence is None, licence=licence)
    if count is not None and count < limit and letter.record not in known.rejected:
        problem = f"has the delivery count {count}, the limit is {limit}, and no member asked to reject it"
        return _finding(UNASKED, operation, at, subject, problem)
    return None


def _misnamed(operation: Operation, letter: _Letter, known: _Known) -> str | None:
    """Why the headers can't be those of a record of the group; None if they can."""
    (name, _), count, limit = letter.record, letter.deliveries, known.limit
    if name.group != operation.value["group"]:
        return f"names the group {name.group}, in the queue of {operation.value['group']}"
    if name.topic not in known.polled.get(name.group, frozenset()):
        return f"names the topic {name.topic}, which no member polled"
    if count is not None and limit and not 1 <= count <= limit:
        return f"has the delivery count {count}; the limit is {limit}"
    return None


def _finding(kind: AnomalyKind, operation: Operation, at: int, subject: str, problem: str) -> Anomaly:
    where = f"{operation.key}/{operation.value['partition']}@{at}"
    return kind.found(
        f"{subject}: the dead letter {where} {problem}",
        subject=subject,
        time_ns=operation.time_ns,
        witness=(operation.index,),
    )


def _truncated(history: History, record: Place) -> str | None:
    """An event by which another record may have had the offset."""
    name, offset = record
    permits = licences_of(history).of(PartitionName(name.topic, name.partition))
    met = (
        permit.text
        for permit in permits
        if permit.covers_returned and permit.event.below is None and (permit.event.above or 0) <= offset
    )
    return next(met, None)


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


def _polled(history: History) -> Mapping[str, frozenset[str]]:
    """The topics that members of each group polled, or wanted to."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for operation in history.of("share-poll"):
        found[operation.value["group"]].add(str(operation.key))
    return {group: frozenset(topics) for group, topics in found.items()}


def _asked_to_reject(history: History) -> frozenset[Place]:
    """Every record that a member asked to reject, whatever the outcome."""
    return frozenset(
        (GroupPartition(operation.value["group"], str(operation.key), partition), offset)
        for operation in history.of("acknowledge")
        if operation.type is INVOKE
        for partition, offsets, types in operation.value["acknowledgements"]
        for offset, kind in zip(offsets, types, strict=True)
        if kind == "reject"
    )


def _values(groups: ShareGroups) -> Mapping[Place, list[object]]:
    """The values that members received, one for each delivery."""
    all_ = groups.deliveries
    found: defaultdict[Place, list[object]] = defaultdict(list)
    for place, offset, value in zip(
        all_.place.tolist(), all_.offset.tolist(), all_.value.tolist(), strict=True
    ):
        found[groups.places[place], offset].append(value if value >= 0 else groups.others[-1 - value])
    return found


def _confirmed(groups: ShareGroups) -> Iterator[Place]:
    """The records whose rejection a broker confirmed."""
    all_, acks = groups.deliveries, groups.acknowledgements
    rows = acks.delivery[np.flatnonzero(acks.kind == REJECT)]
    for place, offset in zip(all_.place[rows].tolist(), all_.offset[rows].tolist(), strict=True):
        yield groups.places[place], offset


ENTRY = Entry(CHECKER, check_dead_letters, ANOMALIES, NEEDS)
