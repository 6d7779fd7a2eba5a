"""Requests for reassignments, numbered and stored, as KIP-179 proposed and Kafka never implemented.

Kafka stores the partitions that are being reassigned, but not the requests.  Here every request gets a
number, one higher than the last.  The values are frozen; pure functions derive one from another.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from checkers.history.error_codes import named_code
from harness.administration.reassignments import MAY_HAPPEN, ReassignmentAnswer
from harness.administration.throttles import Throttle
from harness.errors import UsageError

KEEP_FINISHED_S = 24 * 60 * 60
"""How long the outcome of a request is kept, as KIP-179 proposes."""
_VERSION = 1


class ReassignmentState(StrEnum):
    """The state of one partition of a request."""

    UNKNOWN = "unknown"
    ONGOING = "ongoing"
    COMPLETE = "complete"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    OVERRIDDEN = "overridden"
    ERROR = "error"


FINISHED = frozenset(ReassignmentState) - {ReassignmentState.UNKNOWN, ReassignmentState.ONGOING}


class Received(msgspec.Struct, frozen=True):
    """How much of a partition a new replica has copied.

    Attributes:
        broker: id of the broker with the new replica.
        numerator: bytes that it has; None if unknown.
        denominator: bytes that the partition's leader has; None if unknown, and never 0.
    """

    broker: int
    numerator: int | None
    denominator: int | None

    @property
    def percentage(self) -> float | None:
        """From 0 to 100, None if unknown; it falls while the leader's log grows faster than the copy."""
        if self.numerator is None or self.denominator is None:
            return None
        return min(100.0, 100 * self.numerator / self.denominator)


class PartitionStatus(msgspec.Struct, frozen=True):
    """Status of one partition of a request; `detail` gives the reason, if it is not obvious."""

    topic: str
    partition: int
    state: ReassignmentState
    detail: str
    receiving: tuple[Received, ...]


class RequestedPartition(msgspec.Struct, frozen=True):
    """One partition of a request.

    Attributes:
        topic: its name.
        partition: its number.
        wanted: the replicas requested.
        before: its replicas at the time of the request; empty if unknown.
        code: Kafka's error code; None without an answer so far.
        message: Kafka's error message.
        cancel_asked: whether its cancellation was requested, with or without an answer.
        ended: its last status, if that is final.
    """

    topic: str
    partition: int
    wanted: tuple[int, ...]
    before: tuple[int, ...]
    code: int | None = None
    message: str | None = None
    cancel_asked: bool = False
    ended: PartitionStatus | None = None

    @property
    def place(self) -> tuple[str, int]:
        """The topic and the partition's number."""
        return self.topic, self.partition

    @property
    def is_uncertain(self) -> bool:
        """Whether it is unknown if the reassignment began or never will."""
        return self.code is None or self.code in MAY_HAPPEN


class Request(msgspec.Struct, frozen=True):
    """One request.

    Attributes:
        id: its number.
        asked_at_s: Unix time.
        keep_finished_s: how long it is kept after all of it has ended, seconds.
        partitions: the requested partitions.
        throttle: throttles that it set and that have not been removed since.
        finished_at_s: time of the first observation that all of it had ended, Unix time.
    """

    id: int
    asked_at_s: int
    keep_finished_s: int
    partitions: tuple[RequestedPartition, ...]
    throttle: Throttle | None = None
    finished_at_s: int | None = None


class Requests(msgspec.Struct, frozen=True):
    """All stored requests of a cluster, oldest first; `next_id` has never been assigned."""

    version: int = _VERSION
    next_id: int = 1
    requests: tuple[Request, ...] = ()


def opened(
    requests: Requests,
    partitions: Sequence[RequestedPartition],
    throttle: Throttle | None,
    now_s: int,
    keep_finished_s: int = KEEP_FINISHED_S,
) -> tuple[Requests, Request]:
    """Store a request that is about to be sent."""
    request = Request(requests.next_id, now_s, keep_finished_s, tuple(partitions), throttle)
    return Requests(_VERSION, request.id + 1, (*requests.requests, request)), request


def answered(requests: Requests, number: int, answer: ReassignmentAnswer) -> Requests:
    """Store the answer; a reassignment that began overrides earlier requests for the same partition."""
    results = {(one.topic, one.partition): (one.code, one.message) for one in answer.results}

    def completed(asked: RequestedPartition) -> RequestedPartition:
        whole = (answer.code, answer.message)
        code, message = whole if answer.code else results.get(asked.place, (None, None))
        answered = msgspec.structs.replace(asked, code=code, message=message)
        if answered.is_uncertain or code == 0:
            return answered
        return _ended(answered, ReassignmentState.REFUSED, f"{named_code(code or 0)} {message or ''}".strip())

    begun = {place for place, (code, _) in results.items() if not code and not answer.code}

    def overridden(asked: RequestedPartition) -> RequestedPartition:
        if asked.place not in begun or asked.ended is not None:
            return asked
        return _ended(asked, ReassignmentState.OVERRIDDEN, f"by request {number}")

    return _each(requests, lambda one, asked: _completed_by(one, asked, number, completed, overridden))


