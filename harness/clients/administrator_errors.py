"""Classifies errors of admin requests: the change was not made (fail), or it may have been made (info).

There is one table for both libraries.  A change certainly failed only if its only request was refused before
anything was appended.  A broker repeats requests that it forwards to the controller (KIP-590) if the
controller changes, so it is unknown whether an answer is that of the only attempt.  And a controller that
resigns answers NOT_CONTROLLER to changes that its successor commits.
"""

from typing import NamedTuple

from checkers.history.operations import OperationType


class Refusal(NamedTuple):
    """An answer to OffsetCommit that proves that nothing was appended."""

    code: int
    name: str
    reason: str


REFUSED_COMMITS: tuple[Refusal, ...] = (
    Refusal(3, "UNKNOWN_TOPIC_OR_PARTITION", "the broker looks up the topic before it calls the coordinator"),
    Refusal(12, "OFFSET_METADATA_TOO_LARGE", "sizes are verified before the append"),
    Refusal(14, "COORDINATOR_LOAD_IN_PROGRESS", "a coordinator that loads takes no writes"),
    Refusal(22, "ILLEGAL_GENERATION", "the generation is verified before the append"),
    Refusal(24, "INVALID_GROUP_ID", "the id is verified before the append"),
    Refusal(25, "UNKNOWN_MEMBER_ID", "the member is verified before the append"),
    Refusal(27, "REBALANCE_IN_PROGRESS", "the group's state is verified before the append"),
    Refusal(30, "GROUP_AUTHORIZATION_FAILED", "permission is checked before the append"),
    Refusal(69, "GROUP_ID_NOT_FOUND", "the group is looked up before the append"),
    Refusal(110, "FENCED_MEMBER_EPOCH", "the member's epoch is verified before the append"),
    Refusal(113, "STALE_MEMBER_EPOCH", "the member's epoch is verified before the append"),
)
"""COORDINATOR_NOT_AVAILABLE (15) and NOT_COORDINATOR (16) are not included: Kafka also returns them for an
append whose replicas were too slow, or whose leader was deposed while it waited.
"""

_REFUSED_DELETIONS = {
    14: "a coordinator that loads takes no writes",
    24: "the id is verified before the append",
    68: "only a group without members is deleted",
    69: "there is no such group",
    86: "a member subscribes to the topic",
}
"""Answers to a deletion of a group, or of its offsets, that prove that nothing was deleted."""

_REFUSED_STARTS = {
    3: "there is no such topic, or nothing is stored for it",
    24: "the id is verified before the append",
    29: "permission is checked before the append",
    30: "permission is checked before the append",
    68: "only a group without members is changed",
    69: "there is no such share group",
}
"""Answers to a request to set or delete start offsets of a share group that prove that nothing was changed.

The group's coordinator first appends to its own log, and then asks the share coordinator, several times if
necessary.  So NOT_COORDINATOR (16) and COORDINATOR_LOAD_IN_PROGRESS (14) may come from either of them, after
a change (``GroupCoordinatorService.alterShareGroupOffsets``, ``deleteShareGroupOffsets``).
"""

NOT_FOUND = frozenset({14, 15})
"""Errors of FindCoordinator, after which no commit is sent."""

_REASONS = {refusal.code: refusal.reason for refusal in REFUSED_COMMITS}


def classify_deletion(code: int) -> tuple[OperationType, str]:
    """Whether a deletion of a group with this error certainly did not happen, and the error to record."""
    reason = _REFUSED_DELETIONS.get(code)
    if reason is None:
        return OperationType.INFO, f"error {code} (may stand for an append)"
    return OperationType.FAIL, f"error {code} ({reason})"


def classify_start(code: int) -> tuple[OperationType, str]:
    """Whether a change of start offsets with this error certainly did not happen, and the error to record."""
    reason = _REFUSED_STARTS.get(code)
    if reason is None:
        return OperationType.INFO, f"error {code} (may stand for a change)"
    return OperationType.FAIL, f"error {code} ({reason})"


def classify_commit(code: int, text: str, *, only_attempt: bool) -> tuple[OperationType, str]:
    """Whether a commit with this error code certainly did not happen, and the error to record.

    Args:
        code: Kafka's error code.
        text: the library's error text.
        only_attempt: whether the library sends a commit at most once.
    """
    reason = _REASONS.get(code)
    if reason is None:
        return OperationType.INFO, f"{text} (may stand for an append)"
    if not only_attempt:
        return OperationType.INFO, f"{text} (an earlier attempt of the library may have been appended)"
    return OperationType.FAIL, f"{text} ({reason})"
