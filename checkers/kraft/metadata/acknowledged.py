"""Acknowledged changes of metadata, each with the records of the metadata log that may come from it.

If a request changes nothing, the controller writes no record.  In that case the record that counts is the
earlier one that set the requested state, if that state still held when the request was made.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.administration import AdminOperation, elections_of, reassignments_of, requests_of
from checkers.evidence.fates import fits
from checkers.evidence.partition_changes import PartitionChanges, PartitionState, partition_changes
from checkers.history.changing_topics import TopicConfigured, TopicRequested
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OK, History, Operation
from checkers.history.requested import BrokersAltered, PartitionsAdded, TopicAltered
from checkers.history.setup import recorded_setup
from checkers.kraft.metadata.loading import Change, Metadata, acknowledged_id
from checkers.kraft.metadata.logged import LoggedMetadata, LoggedRecord, Member, States, TopicLogged
from checkers.kraft.metadata.matching import AcknowledgedChange, TopicChange, matched
from checkers.kraft.metadata.topic_lives import deleted_id, lives_of
from checkers.kraft.quorum.changes import ADD, voter_changes

CONFIG_REGISTER = "config/"


class _Place(NamedTuple):
    """When a change was requested and answered, and the indices of its operations."""

    asked_ns: int
    answered_ns: int
    operations: tuple[int, ...]


class Acknowledgement(NamedTuple):
    """One change that Kafka acknowledged.

    Attributes:
        kind: the kind of the change, as figures name it.
        what: the change as text.
        subject: what was changed.
        asked_ns: when it was requested.
        answered_ns: when the answer arrived.
        operations: indices of its operations.
        records: records that the change may have caused.
        logged_if_made: whether the log has such a record if the change was made; if not, other rules judge
            its absence.
        lacks: the part of the change that is missing although it has a record; None if nothing is.
    """

    kind: str
    what: str
    subject: str
    asked_ns: int
    answered_ns: int
    operations: tuple[int, ...]
    records: tuple[LoggedRecord, ...]
    logged_if_made: bool
    lacks: str | None = None


def acknowledgements(history: History, metadata: Metadata, log: LoggedMetadata) -> list[Acknowledgement]:
    """All acknowledged changes, in no particular order.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    changes = partition_changes(history)
    return [
        *_of_setup(history, metadata, log),
        *_of_topics(metadata, log),
        *_of_partitions(history, metadata, log),
        *_of_configs(history, log),
        *_of_voters(history, log),
        *_of_registrations(history, log),
        *_of_elections(history, changes),
        *_of_reassignments(history, changes),
    ]


def _of_setup(history: History, metadata: Metadata, log: LoggedMetadata) -> Iterator[Acknowledgement]:
    for setup in history.of("setup")[:1]:
        for topic in recorded_setup(history).topics:
            found = _named(log, topic.name, topic.topic_id)
            place = _Place(0, setup.time_ns, (setup.index,))
            made = _creation(topic.name, place, found, _partitions(found, topic.partitions))
            yield made._replace(logged_if_made=_is_logged_if_made(log, metadata, topic.name))
            for name, value in topic.config.items():
                records = log.config(topic.name, name).of(str(value), 0)
                what = f"{name}={value} of the new topic {topic.name}"
                yield Acknowledgement("configs", what, topic.name, *place, records, log.whole)


def _of_topics(metadata: Metadata, log: LoggedMetadata) -> Iterator[Acknowledgement]:
    for name, creations in metadata.created.items():
        acknowledged = [change for change in creations if change.acknowledged]
        calls = [AcknowledgedChange(*_place(change)[:2], acknowledged_id(change)) for change in acknowledged]
        places = [TopicChange(topic.topic_id, topic.made) for topic in log.topics.get(name, ())]
        for change, found in zip(acknowledged, matched(calls, places), strict=True):
            made = _created(
                name, change, [topic for topic in log.topics.get(name, ()) if topic.made in found]
            )
            yield made._replace(logged_if_made=_is_logged_if_made(log, metadata, name))
    for name, deletions in metadata.deleted.items():
        yield from _deletions(name, [each for each in deletions if each.acknowledged], metadata, log)


