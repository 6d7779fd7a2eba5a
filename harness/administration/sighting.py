"""Observes the reassignments in a cluster, for `progress`."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

import msgspec

from harness.administration.addressing import Reach
from harness.administration.progress import ReassignmentView, progress_of
from harness.administration.reassignments import Address, list_reassignments, log_sizes
from harness.administration.requests import PartitionStatus, ReassignmentState, Request, Requests
from harness.errors import KrucibleError
from harness.kafka.answers import ClusterAnswer, Place
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError

ASK_TIMEOUT_MS = 3000
SETTLE_BOUND_S = 3.0
"""Bound for a broker to learn what the controller reported; observed to take milliseconds."""
_PAUSE_S = 0.1

T = TypeVar("T")


def cluster_of(reach: Reach, topics: Iterable[str]) -> ClusterAnswer:
    """The cluster as the first broker that answers sees it.

    Raises:
        KrucibleError: no broker answers.
    """
    names = sorted(set(topics))
    return _first(reach, lambda address: _cluster(address, names))


def status_of(reach: Reach, request: Request, requests: Requests) -> tuple[PartitionStatus, ...]:
    """The status of a request; waits until a broker has learnt what the controller knows.

    Raises:
        KrucibleError: no broker answers.
    """
    deadline = time.monotonic() + SETTLE_BOUND_S
    places = [asked.place for asked in request.partitions]
    certain = {asked.place for asked in request.partitions if not asked.is_uncertain}
    view = look(reach, places)
    while True:
        statuses = progress_of(request, requests, view)
        unsettled = [
            one for one in statuses if one.state is ReassignmentState.UNKNOWN and _place(one) in certain
        ]
        if not unsettled:
            return statuses
        if time.monotonic() > deadline:
            return progress_of(request, requests, msgspec.structs.replace(view, settled=True))
        time.sleep(_PAUSE_S)
        view = look(reach, places)


def look(reach: Reach, places: Sequence[Place]) -> ReassignmentView:
    """Ask the controller (through a broker), then that broker, then each broker about its own logs.

    Raises:
        KrucibleError: no broker answers.
    """
    names = sorted({topic for topic, _ in places})
    wanted = set(places)
    ongoing, cluster = _first(
        reach, lambda address: (list_reassignments(address, ASK_TIMEOUT_MS), _cluster(address, names))
    )
    partitions = {
        (name, state.partition): state
        for name, topic in cluster.topics.items()
        if not topic.error
        for state in topic.partitions
    }
    return ReassignmentView(
        {(one.topic, one.partition): one for one in ongoing if (one.topic, one.partition) in wanted},
        {place: state for place, state in partitions.items() if place in wanted},
        _sizes(reach, places),
        settled=False,
    )


def _sizes(reach: Reach, places: Sequence[Place]) -> dict[int, Mapping[Place, int]]:
    """Bytes by broker; all are asked at once, and a broker without an answer is absent."""
    asked = [(address, reach.ids[address]) for address in reach.brokers if address in reach.ids]
    if not asked:
        return {}
    with ThreadPoolExecutor(max_workers=len(asked)) as pool:
        answers = list(pool.map(lambda one: _sizes_of(one[0], one[1], places), asked))
    return {broker: sizes for (_, broker), sizes in zip(asked, answers, strict=True) if sizes is not None}


def _sizes_of(address: Address, broker: int, places: Sequence[Place]) -> Mapping[Place, int] | None:
    try:
        logs = log_sizes(address, broker, places, ASK_TIMEOUT_MS)
    except WireError:
        return None
    return {(log.topic, log.partition): log.size_bytes for log in logs if not log.is_future}


def _cluster(address: Address, names: Sequence[str]) -> ClusterAnswer:
    with closing(Endpoint(*address, ASK_TIMEOUT_MS / 1000)) as endpoint:
        return endpoint.cluster(names)


def _place(status: PartitionStatus) -> Place:
    return status.topic, status.partition


def _first(reach: Reach, ask: Callable[[Address], T]) -> T:
    """The answer of the first broker that answers."""
    failures = []
    for address in reach.brokers:
        try:
            return ask(address)
        except WireError as error:
            failures.append(f"{reach.names[address]}: {error}")
    raise KrucibleError(
        "no broker answers",
        got="; ".join(failures) or "none was found",
        expected="one that is running and reaches the active controller",
        where=str(reach.folder or ""),
        next_step="krucible cluster status",
    )
