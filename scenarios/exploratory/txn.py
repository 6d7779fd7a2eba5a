"""exploratory/txn: transactions and zombies under the chaos schedule."""

from harness.vocabulary import RandomSchedule, Scenario, Topology, TxnWorkload
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE

SCENARIO = Scenario(
    summary=(
        "Transactions over several partitions and producers that fence each other, under faults of every "
        "kind."
    ),
    why=(
        "Coordinators move and leaders change while transactions are open, while markers are written, and "
        "while fenced producers try to continue. A defect here makes half a transaction visible, a zombie's, "
        "or an aborted one."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=OFTEN_ABORTED),
    workload=TxnWorkload(),
    ticket="KIP-98, KIP-360, KIP-890",
)