def _of_partitions(history: History, metadata: Metadata, log: LoggedMetadata) -> Iterator[Acknowledgement]:
    """Requests that added partitions, each with the record of its last partition; all must be in the log."""
    for request in requests_of(history, "create-partitions"):
        if not _done(request.ended):
            continue
        name, count = str(request.began.key), msgspec.convert(request.began.value, PartitionsAdded).count
        there = [
            topic
            for topic in log.topics.get(name, ())
            if topic.removed is None or topic.removed.span.to_ns >= request.from_ns
        ]
        last = tuple(topic.partitions[count - 1] for topic in there if count - 1 in topic.partitions)
        place = _Place(request.from_ns, request.to_ns, request.operations)
        what, logged_if_made = (
            f"growth of topic {name} to {count} partitions",
            _is_logged_if_made(log, metadata, name),
        )
        yield Acknowledgement(
            "partitions", what, name, *place, last, logged_if_made, _partitions(there, count)
        )


def _is_logged_if_made(log: LoggedMetadata, metadata: Metadata, name: str) -> bool:
    """Whether a topic that was created must be in the log, or in the snapshot with which the log starts."""
    kept = all(deletion.failed for deletion in metadata.deleted.get(name, ()))
    return log.whole or (log.covered and kept)


def _created(name: str, change: Change, found: list[TopicLogged]) -> Acknowledgement:
    asked = msgspec.convert(change.begin.value, TopicRequested)
    lacks = _partitions(found, asked.partitions) or _copies(found, asked.replication_factor)
    return _creation(name, _place(change), found, lacks)


def _creation(name: str, place: _Place, found: list[TopicLogged], lacks: str | None) -> Acknowledgement:
    records = tuple(topic.made for topic in found)
    what = f"creation of topic {name}"
    return Acknowledgement("topics", what, name, *place, records, logged_if_made=True, lacks=lacks)


def _named(log: LoggedMetadata, name: str, topic_id: str | None) -> list[TopicLogged]:
    return [each for each in log.topics.get(name, ()) if topic_id in {None, each.topic_id}]


def _partitions(found: list[TopicLogged], wanted: int) -> str | None:
    """What is missing if no topic with that name was created with that many partitions."""
    if not found or any(set(range(wanted)) <= topic.replicas.keys() for topic in found):
        return None
    return f"of its {wanted} partitions the log has {len(found[0].replicas)}"


def _copies(found: list[TopicLogged], wanted: int) -> str | None:
    copies = {number for topic in found for number in topic.replicas.values()}
    return f"its partitions have {min(copies)} replicas instead of {wanted}" if copies - {wanted} else None


def _deletions(
    name: str, deletions: list[Change], metadata: Metadata, log: LoggedMetadata
) -> Iterator[Acknowledgement]:
    """Acknowledged deletions of one name, each with the removal of the topic that it deleted."""
    found, lives = log.topics.get(name, []), lives_of(metadata, name)
    known = [deleted_id(lives, change) for change in deletions]
    calls = [
        AcknowledgedChange(*_place(each)[:2], topic_id)
        for each, topic_id in zip(deletions, known, strict=True)
    ]
    places = [TopicChange(topic.topic_id, topic.removed) for topic in found if topic.removed is not None]
    there = {topic.topic_id for topic in found}
    for change, topic_id, records in zip(deletions, known, matched(calls, places), strict=True):
        # Records that a snapshot replaced have no known name; topics in a snapshot were not deleted before
        # it.
        known_there = topic_id in there if topic_id is not None else bool(found) and not lives[1:]
        logged_if_made = log.whole or known_there
        what = f"deletion of topic {name}"
        yield Acknowledgement("deletions", what, name, *_place(change), records, logged_if_made)


def _place(change: Change) -> _Place:
    return _Place(change.begin.time_ns, change.last.time_ns, (change.begin.index, change.last.index))


def _of_configs(history: History, log: LoggedMetadata) -> Iterator[Acknowledgement]:
    for request in requests_of(history, "alter-topic"):
        if _done(request.ended):
            asked = msgspec.convert(request.began.value, TopicAltered)
            yield _config(log, str(request.began.key), asked.config, asked.value, request)
    for request in requests_of(history, "alter-brokers"):
        if _done(request.ended):
            name, value = str(request.began.key), msgspec.convert(request.began.value, BrokersAltered).value
            what = f"{name}={value} of all brokers"
            yield _accepted(log, log.default(name), ("all brokers", what), value, request)
    for request in requests_of(history, "configure-topic"):
        if _done(request.ended):
            wanted = msgspec.convert(request.began.value, TopicConfigured)
            yield _config(log, str(request.began.key), wanted.config, wanted.value, request)
    for request in requests_of(history, "write"):
        key = request.began.key
        if isinstance(key, str) and key.startswith(CONFIG_REGISTER) and _done(request.ended):
            _, topic, name = key.split("/", 2)
            yield _config(log, topic, name, str(request.began.value), request)


