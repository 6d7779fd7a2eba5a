"""The states that partitions went through, as the metadata log shows them, and when they may have begun.

The log is replayed as in brokers (KIP-631): ``PARTITION_RECORD`` creates a partition, and
``PARTITION_CHANGE_RECORD`` changes the fields that it contains.  A change that names a leader (-1 for none)
starts a new leader epoch.  ``CLEAR_ELR_RECORD`` removes the eligible leader replicas of a topic (KIP-966).
The time at which a record was appended is known within bounds (`checkers.evidence.metadata_log`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.metadata_log import AppendTimes, TimeBounds, append_times, farthest
from checkers.history.operations import History, once
from checkers.history.replicas import MetadataLogSeen, MetadataRecord

_T = TypeVar("_T")

NOBODY = -1
"""The leader's id for a partition that has no leader."""
MADE, CHANGED, ELR_CLEARED = "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "CLEAR_ELR_RECORD"
"""Types of the records that concern partitions."""
REMOVED = "REMOVE_TOPIC_RECORD"
_RECOVERING = 1
_UNFENCED = -1


class PartitionState(NamedTuple):
    """State of a partition from one record of the metadata log on.

    Attributes:
        offset: the record's offset.
        epoch: the quorum's epoch in which it was appended.
        leader: id of the leader, `NOBODY` for none.
        leader_epoch: number of the leadership.
        replicas: ids in the order of the assignment; while it changes, old and new ones.
        isr: ids of the replicas in sync.
        elr: ids of the eligible leader replicas (KIP-966).
        last_known: ids of the last known leader where ISR and ELR are empty (KIP-966).
        adding: ids that a reassignment adds.
        removing: ids that it removes.
        directories: ids of the log directories of the replicas, in their order; none if not recorded.
        recovering: whether its leader was elected uncleanly and has not yet reported that it recovered
            (KIP-704).
        elected: whether this record elected a leader.
        unclean: whether it elected a replica that was neither in sync nor eligible.
        last_leader: whether it elected one of the last known leaders.
        was_eligible: whether it elected a replica that was eligible, but not in sync.
    """

    offset: int
    epoch: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    directories: tuple[str, ...] = ()
    recovering: bool = False
    elected: bool = False
    unclean: bool = False
    last_leader: bool = False
    was_eligible: bool = False

    def __str__(self) -> str:
        leader = "nobody led" if self.leader == NOBODY else f"broker {self.leader} led"
        sets = f"replicas {list(self.replicas)}, ISR {list(self.isr)}, ELR {list(self.elr)}"
        return (
            f"From offset {self.offset} of the metadata log on {leader} in epoch {self.leader_epoch}: {sets}."
        )

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that the partition will have when the reassignment is complete."""
        return tuple(replica for replica in self.replicas if replica not in self.removing)

    @property
    def original(self) -> tuple[int, ...]:
        """The replicas without those that a reassignment adds."""
        return tuple(replica for replica in self.replicas if replica not in self.adding)

    @property
    def moving(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding or self.removing)


class BrokerState(NamedTuple):
    """Whether a broker may lead, from one record of the metadata log on.

    Attributes:
        offset: the record's offset.
        epoch: the quorum's epoch in which it was appended.
        active: whether it is neither fenced nor about to shut down.
    """

    offset: int
    epoch: int
    active: bool


class PartitionRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a partition's record that matter here; None if the record does not change the field."""

    partition_id: int
    topic_id: str
    leader: int | None = None
    leader_epoch: int = 0
    replicas: tuple[int, ...] | None = None
    isr: tuple[int, ...] | None = None
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int | None = None
    directories: tuple[str, ...] | None = None


class PartitionChange(NamedTuple):
    """A record of the metadata log that created or changed a partition.

    Attributes:
        record: the record.
        partition: its name; if no record named the topic, the topic's id replaces the name.
        before: the state before the record; None if no record or snapshot has it.
        after: the state after the record; None if it changes a partition that no record or snapshot has.
        content: fields of the record.
        has_topic: whether an earlier record created the topic, and none has removed it since; a snapshot may
            contain later records and does not count.
    """

    record: MetadataRecord
    partition: PartitionName
    before: PartitionState | None
    after: PartitionState | None
    content: PartitionRecord
    has_topic: bool

    @property
    def kind(self) -> str:
        """Type of the metadata record, such as ``PARTITION_CHANGE_RECORD``."""
        return self.record.kind


class _BrokerRecord(msgspec.Struct, frozen=True, rename="camel"):
    broker_id: int
    fenced: bool | int = 0
    in_controlled_shutdown: bool | int = 0


