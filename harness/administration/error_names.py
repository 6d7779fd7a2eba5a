"""Kafka's names of its error codes, where the library calls some by names that they had once or never."""

from kafka.errors import for_code

_MISNAMED = {
    -1: "UNKNOWN_SERVER_ERROR",
    0: "NONE",
    6: "NOT_LEADER_OR_FOLLOWER",
    39: "INVALID_REPLICA_ASSIGNMENT",
}


def error_name(code: int) -> str:
    """Kafka's name of a code; ``UNKNOWN`` for one that the library does not know."""
    name: str = _MISNAMED.get(code) or for_code(code).message
    return name


def named_code(code: int) -> str:
    """Name and number, as `NO_REASSIGNMENT_IN_PROGRESS (85)`."""
    return f"{error_name(code)} ({code})"