def abandoned(requests: Requests, number: int, why: str) -> Requests:
    """Mark a request as never sent."""
    return _each(
        requests,
        lambda one, asked: (
            _ended(asked, ReassignmentState.REFUSED, f"not sent: {why}") if one.id == number else asked
        ),
    )


def cancelling(requests: Requests, number: int, places: Sequence[tuple[str, int]]) -> Requests:
    """Store that the cancellation of some of its partitions is about to be requested."""
    wanted = set(places)
    return _each(
        requests,
        lambda one, asked: (
            msgspec.structs.replace(asked, cancel_asked=True)
            if one.id == number and asked.place in wanted
            else asked
        ),
    )


def cancelled(requests: Requests, number: int, answer: ReassignmentAnswer) -> Requests:
    """Store the answer to a cancellation; after 0 Kafka has restored the replicas."""
    done = {(one.topic, one.partition) for one in answer.results if not one.code and not answer.code}
    return _each(
        requests,
        lambda one, asked: (
            _ended(asked, ReassignmentState.CANCELLED, "")
            if one.id == number and asked.place in done and asked.ended is None
            else asked
        ),
    )


def concluded(requests: Requests, number: int, statuses: Sequence[PartitionStatus], now_s: int) -> Requests:
    """Store the observed statuses of a request that are final.

    An error is checked again each time: another client may request the partition again.
    """
    seen = {(status.topic, status.partition): status for status in statuses}
    final = {place: one for place, one in seen.items() if one.state in FINISHED - {ReassignmentState.ERROR}}
    kept = _each(
        requests,
        lambda one, asked: (
            msgspec.structs.replace(asked, ended=asked.ended or final.get(asked.place))
            if one.id == number
            else asked
        ),
    )
    over = all(status.state in FINISHED for status in statuses)
    return _one(
        kept,
        number,
        lambda one: msgspec.structs.replace(
            one, finished_at_s=(one.finished_at_s or now_s) if over else None
        ),
    )


def freed(requests: Requests, number: int, rest: Throttle | None = None) -> Requests:
    """Remove a request's throttles, except for a given rest."""
    return _one(requests, number, lambda one: msgspec.structs.replace(one, throttle=rest))


def remembered(requests: Requests, now_s: int) -> Requests:
    """Drop requests that ended too long ago; one with throttles is never dropped."""
    kept = tuple(
        one
        for one in requests.requests
        if one.finished_at_s is None or one.throttle or now_s - one.finished_at_s < one.keep_finished_s
    )
    return msgspec.structs.replace(requests, requests=kept)


def find(requests: Requests, number: int | None) -> Request:
    """The request with this number; the newest for None.

    Raises:
        UsageError: there is none.
    """
    known = {one.id: one for one in requests.requests}
    if number is None and known:
        return known[max(known)]
    if number in known:
        return known[number]
    forgotten = number is not None and 0 < number < requests.next_id
    raise UsageError(
        "there is no such request",
        got="no request was made" if number is None else f"--request {number}",
        expected=f"one of {', '.join(map(str, known))}" if known else "an earlier request",
        where="it ended long ago and was removed" if forgotten else "",
        next_step="krucible reassign list" if known else "krucible reassign execute --help",
    )


def holder(requests: Requests, place: tuple[str, int]) -> int | None:
    """Number of the newest request for a partition that Kafka did not refuse, or None."""
    held = (
        one.id
        for one in requests.requests
        for asked in one.partitions
        if asked.place == place
        and (asked.ended is None or asked.ended.state is not ReassignmentState.REFUSED)
    )
    return max(held, default=None)


def _completed_by(
    one: Request,
    asked: RequestedPartition,
    number: int,
    complete: Callable[[RequestedPartition], RequestedPartition],
    other: Callable[[RequestedPartition], RequestedPartition],
) -> RequestedPartition:
    if one.id == number:
        return complete(asked)
    return other(asked) if one.id < number else asked


def _ended(asked: RequestedPartition, state: ReassignmentState, detail: str) -> RequestedPartition:
    status = PartitionStatus(asked.topic, asked.partition, state, detail, ())
    return msgspec.structs.replace(asked, ended=status)


def _each(
    requests: Requests, change: Callable[[Request, RequestedPartition], RequestedPartition]
) -> Requests:
    changed = (
        msgspec.structs.replace(one, partitions=tuple(change(one, asked) for asked in one.partitions))
        for one in requests.requests
    )
    return msgspec.structs.replace(requests, requests=tuple(changed))


def _one(requests: Requests, number: int, change: Callable[[Request], Request]) -> Requests:
    changed = tuple(change(one) if one.id == number else one for one in requests.requests)
    return msgspec.structs.replace(requests, requests=changed)