class _TopicRecord(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    topic_id: str


class _ElrCleared(msgspec.Struct, frozen=True, rename="camel"):
    topic_name: str = ""


class _TopicRemoved(msgspec.Struct, frozen=True, rename="camel"):
    topic_id: str


@dataclass(frozen=True, slots=True)
class PartitionChanges:
    """All partitions whose states are known since their creation.

    Attributes:
        states: by partition, in the order of the log.
        brokers: by id, in the order of the log.
        op: index of the observation that reported the log; None if none could be used.
        complete_until_ns: time until which these certainly are all changes; `NEVER` if they are to the end.
    """

    states: dict[PartitionName, tuple[PartitionState, ...]]
    brokers: dict[int, tuple[BrokerState, ...]]
    op: int | None
    complete_until_ns: int
    _times: AppendTimes

    def is_complete(self, partition: PartitionName, until_ns: int) -> bool:
        """Whether all states that a partition had until a time are known."""
        return partition in self.states and until_ns <= self.complete_until_ns

    def span(self, state: PartitionState | BrokerState) -> TimeBounds:
        """When the record with which a state began was appended."""
        return self._times.span(state.offset, state.epoch)

    def possible(self, partition: PartitionName, from_ns: int, to_ns: int) -> Sequence[PartitionState]:
        """The states that a partition may have had between two times, in the order of the log."""
        states = self.states[partition]
        spans = [self.span(state) for state in states]
        ends = [*(span.to_ns for span in spans[1:]), NEVER]
        return [
            state
            for state, span, end in zip(states, spans, ends, strict=True)
            if span.from_ns <= to_ns and from_ns <= end
        ]


@once
def partition_changes(history: History) -> PartitionChanges:
    """Replay the metadata log that reaches farthest.

    Two kinds of partitions are left out: those whose creation the log lacks because a snapshot replaced it,
    and those of removed topics, because requests may concern another topic of the same name.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """
    log, times = farthest(history), append_times(history)
    if log is None:
        return PartitionChanges({}, {}, None, 0, times)
    until_ns = times.complete_until_ns(log)
    return PartitionChanges(_replayed(log.seen), _brokers(log.seen), log.operation.index, until_ns, times)


def _replayed(seen: MetadataLogSeen) -> dict[PartitionName, tuple[PartitionState, ...]]:
    replay = PartitionReplay(seen)
    states: dict[PartitionName, list[PartitionState]] = {}
    for step in (step for record in seen.records for step in replay.take(record)):
        if step.after is not None and step.kind == MADE:
            states[step.partition] = [step.after]
        elif step.after is not None and step.partition in states:
            states[step.partition].append(step.after)
    removed = replay.removed
    return {partition: tuple(some) for partition, some in states.items() if partition.topic not in removed}


class PartitionReplay:
    """Replays the partition records of a metadata log.

    Args:
        seen: the log; its snapshot gives the names of topics.

    Attributes:
        removed: names of the topics that the applied records removed.

    Raises:
        msgspec.ValidationError: a record is not as docs/histories.md says.
    """

    def __init__(self, seen: MetadataLogSeen) -> None:
        self.removed: set[str] = set()
        self._names: dict[str, str] = {}
        self._there: set[str] = set()
        self._states: dict[tuple[str, int], PartitionState] = {}
        for _, _, kind, data in seen.checkpoint[1] if seen.checkpoint else ():
            if kind == "TOPIC_RECORD":
                self._name(data)

    def name_of(self, topic_id: str) -> str:
        """The name of a topic that was created; its id if no name was recorded."""
        return self._names.get(topic_id, topic_id)

    def held_by(self, broker: int) -> Iterator[tuple[PartitionName, PartitionState]]:
        """Partitions that have a broker in their ISR or ELR, with their states."""
        for (topic_id, number), state in self._states.items():
            if broker in state.isr or broker in state.elr:
                yield PartitionName(self.name_of(topic_id), number), state

    def take(self, record: MetadataRecord) -> Iterator[PartitionChange]:
        """Apply the next record, also of topics that are removed later.

        Raises:
            msgspec.ValidationError: it is not as docs/histories.md says.
        """
        _, _, kind, data = record
        if kind == "TOPIC_RECORD":
            self._there.add(self._name(data))
        elif kind == REMOVED:
            self._remove(msgspec.convert(data, _TopicRemoved).topic_id)
        elif kind == ELR_CLEARED:
            yield from self._cleared(record, msgspec.convert(data, _ElrCleared).topic_name)
        elif kind in {MADE, CHANGED}:
            yield self._step(record, msgspec.convert(data, PartitionRecord))

    def _name(self, data: object) -> str:
        topic = msgspec.convert(data, _TopicRecord)
        self._names[topic.topic_id] = topic.name
        return topic.topic_id

    def _remove(self, topic_id: str) -> None:
        self.removed.add(self.name_of(topic_id))
        self._there.discard(topic_id)
        self._states = {place: state for place, state in self._states.items() if place[0] != topic_id}

    def _cleared(self, record: MetadataRecord, topic: str) -> Iterator[PartitionChange]:
        """Changes of a topic's partitions that have eligible replicas; of all topics if it has no name."""
        for (topic_id, number), state in list(self._states.items()):
            if (state.elr or state.last_known) and topic in {"", self._names.get(topic_id)}:
                content = PartitionRecord(number, topic_id, eligible_leader_replicas=(), last_known_elr=())
                yield self._step(record, content)

    def _step(self, record: MetadataRecord, content: PartitionRecord) -> PartitionChange:
        offset, epoch, kind, _ = record
        place = (content.topic_id, content.partition_id)
        before = self._states.get(place)
        after = None
        if kind == MADE:
            after = self._states[place] = _made(offset, epoch, content)
        elif before is not None:
            after = self._states[place] = _changed(offset, epoch, before, content)
        name = PartitionName(self.name_of(content.topic_id), content.partition_id)
        return PartitionChange(record, name, before, after, content, content.topic_id in self._there)


_BROKER_RECORDS = (
    "REGISTER_BROKER_RECORD",
    "BROKER_REGISTRATION_CHANGE_RECORD",
    "UNREGISTER_BROKER_RECORD",
)


def _brokers(seen: MetadataLogSeen) -> dict[int, tuple[BrokerState, ...]]:
    """Brokers' states over time.

    A broker is fenced when it registers, and is not active after its registration was removed.  In a change
    of its registration, 1 means that a condition begins (fenced, in controlled shutdown), and -1 that it
    ends.
    """
    states: dict[int, list[BrokerState]] = {}
    for offset, epoch, kind, data in seen.records:
        if kind in _BROKER_RECORDS:
            record = msgspec.convert(data, _BrokerRecord)
            removed = kind == "UNREGISTER_BROKER_RECORD"
            stops = removed or record.fenced == 1 or bool(record.in_controlled_shutdown)
            if stops or record.fenced == _UNFENCED:
                active = BrokerState(offset, epoch, not stops)
                states.setdefault(record.broker_id, []).append(active)
    return {broker: tuple(some) for broker, some in states.items()}


def _made(offset: int, epoch: int, record: PartitionRecord) -> PartitionState:
    return PartitionState(
        offset,
        epoch,
        leader=NOBODY if record.leader is None else record.leader,
        leader_epoch=record.leader_epoch,
        replicas=record.replicas or (),
        isr=record.isr or (),
        elr=record.eligible_leader_replicas or (),
        last_known=record.last_known_elr or (),
        adding=record.adding_replicas or (),
        removing=record.removing_replicas or (),
        directories=record.directories or (),
        recovering=record.leader_recovery_state == _RECOVERING,
    )


def _changed(offset: int, epoch: int, old: PartitionState, record: PartitionRecord) -> PartitionState:
    leader = old.leader if record.leader is None else record.leader
    isr = old.isr if record.isr is None else record.isr
    elected = record.leader is not None and leader != NOBODY
    # While a leader recovers, another unclean election does not write the recovery state again.
    again = old.recovering and elected and leader not in (*old.isr, *old.elr) and isr == (leader,)
    recovery = record.leader_recovery_state
    return PartitionState(
        offset,
        epoch,
        leader=leader,
        leader_epoch=old.leader_epoch + (record.leader is not None),
        replicas=_or(record.replicas, old.replicas),
        isr=isr,
        elr=_or(record.eligible_leader_replicas, old.elr),
        last_known=_or(record.last_known_elr, old.last_known),
        adding=_or(record.adding_replicas, old.adding),
        removing=_or(record.removing_replicas, old.removing),
        directories=_or(record.directories, old.directories),
        recovering=old.recovering if recovery is None else recovery == _RECOVERING,
        elected=elected,
        unclean=elected and (recovery == _RECOVERING or again),
        last_leader=elected and leader in old.last_known,
        was_eligible=elected and leader in old.elr and leader not in old.isr,
    )


def _or(new: tuple[_T, ...] | None, old: tuple[_T, ...]) -> tuple[_T, ...]:
    return old if new is None else new
