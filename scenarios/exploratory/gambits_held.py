"""exploratory/gambits-held: requests of transactional producers arrive late, after what overtook them."""

from harness.vocabulary import Expectation, Mode, Scenario, Topology, TxnWorkload, Validity
from scenarios.aborting import OFTEN_ABORTED
from scenarios.gambit_schedules import mostly_gambits
from scenarios.regressions.kafka_17754_delayed_end_txn import LATE_END

SCENARIO = Scenario(
    summary=(
        "Requests of some producers are held past timeouts and the start of their successors, then released."
    ),
    why=(
        "A request that arrives late belongs to a transaction that was aborted, or to a producer that was "
        "fenced. If Kafka counts it for the next transaction, it decides half of that transaction."
    ),
    schedule=mostly_gambits(
        {"held-requests": 8, "transaction-coordinator": 2, "lost-answers": 1, "flapping": 1},
    ),
    topology=Topology(mode=Mode.ISOLATED, config=OFTEN_ABORTED),
    workload=TxnWorkload(),
    expectations=(
        Expectation(
            Validity.VALID,
            LATE_END,
            why="KAFKA-17754: a request may end the next transaction of a client of transaction.version 1",
        ),
    ),
    ticket="KIP-98, KIP-890",
)
