"""Ends of an application's topics (Kafka Streams) that clients listed, and records that they read there.

No operation shows what the application sent.  So the records that were read show where its topics end at
least.  Which leader answered a client is not known.  It led in the last epoch that all brokers had reported,
or in a later one.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.history.observed import OffsetsRequested
from checkers.history.operations import OK, History, once
from checkers.history.polls import Isolation
from checkers.history.setup import recorded_setup
from checkers.licences.facts import ReportedPartitionState

NO_EPOCH = -1
"""Stands for the epoch of a leader that is not known."""
_APPLIED_NS = 1_000_000_000
"""Time after which a broker acts by an epoch that it has reported."""


class ClientEnd(NamedTuple):
    """An end that a client listed.

    Attributes:
        what: what was requested: the high watermark or the last stable offset.
        operation: index of the completion of the operation.
        began_ns: when the operation began.
        time_ns: when it ended.
        offset: the end.
    """

    what: OffsetsRequested
    operation: int
    began_ns: int
    time_ns: int
    offset: int


class ReadUpTo(NamedTuple):
    """The offset after the last record that an operation returned.

    Attributes:
        operation: index of its completion.
        since_ns: when the records were in the log at the earliest.
        time_ns: when it ended.
        offset: the offset.
    """

    operation: int
    since_ns: int
    time_ns: int
    offset: int


@once
def client_ends(history: History) -> dict[PartitionName, list[ClientEnd]]:
    """All ends that clients listed of an application's topics; empty without an application."""
    found: dict[PartitionName, list[ClientEnd]] = {}
    for request in _requests(history, "final-read", "read-output", "list-end"):
        operation = request.ended
        end = None if operation is None else (operation.value or {}).get("end")
        if operation is not None and end is not None:
            name = PartitionName(str(operation.key), operation.value["partition"])
            times_ns = (request.began.time_ns, operation.time_ns)
            found.setdefault(name, []).append(ClientEnd(_what(request), operation.index, *times_ns, end))
    return found


@once
def client_reads(history: History) -> dict[PartitionName, list[ReadUpTo]]:
    """What clients read of an application's topics; empty without an application.

    A consumer may have fetched what a poll returns long before.  Other reads begin with a new consumer.
    """
    found: dict[PartitionName, list[ReadUpTo]] = {}
    for request in _requests(history, "poll", "final-read", "read-output"):
        operation = request.ended
        if operation is None or operation.type is not OK:
            continue
        since_ns = 0 if operation.f == "poll" else request.began.time_ns
        for partition, offset in _last(operation.f, operation.value):
            name = PartitionName(str(operation.key), partition)
            read = ReadUpTo(operation.index, since_ns, operation.time_ns, offset + 1)
            found.setdefault(name, []).append(read)
    return found


def known_epoch(views: Iterable[ReportedPartitionState], brokers: Collection[str], at_ns: int) -> int:
    """The epoch that all brokers knew of a partition's leader at a time; `NO_EPOCH` if unknown.

    Args:
        views: what brokers reported of the partition.
        brokers: names of all brokers.
        at_ns: the time.
    """
    known = dict.fromkeys(brokers, NO_EPOCH)
    for view in views:
        if view.node in known and view.time_ns + _APPLIED_NS <= at_ns:
            known[view.node] = max(known[view.node], view.leader_epoch)
    return min(known.values(), default=NO_EPOCH)


def _requests(history: History, *functions: str) -> Iterator[AdminOperation]:
    if recorded_setup(history).workload.application:
        for f in functions:
            yield from requests_of(history, f)


def _what(request: AdminOperation) -> OffsetsRequested:
    asked = request.began
    committed = asked.f == "read-output" or (
        asked.f == "final-read" and asked.value["isolation"] == Isolation.READ_COMMITTED
    )
    return OffsetsRequested.STABLE if committed else OffsetsRequested.LATEST


def _last(f: str, value: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Partition and last offset of the records that an operation returned."""
    if f == "read-output":
        runs = [(value["partition"], [row[0] for row in value["records"]])]
    else:
        runs = [(partition, offsets) for partition, offsets, _ in value["records"]]
    yield from ((partition, max(offsets)) for partition, offsets in runs if offsets)