def _done(ended: Operation | None) -> bool:
    """Whether the request was answered, and no error code in the answer refused it."""
    if ended is None or ended.type is not OK:
        return False
    return not isinstance(ended.value, dict) or ended.value.get("code", ErrorCode.NONE) == ErrorCode.NONE


def _config(
    log: LoggedMetadata, topic: str, name: str, value: str | None, request: AdminOperation
) -> Acknowledgement:
    what = f"{name}={value} of {topic}"
    return _accepted(log, log.config(topic, name), (topic, what), value, request)


def _accepted(
    log: LoggedMetadata,
    states: States[str | None],
    changed: tuple[str, str],
    value: str | None,
    request: AdminOperation,
) -> Acknowledgement:
    subject, what = changed
    place = _Place(request.from_ns, request.to_ns, request.operations)
    records = states.of(value, request.from_ns)
    return Acknowledgement("configs", what, subject, *place, records, log.whole)


def _of_voters(history: History, log: LoggedMetadata) -> Iterator[Acknowledgement]:
    for change in voter_changes(history):
        if not change.acknowledged or change.directory_id is None:
            continue
        voter = (change.id, change.directory_id)
        joins = change.f == ADD
        records = log.voters.since(change.invoked_ns, _having(voter) if joins else _lacking(voter))
        what = f"{'adding' if joins else 'removal'} of voter {change.id} ({change.directory_id})"
        place = _Place(change.invoked_ns, change.completed_ns, change.operations)
        logged_if_made = log.whole and bool(log.voters.records)
        yield Acknowledgement("voters", what, f"voter {change.id}", *place, records, logged_if_made)


def _of_registrations(history: History, log: LoggedMetadata) -> Iterator[Acknowledgement]:
    """Removed registrations.  Kafka refuses to remove one that does not exist, so each has its own record."""
    for role in ("broker", "controller"):
        for request in requests_of(history, f"unregister-{role}"):
            if _done(request.ended):
                node = f"{role} {request.began.key}"
                states = log.registered.get((role, int(str(request.began.key))), States[bool]())
                place = _Place(request.from_ns, request.to_ns, request.operations)
                records = states.of(value=False, time_ns=request.from_ns)
                yield Acknowledgement(
                    "registrations", f"unregistration of {node}", node, *place, records, log.whole
                )


def _having(voter: Member) -> Callable[[frozenset[Member]], bool]:
    return lambda members: voter in members


def _lacking(voter: Member) -> Callable[[frozenset[Member]], bool]:
    return lambda members: voter not in members


def _of_elections(history: History, changes: PartitionChanges) -> Iterator[Acknowledgement]:
    for election in elections_of(history):
        for partition, code in election.codes.items():
            if code == ErrorCode.NONE and partition in changes.states:
                elected = [state for state in changes.states[partition] if state.elected]
                request = election.request
                place = _Place(request.from_ns, request.to_ns, request.operations)
                records = _records(elected, changes, request.from_ns)
                what = f"{election.type} election of {partition}"
                yield Acknowledgement(
                    "elections", what, str(partition), *place, records, logged_if_made=False
                )


def _of_reassignments(history: History, changes: PartitionChanges) -> Iterator[Acknowledgement]:
    for asked in reassignments_of(history):
        if asked.acknowledged and asked.partition in changes.states:
            request = asked.request
            states = changes.states[asked.partition]
            ends = [*(changes.span(state).to_ns for state in states[1:]), NEVER]
            fitting = [
                state
                for state, end in zip(states, ends, strict=True)
                if fits(asked, state) and end >= request.from_ns
            ]
            place = _Place(request.from_ns, request.to_ns, request.operations)
            what = f"reassignment of {asked.partition}"
            records = _records(fitting, changes, 0)
            yield Acknowledgement(
                "reassignments", what, str(asked.partition), *place, records, logged_if_made=False
            )


def _records(
    states: Sequence[PartitionState], changes: PartitionChanges, since_ns: int
) -> tuple[LoggedRecord, ...]:
    """The records that began states, as far as they may have been appended at or after a time."""
    records = (LoggedRecord(state.offset, state.epoch, changes.span(state)) for state in states)
    return tuple(record for record in records if record.span.to_ns >= since_ns)
