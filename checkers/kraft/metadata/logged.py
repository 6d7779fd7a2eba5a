"""Topics, configs and voters by name, from the metadata log that reaches farthest.

A record has a place in the log and a span of time in which it was appended
(`checkers.evidence.metadata_log`).  A snapshot replaces records that are gone: its content was appended
before all records of the log.
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

V = TypeVar("V", bound=Hashable)
Member = tuple[int, str]
"""A voter: its ``node.id`` and the id of its directory."""


class LoggedRecord(NamedTuple):
    """A record of the log: its place, the epoch it was appended in, and when that was."""

    offset: int
    epoch: int
    span: TimeBounds


BEFORE = LoggedRecord(NONE, NONE, TimeBounds(0, 0))
"""Represents what existed before the log's first record."""


@dataclass(slots=True)
class States(Generic[V]):
    """What one thing was, record by record.

    Attributes:
        records: those that made it what it is, in the order of the log.
        places: by value, which of the records gave it.
    """

    records: list[LoggedRecord] = field(default_factory=list)
    places: dict[V, list[int]] = field(default_factory=dict)

    def add(self, record: LoggedRecord, value: V) -> None:
        """Add a record, and the value that it gave."""
        self.places.setdefault(value, []).append(len(self.records))
        self.records.append(record)

    def since(self, time_ns: int, fits: Callable[[V], bool]) -> tuple[LoggedRecord, ...]:
        """The records that gave it a value that fits, and that may still have held at a time, or later."""
        some = (place for value, places in self.places.items() if fits(value) for place in places)
        return tuple(self.records[place] for place in sorted(some) if self._until_ns(place) >= time_ns)

    def of(self, value: V, time_ns: int) -> tuple[LoggedRecord, ...]:
        """Those that gave it one value, and that may still have held at a time, or later."""
        some = self.places.get(value, ())
        return tuple(self.records[place] for place in some if self._until_ns(place) >= time_ns)

    def _until_ns(self, place: int) -> int:
        """When the next record had certainly been appended."""
        return self.records[place + 1].span.to_ns if place + 1 < len(self.records) else NEVER


@dataclass(slots=True)
class TopicLogged:
    """A topic: the record that made it, its removal, and its partitions: number of replicas, and record."""

    topic_id: str
    made: LoggedRecord
    replicas: dict[int, int] = field(default_factory=dict)
    partitions: dict[int, LoggedRecord] = field(default_factory=dict)
    removed: LoggedRecord | None = None


@dataclass(slots=True)
class LoggedMetadata:
    """A metadata log, by name.

    Attributes:
        log: the log itself.
        whole: whether it begins with the cluster's first record.
        covered: whether it does, or else a snapshot has what is older.
        until_ns: what was committed by then is certainly in it.
        topics: those that were made under each name, in the order of the log.
        configs: values of configs of topics, by topic and config.
        voters: the sets of voters; none where the log reports none.
    """

    log: MetadataLog
    whole: bool
    covered: bool
    until_ns: int
    topics: dict[str, list[TopicLogged]] = field(default_factory=dict)
    configs: dict[tuple[str, str], States[str | None]] = field(default_factory=dict)
    voters: States[frozenset[Member]] = field(default_factory=States)

    def config(self, topic: str, name: str) -> States[str | None]:
        """The values of one config of a topic; before the first one it had none."""
        states = self.configs.get((topic, name))
        if states is None:
            states = self.configs[topic, name] = States()
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
    begins = max(log.seen.log_start or 0, log.seen.records[0][0] if log.seen.records else 0)
    found = LoggedMetadata(log, whole=not begins, covered=_snapshot_end(log.seen) >= begins, until_ns=0)
    by_id: dict[str, TopicLogged] = {}
    for record, kind, data in _records(log.seen, times):
        _apply(found, by_id, record, kind, data)
    found.until_ns = _until_ns(history, found, times)
    return found


def _records(seen: MetadataLogSeen, times: AppendTimes) -> Iterator[tuple[LoggedRecord, str, Any]]:
    """Records that matter: of the newest snapshot where the log is no older, then those of the log."""
    if seen.checkpoint is not None and (seen.log_start or not _snapshot_end(seen)):
        for _, _, kind, data in _mattering(seen.checkpoint[1]):
            yield BEFORE, kind, data
    for offset, epoch, kind, data in _mattering(seen.records):
        yield LoggedRecord(offset, epoch, times.span(offset, epoch)), kind, data


def _snapshot_end(seen: MetadataLogSeen) -> int:
    """Offset up to which the newest snapshot has everything; 0 without one, and of that of formatting."""
    return 0 if seen.checkpoint is None else int(seen.checkpoint[0].partition("-")[0])


def _mattering(records: list[MetadataRecord]) -> Iterator[MetadataRecord]:
    return (record for record in records if record[2] in _APPLIED and record[3] is not None)


def _apply(
    found: LoggedMetadata, by_id: dict[str, TopicLogged], record: LoggedRecord, kind: str, data: Any
) -> None:
    match kind:
        case "TOPIC_RECORD":
            known = by_id.get(data["topicId"])
            if known is None or known.made is not BEFORE:  # else the log has what its snapshot has too
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
        case "CONFIG_RECORD":
            if data["resourceType"] == _TOPIC_CONFIG:
                found.config(data["resourceName"], data["name"]).add(record, data.get("value"))
        case _:
            members = ((each["voterId"], each["voterDirectoryId"]) for each in data["voters"])
            found.voters.add(record, frozenset(members))


def _forget_configs(found: LoggedMetadata, topic_id: str, record: LoggedRecord) -> None:
    """A topic that is removed takes its configs along: one that is created under its name has none."""
    for (topic, _), states in found.configs.items():
        if any(each.topic_id == topic_id for each in found.topics.get(topic, ())):
            states.add(record, None)


_APPLIED = frozenset(
    {"TOPIC_RECORD", "PARTITION_RECORD", "REMOVE_TOPIC_RECORD", "CONFIG_RECORD", VOTERS_RECORD}
)


def _until_ns(history: History, found: LoggedMetadata, times: AppendTimes) -> int:
    """Until when the log certainly has all committed records, nanoseconds.

    Committed records are on the disks of a majority of the voters.  So if a majority was read, the log that
    reaches farthest among them has all records that were committed before (Raft, Leader Completeness).
    Otherwise, or if records are missing at its end, leaders' reports decide.
    """
    read = _voters_read(history, found)
    if read and found.log.end == found.log.seen.end:
        return min(read)
    return 0 if lacking(history, Source.QUORUM, Source.DISKS) else times.complete_until_ns(found.log)


def _voters_read(history: History, found: LoggedMetadata) -> list[int]:
    """When reading of the logs of a majority of the voters began; empty where no majority was read."""
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
