"""The progress of a request for reassignments, computed from the request and observations; pure."""

from collections.abc import Mapping

import msgspec

from checkers.history.observed import PartitionAnswer
from harness.administration.requests import (
    PartitionStatus,
    ReassignmentState,
    Received,
    Request,
    RequestedPartition,
    Requests,
    holder,
)
from harness.kafka.answers import Ongoing, Place


class ReassignmentView(msgspec.Struct, frozen=True):
    """The observed state of reassignments, for the console.

    Attributes:
        ongoing: the ongoing reassignments according to the controller.
        partitions: each partition as a broker sees it, asked after `ongoing`; absent if it does not exist.
        sizes: bytes of each partition's log, by broker; a broker that did not answer is absent.
        settled: whether that broker had enough time to learn what the controller knows.
    """

    ongoing: Mapping[Place, Ongoing]
    partitions: Mapping[Place, PartitionAnswer]
    sizes: Mapping[int, Mapping[Place, int]]
    settled: bool


def progress_of(request: Request, requests: Requests, view: ReassignmentView) -> tuple[PartitionStatus, ...]:
    """The status of each partition of a request.

    Args:
        request: the request.
        requests: all stored requests, to find out which of them overrode others.
        view: the current state.
    """
    return tuple(asked.ended or _status(asked, request, requests, view) for asked in request.partitions)


def _status(
    asked: RequestedPartition, request: Request, requests: Requests, view: ReassignmentView
) -> PartitionStatus:
    going = view.ongoing.get(asked.place)
    seen = view.partitions.get(asked.place)
    if going is not None:
        state, detail = _while(asked, request, requests, going)
    elif seen is None:
        state, detail = _doubtful(asked, view, "the partition no longer exists")
    elif seen.replicas == asked.wanted:
        state, detail = ReassignmentState.COMPLETE, ""
    elif asked.cancel_asked and seen.replicas == asked.before:
        state, detail = ReassignmentState.CANCELLED, "shown by its replicas; there was no answer"
    else:
        replicas = ", ".join(map(str, seen.replicas))
        state, detail = _doubtful(asked, view, f"no reassignment is ongoing, and the replicas are {replicas}")
    return PartitionStatus(asked.topic, asked.partition, state, detail, _receiving(asked, going, seen, view))


def _while(
    asked: RequestedPartition, request: Request, requests: Requests, going: Ongoing
) -> tuple[ReassignmentState, str]:
    """The status while a reassignment is in progress: this request's or another's."""
    if set(going.target) == set(asked.wanted):
        return ReassignmentState.ONGOING, ""
    wants = ", ".join(map(str, going.target))
    if asked.is_uncertain:
        return ReassignmentState.UNKNOWN, f"there was no answer, and the ongoing target is {wants}"
    newest = holder(requests, asked.place)
    other = newest is not None and newest > request.id
    return ReassignmentState.OVERRIDDEN, f"by request {newest}" if other else f"by another client, to {wants}"


def _doubtful(asked: RequestedPartition, view: ReassignmentView, what: str) -> tuple[ReassignmentState, str]:
    """The status if neither a beginning nor a successful end was observed."""
    if asked.is_uncertain:
        return ReassignmentState.UNKNOWN, f"there was no answer; {what}"
    return (
        (ReassignmentState.ERROR, what)
        if view.settled
        else (ReassignmentState.UNKNOWN, "it began, but no broker shows it yet")
    )


def _receiving(
    asked: RequestedPartition, going: Ongoing | None, seen: PartitionAnswer | None, view: ReassignmentView
) -> tuple[Received, ...]:
    brokers = [broker for broker in asked.wanted if broker not in asked.before]
    if going is not None and set(going.target) == set(asked.wanted):
        brokers = list(going.adding)
    # A leader's log that is empty, or of unknown size, can't be a divisor.
    leader = (None if seen is None else view.sizes.get(seen.leader, {}).get(asked.place)) or None
    received = (view.sizes.get(broker) for broker in brokers)
    return tuple(
        Received(broker, None if has is None else has.get(asked.place, 0), leader)
        for broker, has in zip(brokers, received, strict=True)
    )
