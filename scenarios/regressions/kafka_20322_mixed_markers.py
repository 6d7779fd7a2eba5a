"""regressions/kafka-20322-mixed-markers: transactions end while brokers have two versions."""

from harness.vocabulary import (
    Await,
    ElectionType,
    ElectLeaders,
    ErrorCode,
    Expectation,
    InSync,
    LeaderIs,
    LeadsQuorum,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    TxnWorkload,
    Validity,
    broker,
    controller,
)
from scenarios.aborting import OFTEN_ABORTED
from scenarios.upgrading import BROKERS, HELD, changed

ASSIGNMENTS = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
WHOLE = (
    Await(LeadsQuorum()),
    *(
        Await(InSync("txn-0", partition, tuple(map(broker, replicas))), within_ms=60_000)
        for partition, replicas in enumerate(ASSIGNMENTS)
    ),
)

SCENARIO = Scenario(
    summary="Upgrade the controller and one of three brokers, and let that broker coordinate transactions.",
    why=(
        "A coordinator ends a transaction by a request to the leader of each of its partitions. Kafka 4.2.0 "
        "sends older brokers a version of that request that they do not know. So the transaction stays open, "
        "its producer can't begin another one, and read_committed consumers wait."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Pass(4_000),
            *changed(controller(1), BROKERS[0], whole=WHOLE),
            # A broker that comes back leads nothing until it is elected, and coordinates nothing either.
            Perform(
                ElectLeaders(ElectionType.PREFERRED),
                expect=(ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED),
                until_ms=30_000,
            ),
            Await(LeaderIs("txn-0", 0, BROKERS[0])),
            Pass(12_000),
        ),
        duration_ms=35_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, config=OFTEN_ABORTED, start_version="4.1.1"),
    workload=TxnWorkload(assignments=ASSIGNMENTS, transaction_timeout_ms=6_000),
    kafka_version="4.2.1",
    versions_min="4.2.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("hanging-transaction",),
            consequences=("completed-without-marker",),
            before="4.2.1",
            start_before="4.2.0",
            why="KAFKA-20322: fixed in 4.2.1",
        ),
    ),
    assumptions=HELD,
    ticket="KAFKA-20322",
)
