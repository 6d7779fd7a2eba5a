"""Batches that a leader refused because the coordinator did not know their partition."""

from typing import Any

import pytest

from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.operations import OperationType
from checkers.transactional.client_errors import check_client_errors
from checkers.verdict.verdict import Anomaly
from tests.checkers.admin_histories import TOPIC, AdminStory

NAME, STATES_ID = "txn-0", "c3RhdGVzAAAAAAAAAAAAAA"
KNOWN = {"client": "kafka-python"}
NOT_ADDED = (
    "InvalidTxnStateError: [Error 48] InvalidTxnStateError: Partition was not added to the transaction; its "
    "commit was never asked for; abort: KafkaError: Cannot execute transactional method because we are in an "
    "error state: [Error 48] InvalidTxnStateError: Partition was not added to the transaction"
)


class Story(AdminStory):
    """Broker 1 coordinates the transactions of process 7, which begin at 100 ms; times in milliseconds."""

    def __init__(self, *, moved_at_ms: float | None = None, coordinated: bool = True) -> None:
        workload = {"workers": 100, "transaction_timeout_ms": 10_000, "durable_processes": [50]}
        super().__init__(workload=workload)
        self.created(at_ms=-90)
        if coordinated:
            self.record(-80, "TOPIC_RECORD", {"name": TRANSACTIONS_TOPIC, "topicId": STATES_ID})
            state = {"replicas": [1, 3], "isr": [1, 3], "leader": 1, "leaderEpoch": 0}
            self.record(-70, "PARTITION_RECORD", {"partitionId": 0, "topicId": STATES_ID, **state})
        if moved_at_ms is not None:
            change = {"partitionId": 0, "topicId": STATES_ID, "leader": 3}
            self.record(moved_at_ms, "PARTITION_CHANGE_RECORD", change)
        self.record(900, "NO_OP_RECORD", {})

    def initialise(self, at_ms: float = 50, process: int = 7, how: str = "ok") -> "Story":
        self.add(at_ms, process, OperationType.INVOKE, "init-transactions", key=NAME, value=KNOWN)
        self.add(at_ms + 5, process, OperationType(how), "init-transactions", key=NAME, value=KNOWN)
        return self

    def transact(self, at_ms: float, end_ms: float, error: str | None = None, **fields: Any) -> "Story":
        sends = [["send", TOPIC, 0, 1]]
        asked = KNOWN | {"end": "commit", "mops": sends}
        mops = [[*sends[0], None if error else 3]]
        done = asked | {"mops": mops, "ended": None if error else "commit", "ending_ns": 10**6 * end_ms}
        self.add(at_ms, 7, OperationType.INVOKE, "txn", key=NAME, value=asked)
        how = OperationType.FAIL if error else OperationType.OK
        self.add(end_ms, 7, how, "txn", key=NAME, value=done | fields, error=error)
        return self

    def anomaly(self) -> Anomaly:
        (found,) = check_client_errors(self.history()).anomalies
        assert found.id == "transaction-forgotten"
        return found


def test_a_partition_that_the_coordinator_added_and_does_not_know_is_illegal() -> None:
    found = Story().initialise().transact(100, 110, NOT_ADDED).anomaly()
    assert found.illegal
    assert found.explanation == (
        "Process 7 sent records after the coordinator had added their partition.",
        "The coordinator then did not know the partition, although it knew the producer and its epoch.",
    )


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(Story().initialise(process=9, how="info").initialise(60), id="another producer"),
        pytest.param(Story().initialise(20).transact(30, 40).initialise(), id="a former producer"),
        pytest.param(Story().initialise(20).transact(30, 40), id="a transaction that was ended once"),
        pytest.param(Story(moved_at_ms=30).initialise(), id="an earlier move of the coordinator"),
    ],
)
def test_what_does_not_explain_the_refusal(before: Story) -> None:
    assert before.transact(100, 110, NOT_ADDED).anomaly().illegal


@pytest.mark.parametrize(
    ("before", "doubt"),
    [
        pytest.param(Story(), "no acknowledged initialisation", id="no initialisation"),
        pytest.param(
            Story().initialise(-1500).transact(-1400, -100, ending_ns=-1_200_000_000),
            "requested twice",
            id="an end that took long",
        ),
        pytest.param(
            Story().initialise(20).transact(30, 40, "_MSG_TIMED_OUT: Local: Message timed out"),
            "requested twice",
            id="an end that failed",
        ),
        pytest.param(Story(moved_at_ms=80).initialise(), "former one", id="a move"),
        pytest.param(Story(coordinated=False).initialise(), "not known which", id="no coordinator"),
    ],
)
def test_what_leaves_a_doubt(before: Story, doubt: str) -> None:
    found = before.transact(100, 110, NOT_ADDED).anomaly()
    assert not found.illegal
    assert doubt in (found.licence or "")


def test_other_errors_beside_it_are_judged_as_refusals_of_the_coordinator() -> None:
    found = Story().initialise().transact(100, 110, f"_MSG_TIMED_OUT: Local: x; {NOT_ADDED}").anomaly()
    assert not found.illegal
    assert "other errors are reported" in (found.licence or "")
