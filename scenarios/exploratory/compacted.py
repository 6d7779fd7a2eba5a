"""exploratory/compacted: a topic that is compacted while it is written, under the chaos schedule."""

from harness.vocabulary import CompactedWorkload, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS

SCENARIO = Scenario(
    summary="Keyed records and transactions on a topic that is cleaned all the time, under every fault.",
    why=(
        "The cleaner replaces segments while leaders change and followers truncate. A defect here loses the "
        "latest value of a key, and not only older ones. Records of aborted transactions replace nothing."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(config={"log.cleaner.backoff.ms": "500"}),
    workload=CompactedWorkload(transactors=4),
    ticket="KIP-58, KIP-98, KIP-354, KIP-534",
)
