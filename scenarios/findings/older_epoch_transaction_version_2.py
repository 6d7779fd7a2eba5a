"""findings/older-epoch-transaction-version-2: the same, with an epoch for each transaction (KIP-890)."""

import msgspec

from harness.vocabulary import Scenario
from scenarios.findings.older_epoch import SCENARIO as OLDER

SCENARIO: Scenario = msgspec.structs.replace(
    OLDER,
    summary="An older instance asks to raise its epoch during a transaction of version 2.",
    why=(
        "With transaction.version 2 the coordinator compares the epochs of more requests, but not that of "
        "InitProducerId. It answers the commit with INVALID_TXN_STATE instead of PRODUCER_FENCED, because it "
        "takes it for a retry (KAFKA-20785)."
    ),
    workload=msgspec.structs.replace(OLDER.workload, transaction_version=2),
    versions_min="4.1.0",
)
