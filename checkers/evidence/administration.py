"""Admin operations, each as a request and its answer; see docs/histories.md."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, PartitionName
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import FAIL, INFO, INVOKE, OK, Decoded, History, Operation, once
from checkers.history.requested import (
    ElectionRequested,
    PartitionsAnswered,
    ReassignmentRequested,
    TopicAltered,
)

PREFERRED, UNCLEAN = "preferred", "unclean"
_UNKNOWN = (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION)
"""Errors after which the operation may have been performed."""


class AdminOperation(NamedTuple):
    """One admin operation.

    Attributes:
        began: its invocation.
        ended: its completion, None without one.
    """

    began: Operation
    ended: Operation | None

    @property
    def from_ns(self) -> int:
        """When it was invoked."""
        return self.began.time_ns

    @property
    def to_ns(self) -> int:
        """When it had ended; `NEVER` if that is not known."""
        return NEVER if self.ended is None or self.unknown else self.ended.time_ns

    @property
    def unknown(self) -> bool:
        """Whether its outcome is unknown.  Some error codes of a refusal also mean that."""
        if self.ended is None or self.ended.type is not FAIL:
            return self.ended is None or self.ended.type is INFO
        return isinstance(self.ended.value, dict) and self.ended.value.get("code") in _UNKNOWN

    @property
    def failed(self) -> bool:
        """Whether it certainly was not performed."""
        return self.ended is not None and self.ended.type is FAIL and not self.unknown

    @property
    def operations(self) -> tuple[int, ...]:
        """Indices of its operations."""
        return (self.began.index, *(() if self.ended is None else (self.ended.index,)))


class Election(NamedTuple):
    """A request for elections.

    Attributes:
        request: its operations.
        type: ``preferred`` or ``unclean``.
        asked: the requested partitions, None for all.
        codes: error code by partition, as far as it was answered.
    """

    request: AdminOperation
    type: str
    asked: frozenset[PartitionName] | None
    codes: dict[PartitionName, int]

    def may_have_elected(self, partition: PartitionName) -> bool:
        """Whether it may be the reason for a partition's new leader."""
        if self.request.failed or (self.asked is not None and partition not in self.asked):
            return False
        if self.request.unknown:
            return True
        # If a broker loses the controller's answer, it asks again, and no election is needed any more.  An
        # answer for all partitions leaves out those that need no election.
        code = self.codes.get(partition, ErrorCode.ELECTION_NOT_NEEDED)
        return code in {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED} or code in _UNKNOWN


class Reassignment(NamedTuple):
    """The part of a reassignment request that concerns one partition.

    Attributes:
        request: its operations.
        partition: the partition.
        target: the replicas that were requested, None to cancel.
        code: error code of the answer, None if there is none.
    """

    request: AdminOperation
    partition: PartitionName
    target: tuple[int, ...] | None
    code: int | None

    @property
    def acknowledged(self) -> bool:
        """Whether Kafka acknowledged the request."""
        return self.code == ErrorCode.NONE

    @property
    def refused(self) -> bool:
        """Whether Kafka certainly did not accept it."""
        answered = self.code is not None and self.code != ErrorCode.NONE and self.code not in _UNKNOWN
        return self.request.failed or answered

    @property
    def cancelled_unheard(self) -> bool:
        """Whether nothing was left to cancel.  A broker that lost the first answer gets this one."""
        return self.target is None and self.code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def requests_of(history: History, f: str) -> list[AdminOperation]:
    """All requests of one kind, in the order of their invocations."""
    found: list[AdminOperation] = []
    begun: dict[int | str, int] = {}
    for operation in history.of(f):
        if operation.type is INVOKE:
            begun[operation.process] = len(found)
            found.append(AdminOperation(operation, None))
        elif operation.process in begun:
            place = begun.pop(operation.process)
            found[place] = AdminOperation(found[place].began, operation)
    return found


def alterations_of(history: History) -> list[Decoded[TopicAltered]]:
    """All requests that alter a topic's config, invocations and completions.

    Raises:
        msgspec.ValidationError: one is not as docs/histories.md says.
    """
    asked = (operation for operation in history.of("alter-topic") if operation.value is not None)
    return [Decoded(operation, msgspec.convert(operation.value, TopicAltered)) for operation in asked]


@once
def elections_of(history: History) -> list[Election]:
    """All requests for elections.

    Raises:
        msgspec.ValidationError: one is not as docs/histories.md says.
    """
    return [_election(request) for request in requests_of(history, "elect-leaders")]


def _election(request: AdminOperation) -> Election:
    asked = msgspec.convert(request.began.value, ElectionRequested).partitions
    named = None if asked is None else frozenset(PartitionName(*place) for place in asked)
    return Election(request, str(request.began.key), named, _codes(request))


def reassignments_of(history: History) -> list[Reassignment]:
    """All requested reassignments and cancellations, by partition, in the order of the invocations.

    Raises:
        msgspec.ValidationError: a request is not as docs/histories.md says.
    """
    return [each for request in requests_of(history, "alter-reassignments") for each in _asked(request)]


def _asked(request: AdminOperation) -> Iterator[Reassignment]:
    codes = _codes(request)
    for topic, number, target in msgspec.convert(request.began.value, ReassignmentRequested).targets:
        partition = PartitionName(topic, number)
        yield Reassignment(request, partition, target, codes.get(partition))


def _codes(request: AdminOperation) -> dict[PartitionName, int]:
    """Error codes by partition; empty if the request was not acknowledged."""
    if request.ended is None or request.ended.type is not OK:
        return {}
    results = msgspec.convert(request.ended.value, PartitionsAnswered).results
    return {PartitionName(topic, partition): code for topic, partition, code, _ in results}


@once
def performed(history: History) -> dict[str, int]:
    """The number of admin operations of each kind that Kafka answered, by the names of random schedules.

    A request that changes some reassignments and cancels others counts as both.
    """
    counts: Counter[str] = Counter()
    for f in ("elect-leaders", "alter-reassignments", "add-voter", "remove-voter", "create-partitions"):
        for operation in history.of(f):
            if operation.type is OK:
                counts.update(_kinds_of(operation))
    return dict(counts)


def _kinds_of(operation: Operation) -> set[str]:
    if operation.f == "elect-leaders":
        return {f"elect-{operation.key}"}
    if operation.f == "create-partitions":
        return {"add-partitions"}
    if operation.f != "alter-reassignments":
        return {"voters"}
    targets = msgspec.convert(operation.value, ReassignmentRequested).targets
    return {"cancel" if wanted is None else "reassign" for _, _, wanted in targets}
