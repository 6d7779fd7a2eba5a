"""Errors go by Kafka's own names."""

import pytest

from checkers.history.error_codes import error_name, named_code


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (0, "NONE"),
        (3, "UNKNOWN_TOPIC_OR_PARTITION"),
        (6, "NOT_LEADER_OR_FOLLOWER"),
        (7, "REQUEST_TIMED_OUT"),
        (31, "CLUSTER_AUTHORIZATION_FAILED"),
        (39, "INVALID_REPLICA_ASSIGNMENT"),
        (41, "NOT_CONTROLLER"),
        (42, "INVALID_REQUEST"),
        (80, "PREFERRED_LEADER_NOT_AVAILABLE"),
        (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (84, "ELECTION_NOT_NEEDED"),
        (85, "NO_REASSIGNMENT_IN_PROGRESS"),
        (126, "DUPLICATE_VOTER"),
        (127, "VOTER_NOT_FOUND"),
        (133, "SHARE_SESSION_LIMIT_REACHED"),
        (136, "CONTROLLER_ID_NOT_REGISTERED"),
        (31_999, "UNKNOWN"),
    ],
)
def test_names(code: int, name: str) -> None:
    assert error_name(code) == name
    assert named_code(code) == f"{name} ({code})"
