"""exploratory/upgrade-txn: a drawn rolling upgrade while transactions are open and coordinators change."""

from harness.vocabulary import Mode, RollingSchedule, Scenario, Topology, TxnWorkload
from scenarios.aborting import OFTEN_ABORTED
from scenarios.upgrading import HELD, OLDEST, WRITTEN, whole_under

LOAD = TxnWorkload(producers=4)
SCENARIO = Scenario(
    summary="Upgrade all nodes from 3.9.0 under transactions, with faults in between, or undo it half way.",
    why=(
        "The coordinator of one version completes what that of another one prepared, and sends markers to "
        "leaders of both. At the end transaction.version is raised while transactions are open."
    ),
    schedule=RollingSchedule(
        between=whole_under(LOAD),
        during=(WRITTEN,),
        features=("metadata.version", "transaction.version"),
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST, config=OFTEN_ABORTED),
    workload=LOAD,
    assumptions=HELD,
    # Before, brokers do not support the transactions of KIP-890 that are enabled at the end.
    versions_min="4.0.0",
    ticket="KIP-98, KIP-584, KIP-890",
)
