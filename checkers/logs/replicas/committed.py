"""The committed ends and in-sync replicas in the history, on which the rules on replicas are based."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import requests_of
from checkers.evidence.topic_partitions import partitions_of
from checkers.history.observed import PARTITIONS, PartitionsSeen
from checkers.history.operations import INVOKE, OK, History, Operation
from checkers.history.polls import final_limits
from checkers.history.quorum import LeaderSeen, leaders_seen
from checkers.history.recoveries import RecoveryRecorded
from checkers.history.replicas import EVIDENCE_REPLICAS
from checkers.history.setup import recorded_setup


class End(NamedTuple):
    """The committed end of one partition, the operation that listed it, and the highest start.

    The start is the one that final reads listed, or one up to which a deletion was requested.
    """

    offset: int
    op: int
    start: int = 0


class InSync(NamedTuple):
    """The in-sync replicas of one partition at the end.

    Attributes:
        leader: its leader when recovery ended, if it had one.
        nodes: names of the in-sync nodes: those in the last ISR that each broker reported since recovery
            ended, or, if none reported one, those in sync at recovery.
        left: nodes that were in sync when recovery ended, and are not in `nodes`.
        op: index of the operation that reported recovery.
    """

    leader: str | None
    nodes: tuple[str, ...]
    left: tuple[str, ...]
    op: int


class MetadataEnd(NamedTuple):
    """The committed end that the last leader of the quorum knew.

    Attributes:
        leader: name of that leader.
        high_watermark: everything below it is committed.
        fetched: node name to the offset up to which the leader knows that the node holds its log.
        op: index of the answer in the history.
    """

    leader: str
    high_watermark: int
    fetched: Mapping[str, int]
    op: int


def meant_partitions(history: History) -> frozenset[PartitionName]:
    """Partitions whose replicas the run must read, including added ones.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    meant = EVIDENCE_REPLICAS in recorded_setup(history).evidence
    return frozenset(each.name for each in partitions_of(history) if meant)


def committed_ends(history: History) -> dict[PartitionName, End]:
    """The highest end that was listed when a partition was read at the end; all below it is committed.

    A read_committed reader lists the last stable offset, which is lower while transactions are open.  Final
    readers leave out dead-letter queues, which readers of their own read from offset 0 to the high watermark,
    and the output and the changelog of an application of Kafka Streams, whose ends are listed.
    """
    ends: dict[PartitionName, End] = {}
    starts: dict[PartitionName, int] = {}
    for operation, read in final_limits(history):
        partition = PartitionName(operation.key, read.partition)
        starts[partition] = max(starts.get(partition, 0), read.start or 0)
        if read.end is not None and (partition not in ends or read.end > ends[partition].offset):
            ends[partition] = End(read.end, operation.index)
    for operation in (*history.of("dead-letters"), *history.of("list-end")):
        if operation.type is OK:
            unread = PartitionName(str(operation.key), operation.value["partition"])
            end = End(operation.value["end"], operation.index)
            ends[unread] = max(ends.get(unread, end), end)
            starts[unread] = max(starts.get(unread, 0), operation.value.get("start", 0))
    for request in requests_of(history, "delete-records"):
        for number, below in () if request.failed else request.began.value:
            partition = PartitionName(request.began.key, number)
            starts[partition] = max(starts.get(partition, 0), below)
    return {partition: end._replace(start=starts[partition]) for partition, end in ends.items()}


def in_sync(history: History, names: Mapping[int, str]) -> dict[PartitionName, InSync]:
    """The in-sync replicas at the end, per partition; a node without a name is named by its number.

    Brokers are asked again after recovery, because recovery may have ended on an outdated view: brokers that
    follow a controller without a majority report a full ISR until they know the new controller.
    """
    recovered = [operation for operation in history.of("recover") if operation.type is not INVOKE]
    if not recovered:
        return {}
    found = _recovered(recovered[-1], names)
    later: dict[PartitionName, dict[str, tuple[str, ...]]] = {}
    for operation in history.observed(PARTITIONS):
        if operation.index > recovered[-1].index:
            seen = msgspec.convert(operation.value, PartitionsSeen)
            if seen.began_ns > recovered[-1].time_ns:
                for partition, isr in _reported_isr(seen, names):
                    later.setdefault(partition, {})[operation.node or ""] = isr
    return {partition: _since(known, later.get(partition, {})) for partition, known in found.items()}


def _since(known: InSync, later: Mapping[str, tuple[str, ...]]) -> InSync:
    """The in-sync replicas after the last reports of brokers."""
    if not later:
        return known
    first, *others = later.values()
    nodes = tuple(sorted(set(first).intersection(*others)))
    return known._replace(nodes=nodes, left=tuple(node for node in known.nodes if node not in nodes))


def _recovered(operation: Operation, names: Mapping[int, str]) -> dict[PartitionName, InSync]:
    """The in-sync replicas at the end of recovery."""
    return {
        PartitionName(state.topic, state.partition): InSync(
            leader=None if state.leader is None else names.get(state.leader, str(state.leader)),
            nodes=_named(sorted(state.isr), names),
            left=(),
            op=operation.index,
        )
        for state in msgspec.convert(operation.value, RecoveryRecorded).partitions or ()
    }


def _reported_isr(
    seen: PartitionsSeen, names: Mapping[int, str]
) -> Iterator[tuple[PartitionName, tuple[str, ...]]]:
    for topic, states in seen.topics.items():
        for state in states:
            yield PartitionName(topic, state.partition), _named(state.isr, names)


def _named(nodes: Iterable[int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(names.get(node, str(node)) for node in nodes)


def metadata_end(history: History, names: Mapping[int, str]) -> MetadataEnd | None:
    """The last answer of the leader of the highest epoch; None if no answer had a high watermark."""
    best: tuple[int, Operation, LeaderSeen] | None = None
    for operation, answer in leaders_seen(history):
        if answer.high_watermark >= 0 and (best is None or answer.leader_epoch >= best[0]):
            best = (answer.leader_epoch, operation, answer)
    if best is None:
        return None
    _, operation, answer = best
    fetched: dict[str, int] = {}
    for other in (*answer.voters, *answer.observers):
        name, end = names.get(other.id, str(other.id)), other.log_end_offset
        fetched[name] = min(end, fetched.get(name, end))  # two if a disk was replaced
    return MetadataEnd(operation.node or "", answer.high_watermark, fetched, operation.index)
