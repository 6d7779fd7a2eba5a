"""Topics, configs, voters and registrations by name, from the metadata log that reaches farthest.

A record has a place in the log and a span of time in which it was appended
(`checkers.evidence.metadata_log`).  A snapshot replaces removed records: its content was appended before all
records of the log.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from checkers.columns.tables import NEVER
from checkers.evidence.metadata_log import AppendTimes, MetadataLog, TimeBounds, append_times, farthest
from checkers.history.operations import History, once
from checkers.history.replicas import METADATA_LOG, MetadataLogSeen, MetadataRecord, ReplicaSeen
from checkers.history.setup import setup_of
from checkers.history.sources import Source, lacking
from checkers.kraft.quorum.views import NONE
from checkers.kraft.quorum.voter_sets import VOTERS_RECORD

_TOPIC_CONFIG = 2
"""Kafka's number for configs of topics."""
_ALL_BROKERS = (4, "")
"""Kafka's number for configs of brokers, and the name under which it stores the default of all (KIP-226)."""

V = TypeVar("V", bound=Hashable)
Member = tuple[int, str]
"""A voter: its ``node.id`` and its directory id."""


class LoggedRecord(NamedTuple):
    """A record of the log: its position, the epoch in which it was appended, and when that was."""

    offset: int
    epoch: int
    span: TimeBounds


BEFORE = LoggedRecord(NONE, NONE, TimeBounds(0, 0))
"""Represents what existed before the log's first record."""


@dataclass(slots=True)
class States(Generic[V]):
    """The values that one thing had, record by record.

    Attributes:
        records: the records that set a value, in the order of the log.
        places: indices of the records that set a value, by value.
    """

    records: list[LoggedRecord] = field(default_factory=list)
    places: dict[V, list[int]] = field(default_factory=dict)

    def add(self, record: LoggedRecord, value: V) -> None:
        """Add a record, and the value that it set."""
        self.places.setdefault(value, []).append(len(self.records))
        self.records.append(record)

    def since(self, time_ns: int, fits: Callable[[V], bool]) -> tuple[LoggedRecord, ...]:
        """The records that set a matching value which may still have held at a time, or later."""
        some = (place for value, places in self.places.items() if fits(value) for place in places)
        return tuple(self.records[place] for place in sorted(some) if self._until_ns(place) >= time_ns)

    def of(self, value: V, time_ns: int) -> tuple[LoggedRecord, ...]:
        """The records that set one value which may still have held at a time, or later."""
        some = self.places.get(value, ())
        return tuple(self.records[place] for place in some if self._until_ns(place) >= time_ns)

    def _until_ns(self, place: int) -> int:
        """The time by which the next record had certainly been appended."""
        return self.records[place + 1].span.to_ns if place + 1 < len(self.records) else NEVER


@dataclass(slots=True)
class TopicLogged:
    """A topic: its creation, its removal, and the number of replicas and record of each partition."""

    topic_id: str
    made: LoggedRecord
    replicas: dict[int, int] = field(default_factory=dict)
    partitions: dict[int, LoggedRecord] = field(default_factory=dict)
    removed: LoggedRecord | None = None


@dataclass(slots=True)
class LoggedMetadata:
    """The content of a metadata log, by name.

    Attributes:
        log: the log itself.
        whole: whether the log begins with the cluster's first record.
        covered: whether the log begins with that record, or a snapshot has the older records.
        until_ns: all records that were committed by this time are certainly in the log.
        topics: the topics that were created under each name, in the order of the log.
        configs: values of topic configs, by topic and config.
        defaults: values of configs that are the default of all brokers, by config.
        voters: the voter sets; none if the log reports none.
        registered: whether a node is registered, by its role, ``broker`` or ``controller``, and its id.
    """

    log: MetadataLog
    whole: bool
    covered: bool
    until_ns: int
    topics: dict[str, list[TopicLogged]] = field(default_factory=dict)
    configs: dict[tuple[str, str], States[str | None]] = field(default_factory=dict)
    defaults: dict[str, States[str | None]] = field(default_factory=dict)
    voters: States[frozenset[Member]] = field(default_factory=States)
    registered: dict[tuple[str, int], States[bool]] = field(default_factory=dict)

    def config(self, topic: str, name: str) -> States[str | None]:
        """The values of one config of a topic; it had no value before the first of them."""
        return self.configs.setdefault((topic, name), _unset())

    def default(self, name: str) -> States[str | None]:
        """The values of one config as the default of all brokers; it had none before the first of them."""
        return self.defaults.setdefault(name, _unset())


def _unset() -> States[str | None]:
    states: States[str | None] = States()
    states.add(BEFORE, None)
    return states


@once
def logged(history: History) -> LoggedMetadata | None:
    """The metadata log that reaches farthest; None if none could be read.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        KeyError, TypeError: a record of the log lacks a field that Kafka writes.
    """
    log = farthest(history)
    if log is None:
        return None
    times = append_times(history)
    begins = max(log.seen.log_start or 0, log.seen.records[0].offset if log.seen.records else 0)
    found = LoggedMetadata(log, whole=not begins, covered=_snapshot_end(log.seen) >= begins, until_ns=0)
    by_id: dict[str, TopicLogged] = {}
    for record, kind, data in _records(log.seen, times):
        _apply(found, by_id, record, kind, data)
    found.until_ns = _until_ns(history, found, times)
    return found


class _RelevantRecord(NamedTuple):
    record: LoggedRecord
    kind: str
    content: Any


