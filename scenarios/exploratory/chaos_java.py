"""exploratory/chaos-java: the schedule of chaos, with a load of Kafka's own client as well."""

from harness.vocabulary import LogWorkload, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS

LIBRARIES = ("kafka-python", "confluent-kafka", "kafka-clients")
SCENARIO = Scenario(
    summary="Random faults under the load of three client libraries, Kafka's own among them.",
    why=(
        "Most applications use kafka-clients, which speaks the newest protocols: it sends topics by their "
        "ids, and has up to five batches in flight. A defect that only such requests meet stays hidden from "
        "other libraries."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        loss_share=0.12,
        disks={"broker-disk": 2, "follower-disk": 2, "leader-disk": 1, "one-directory": 1, "power": 2},
        changes={"alter": 2, "add-partitions": 1},
        blinks=BLINKS,
    ),
    topology=Topology(controllers=4, brokers=4, initial_voters=3),
    workload=LogWorkload(producers=6, consumers=3, libraries=LIBRARIES, final_clients=LIBRARIES),
    ticket="KIP-98, KIP-516, KIP-679",
)
