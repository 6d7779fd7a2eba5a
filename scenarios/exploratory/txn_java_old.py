"""exploratory/txn-java-old: the schedule of txn, with Kafka's own client in two versions."""

from harness.vocabulary import RandomSchedule, Scenario, Topology, TxnWorkload
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE

LIBRARIES = ("kafka-python", "confluent-kafka", "kafka-clients", "kafka-clients-other")

SCENARIO = Scenario(
    summary="Transactions of kafka-clients 3.9 and of the tested version, and of two other libraries.",
    why=(
        "Applications are upgraded long after their brokers. A producer of 3.9 has transactions of version 1 "
        "in a cluster that has version 2 (KIP-890). Newer producers take over its transactional ids, and it "
        "takes over theirs, so a coordinator meets both versions of one library under one id."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=OFTEN_ABORTED),
    workload=TxnWorkload(
        producers=4,
        transactors=8,
        libraries=LIBRARIES,
        java_version="3.9.0",
        final_clients=("confluent-kafka", "kafka-clients", "kafka-clients-other"),
    ),
    ticket="KIP-98, KIP-360, KIP-890, KIP-896",
)
