"""exploratory/offsets-java: the schedule of offsets, with Kafka's own client as well."""

from harness.vocabulary import OffsetsWorkload, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.exploratory.chaos_java import LIBRARIES
from scenarios.grouping import GROUP_BROKERS

SCENARIO = Scenario(
    summary="Three client libraries, Kafka's own among them, commit and fetch offsets of several groups.",
    why=(
        "Most applications commit offsets with kafka-clients, which uses newer versions of the requests than "
        "the other libraries. Two versions of a request must write and read the same offsets. A defect here "
        "loses an acknowledged commit, or returns an old one, to the clients of one version."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(config=GROUP_BROKERS | OFTEN_CLEANED),
    workload=OffsetsWorkload(clients=18, libraries=LIBRARIES),
    ticket="KIP-98, KIP-101",
)
