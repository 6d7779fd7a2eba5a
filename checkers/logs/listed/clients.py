"""Ends of an application's topics (Kafka Streams) that clients listed, and records that they read there.

No operation shows what the application sent.  So the records that were read show where its topics end at
least.  Which leader answered a client is not known.  It led in the last epoch that all brokers had reported,
or in a later one.  Brokers without a process do not count.
"""

from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.history.observed import OffsetsRequested, nodes_seen
from checkers.history.operations import INVOKE, OK, History, once
from checkers.history.phases import Phase, phase_began_ns
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
        asked_ns: when the end was requested at the earliest.
        time_ns: when the operation ended.
        offset: the end.
    """

    what: OffsetsRequested
    operation: int
    asked_ns: int
    time_ns: int
    offset: int


class ReadUpTo(NamedTuple):
    """The offset after the last record that an operation returned.

    Attributes:
        operation: index of its completion.
        polled: whether it is a poll of a consumer of the load.
        since_ns: no loss before this time explains that the last record is missing later.
        time_ns: when it ended.
        offset: the offset.
    """

    operation: int
    polled: bool
    since_ns: int
    time_ns: int
    offset: int


@once
def client_ends(history: History) -> dict[PartitionName, list[ClientEnd]]:
    """All ends that clients listed of an application's topics; empty without an application.

    An end is left out if it is unknown when it was requested.
    """
    found: dict[PartitionName, list[ClientEnd]] = {}
    for request in _requests(history, "final-read", "read-output", "list-end"):
        operation, asked_ns = request.ended, _asked_ns(history, request)
        end = None if operation is None else (operation.value or {}).get("end")
        if operation is not None and end is not None and asked_ns is not None:
            name = PartitionName(str(operation.key), operation.value["partition"])
            listed = ClientEnd(_what(request), operation.index, asked_ns, operation.time_ns, end)
            found.setdefault(name, []).append(listed)
    return found


def _asked_ns(history: History, request: AdminOperation) -> int | None:
    """When the end in an operation was requested at the earliest; None if unknown.

    A final reader lists the ends of all partitions of a topic before it begins the operation of the first.
    """
    if request.began.f == "final-read":
        return phase_began_ns(history, Phase.FINAL_READ)
    return request.began.time_ns


@once
def client_reads(history: History) -> dict[PartitionName, list[ReadUpTo]]:
    """What clients read of an application's topics; empty without an application.

    A consumer may have fetched what a poll returns long before, but not before it was sent.  In other
    operations, the reader assigns itself the partition after the operation began, and then fetches.
    """
    found: dict[PartitionName, list[ReadUpTo]] = {}
    for request in _requests(history, "poll", "final-read", "read-output"):
        operation = request.ended
        if operation is None or operation.type is not OK:
            continue
        polled = operation.f == "poll"
        for partition, offset, value in _last(operation.f, operation.value):
            name = PartitionName(str(operation.key), partition)
            since_ns = _sent_ns(history).get((name.topic, value), 0) if polled else request.began.time_ns
            read = ReadUpTo(operation.index, polled, since_ns, operation.time_ns, offset + 1)
            found.setdefault(name, []).append(read)
    return found


@once
def _sent_ns(history: History) -> dict[tuple[str, int | str], int]:
    """When the send of each value to each topic was invoked first."""
    found: dict[tuple[str, int | str], int] = {}
    for operation in history.of("send"):
        if operation.type is INVOKE:
            for value in _sent(operation.value):
                found.setdefault((str(operation.key), value), operation.time_ns)
    return found


def _sent(value: Any) -> Iterable[int | str]:
    """The values that a send requested; consecutive ones are given as a run."""
    if isinstance(value, dict):
        return range(value["first"], value["first"] + value["count"])
    return (one for _, one in value)


def without_process(history: History, node: str, at_ns: int) -> bool:
    """Whether a node's process had ended by a time and was never seen again, so that it answered nobody."""
    states = nodes_seen(history, node)
    last = [seen for operation, seen in states if operation.time_ns <= at_ns][-1:]
    later = (seen for operation, seen in states if operation.time_ns > at_ns)
    return any(seen.exited for seen in last) and all(seen.exited for seen in later)


def known_epoch(views: Iterable[ReportedPartitionState], brokers: Collection[str], at_ns: int) -> int:
    """The epoch that all brokers knew of a partition's leader at a time; `NO_EPOCH` if unknown.

    Args:
        views: what brokers reported of the partition.
        brokers: names of all brokers that may have answered.
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


def _last(f: str, value: dict[str, Any]) -> Iterator[tuple[int, int, int | str]]:
    """Partition, offset and value of the last record of each run that an operation returned."""
    if f == "read-output":
        runs = [(value["partition"], [(row[0], row[-1]) for row in value["records"]])]
    else:
        runs = [
            (number, list(zip(offsets, values, strict=True))) for number, offsets, values in value["records"]
        ]
    yield from ((number, *max(records, key=itemgetter(0))) for number, records in runs if records)
