"""When a feature may have had a level: at first, or after a request that was not refused."""

import pytest

from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.feature_levels import TRANSACTION_VERSION, possible_since_ns
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, Operation, OperationType

S = 1_000_000_000
ADMIN = "admin"


def run(
    *requests: tuple[int, str, int, OperationType | None], first: int = 0, code: int = ErrorCode.NONE
) -> History:
    """A history with requests, each with its second, its feature, its level and its outcome."""
    features = {TRANSACTION_VERSION: first} if first else {}
    operations = [
        Operation(0, 0, "runner", OK, "setup", None, {"kafka_version": "4.4.0", "features": features})
    ]
    for second, feature, level, outcome in requests:
        at = len(operations)
        asked = Operation(at, second * S, ADMIN, INVOKE, "update-feature", feature, {"level": level})
        operations.append(asked)
        if outcome is not None:
            answer = {"level": level, "code": int(code)}
            operations.append(
                Operation(at + 1, second * S + 1, ADMIN, outcome, "update-feature", feature, answer)
            )
    return History("run", "", tuple(operations))


@pytest.mark.parametrize(
    ("history", "since_ns"),
    [
        pytest.param(run(first=2), 0, id="at first"),
        pytest.param(run(first=3), 0, id="higher at first"),
        pytest.param(run(), FOREVER_NS, id="never"),
        pytest.param(run(first=1), FOREVER_NS, id="lower"),
        pytest.param(run((7, TRANSACTION_VERSION, 2, OK)), 7 * S, id="raised"),
        pytest.param(run((7, TRANSACTION_VERSION, 3, OK)), 7 * S, id="raised higher"),
        pytest.param(run((7, TRANSACTION_VERSION, 2, INFO)), 7 * S, id="perhaps raised"),
        pytest.param(run((7, TRANSACTION_VERSION, 2, None)), 7 * S, id="without an answer"),
        pytest.param(run((7, TRANSACTION_VERSION, 1, OK)), FOREVER_NS, id="raised too little"),
        pytest.param(run((7, "metadata.version", 29, OK)), FOREVER_NS, id="another feature"),
        pytest.param(
            run((7, TRANSACTION_VERSION, 2, FAIL), code=ErrorCode.INVALID_REQUEST), FOREVER_NS, id="refused"
        ),
        pytest.param(
            run((7, TRANSACTION_VERSION, 2, FAIL), code=ErrorCode.REQUEST_TIMED_OUT), 7 * S, id="timed out"
        ),
        pytest.param(
            run((7, TRANSACTION_VERSION, 2, None), (9, TRANSACTION_VERSION, 2, OK)), 7 * S, id="repeated"
        ),
    ],
)
def test_the_time_since_which_a_level_is_possible(history: History, since_ns: int) -> None:
    assert possible_since_ns(history, TRANSACTION_VERSION, 2) == since_ns
