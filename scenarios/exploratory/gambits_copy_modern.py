"""exploratory/gambits-copy-modern: a copying group with KIP-848's protocol; coordinators are taken away."""

from harness.vocabulary import CopyWorkload, GroupProtocol, Mode, Scenario, Topology
from scenarios.aborting import OFTEN_ABORTED
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.exploratory.chaos_java import LIBRARIES
from scenarios.exploratory.gambits_copy import COPY_GAMBITS
from scenarios.gambit_schedules import mostly_gambits
from scenarios.grouping import SHORT_SESSIONS

SCENARIO = Scenario(
    summary="A group of KIP-848 with Kafka's own client copies a topic while coordinators are taken away.",
    why=(
        "With KIP-848 a member keeps most of its partitions while others come and go, and its epoch grows in "
        "the middle of a transaction. The coordinator must fence the offsets of a member that has lost its "
        "partitions, and accept those of a member that has not. A defect here copies a record twice, or not "
        "at all."
    ),
    schedule=mostly_gambits(COPY_GAMBITS),
    topology=Topology(mode=Mode.ISOLATED, config=OFTEN_ABORTED | OFTEN_CLEANED | SHORT_SESSIONS),
    workload=CopyWorkload(
        protocol=GroupProtocol.CONSUMER,
        libraries=LIBRARIES,
        final_clients=LIBRARIES,
        consumers=6,
        transactors=4,
    ),
    # Before, groups of that protocol were a preview.
    versions_min="4.0.0",
    ticket="KIP-98, KIP-447, KIP-848, KIP-890",
)
