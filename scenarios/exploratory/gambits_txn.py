"""exploratory/gambits-txn: coordinators of transactions moved while some are open, by short scripts."""

from harness.vocabulary import Mode, Scenario, Topology, TxnWorkload
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Coordinators of transactions taken away and led back while transactions begin and end.",
    why=(
        "What a coordinator has prepared is completed by whoever leads its partition next, and a retry meets "
        "another leader: where half a transaction, an aborted one or a zombie's shows."
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
    topology=Topology(
        mode=Mode.ISOLATED,
        config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
    ),
    workload=TxnWorkload(),
    ticket="KIP-98, KIP-360, KIP-890",
)
