"""exploratory/txn-java: the schedule of txn, with transactions of Kafka's own client as well."""

from harness.vocabulary import RandomSchedule, Scenario, Topology, TxnWorkload
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE
from scenarios.exploratory.chaos_java import LIBRARIES

SCENARIO = Scenario(
    summary="Transactions of three client libraries, Kafka's own among them, under faults of every kind.",
    why=(
        "Only kafka-clients speaks transactions of version 2 (KIP-890): each has an epoch of its own, and no "
        "request adds partitions to it. Where producers of both versions fence each other, a coordinator "
        "meets both protocols under one transactional id."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=OFTEN_ABORTED),
    workload=TxnWorkload(transactors=6, libraries=LIBRARIES, final_clients=LIBRARIES),
    ticket="KIP-98, KIP-360, KIP-890",
)
