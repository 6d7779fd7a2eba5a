"""exploratory/gambits-txn: coordinators of transactions moved while some are open, by short scripts."""

from harness.vocabulary import Mode, Scenario, Topology, TxnWorkload
from scenarios.aborting import OFTEN_ABORTED
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Coordinators of transactions are taken away and led back while transactions begin and end.",
    why=(
        "A transaction that a coordinator has prepared is completed by the next leader of its partition, and "
        "a retry reaches another leader. A defect here makes half a transaction visible, an aborted one, or "
        "a zombie's."
    ),
    schedule=mostly_gambits(
        {
            "transaction-coordinator": 6,
            "broker-majority": 1,
            "cut-off-leader": 1,
            "lost-answers": 2,
            "flapping": 1,
            "rolling-bounce": 1,
            "isr-and-controller": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED, config=OFTEN_ABORTED),
    workload=TxnWorkload(),
    ticket="KIP-98, KIP-360, KIP-890",
)