def _records(seen: MetadataLogSeen, times: AppendTimes) -> Iterator[_RelevantRecord]:
    """The relevant records: those of the newest snapshot, unless the log has them too, then its own."""
    if seen.checkpoint is not None and (seen.log_start or not _snapshot_end(seen)):
        for one in _mattering(seen.checkpoint[1]):
            yield _RelevantRecord(BEFORE, one.kind, one.content)
    for offset, epoch, kind, content in _mattering(seen.records):
        yield _RelevantRecord(LoggedRecord(offset, epoch, times.span(offset, epoch)), kind, content)


def _snapshot_end(seen: MetadataLogSeen) -> int:
    """Offset at which the newest snapshot ends; 0 if there is none, or only that of formatting."""
    return 0 if seen.checkpoint is None else int(seen.checkpoint[0].partition("-")[0])


def _mattering(records: list[MetadataRecord]) -> Iterator[MetadataRecord]:
    return (record for record in records if record.kind in _APPLIED and record.content is not None)


def _apply(
    found: LoggedMetadata, by_id: dict[str, TopicLogged], record: LoggedRecord, kind: str, data: Any
) -> None:
    match kind:
        case "TOPIC_RECORD":
            known = by_id.get(data["topicId"])
            if known is None or known.made is not BEFORE:  # otherwise the log has the snapshot's content too
                made = by_id[data["topicId"]] = TopicLogged(data["topicId"], record)
                found.topics.setdefault(data["name"], []).append(made)
        case "PARTITION_RECORD":
            if data["topicId"] in by_id:
                by_id[data["topicId"]].replicas[data["partitionId"]] = len(data["replicas"])
                by_id[data["topicId"]].partitions.setdefault(data["partitionId"], record)
        case "REMOVE_TOPIC_RECORD":
            if data["topicId"] in by_id:
                by_id[data["topicId"]].removed = record
                _forget_configs(found, data["topicId"], record)
            else:
                _forget_configs_of_unknown(found, record)
        case "CONFIG_RECORD":
            if data["resourceType"] == _TOPIC_CONFIG:
                found.config(data["resourceName"], data["name"]).add(record, data.get("value"))
            elif (data["resourceType"], data["resourceName"]) == _ALL_BROKERS:
                found.default(data["name"]).add(record, data.get("value"))
        case _:
            _apply_to_nodes(found, record, kind, data)


def _apply_to_nodes(found: LoggedMetadata, record: LoggedRecord, kind: str, data: Any) -> None:
    if kind == VOTERS_RECORD:
        members = ((each["voterId"], each["voterDirectoryId"]) for each in data["voters"])
        found.voters.add(record, frozenset(members))
    else:
        role, name, is_registered = _REGISTRATIONS[kind]
        found.registered.setdefault((role, data[name]), States()).add(record, is_registered)


def _forget_configs(found: LoggedMetadata, topic_id: str, record: LoggedRecord) -> None:
    """Remove a topic's configs with the topic: a new topic with the same name has none of them."""
    for (topic, _), states in found.configs.items():
        if any(each.topic_id == topic_id for each in found.topics.get(topic, ())):
            states.add(record, None)


def _forget_configs_of_unknown(found: LoggedMetadata, record: LoggedRecord) -> None:
    """Remove the configs of all names without a topic.

    The removed topic was created before the log begins, and removed before its snapshot was taken, so neither
    has its name.  A name with a topic is not its name, because two topics never have one name.
    """
    for (topic, _), states in found.configs.items():
        if all(each.removed is not None for each in found.topics.get(topic, ())):
            states.add(record, None)


_REGISTRATIONS = {
    "REGISTER_BROKER_RECORD": ("broker", "brokerId", True),
    "UNREGISTER_BROKER_RECORD": ("broker", "brokerId", False),
    "REGISTER_CONTROLLER_RECORD": ("controller", "controllerId", True),
    "UNREGISTER_CONTROLLER_RECORD": ("controller", "controllerId", False),
}
"""Role of the node, name of the field with its id, and whether it is registered after the record, by kind."""
_APPLIED = frozenset(
    {"TOPIC_RECORD", "PARTITION_RECORD", "REMOVE_TOPIC_RECORD", "CONFIG_RECORD", VOTERS_RECORD}
    | _REGISTRATIONS.keys()
)


def _until_ns(history: History, found: LoggedMetadata, times: AppendTimes) -> int:
    """The time up to which the log certainly has all committed records, nanoseconds.

    Committed records are on the disks of a majority of the voters.  So if a majority was read, the log that
    reaches farthest among them has all records that were committed before (Raft, Leader Completeness).
    Otherwise, or if records are missing at its end, leaders' reports decide.
    """
    read = _voters_read(history, found)
    if read and found.log.end == found.log.seen.end:
        return min(read)
    return 0 if lacking(history, Source.QUORUM, Source.DISKS) else times.complete_until_ns(found.log)


def _voters_read(history: History, found: LoggedMetadata) -> list[int]:
    """When reading the logs of a majority of the voters began; empty if no majority was read."""
    setup = setup_of(history)
    controllers = {} if setup is None else setup.controllers
    last = max(found.voters.places.items(), key=lambda each: each[1][-1], default=(None, []))[0]
    voters = set(controllers) if last is None else {voter for voter, _ in last}
    names = {name for voter, name in controllers.items() if voter in voters}
    read = {
        operation.node: seen.began_ns
        for operation, seen in history.seen(METADATA_LOG, ReplicaSeen)
        if operation.node in names and seen.error is None
    }
    return list(read.values()) if 2 * len(read) > len(voters) else []
