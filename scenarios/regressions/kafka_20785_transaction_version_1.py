"""regressions/kafka-20785-transaction-version-1: the same late commit is fenced, as its epoch is old."""

import msgspec

from harness.vocabulary import Scenario
from scenarios.regressions.kafka_20785_late_commit import SCENARIO as NEWER

SCENARIO: Scenario = msgspec.structs.replace(
    NEWER,
    summary="A commit of the older protocol waits until its transaction has timed out, and is fenced.",
    why=(
        "With transaction.version 1 the coordinator compares the epochs before it looks at the transaction's "
        "state, and answers PRODUCER_FENCED."
    ),
    workload=msgspec.structs.replace(NEWER.workload, transaction_version=1),
    expectations=(),
)
