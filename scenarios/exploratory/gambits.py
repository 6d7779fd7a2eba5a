"""exploratory/gambits: short scripts that know the situation, drawn from the seed, beside single faults."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="All replicas stop at once, the last one in sync is lost, a leader can reach only its clients.",
    why=(
        "Single faults rarely reach the edge cases of Kafka's guarantees, such as a last replica that was "
        "held back, or a controller that ends together with the leader whose ISR it has just changed."
    ),
    schedule=mostly_gambits(
        {
            "all-copies": 4,
            "all-brokers": 1,
            "broker-majority": 1,
            "held-follower": 4,
            "last-in-sync": 4,
            "isr-and-controller": 3,
            "cut-off-leader": 3,
            "lost-answers": 4,
            "deaf-preferred": 2,
            "flapping": 4,
            "rolling-bounce": 1,
            "cut-off-controller": 2,
            "colliding-elections": 2,
            "lossy-voters": 1,
            "lagging-candidate": 2,
        },
        operations={"elect-preferred": 2, "reassign": 1},
        changes={"alter": 2, "add-partitions": 1},
    ),
    topology=Topology(mode=Mode.ISOLATED),
    # One replica is enough to take writes, so the last replica in sync has records that no other replica has.
    workload=LogWorkload(min_insync_replicas=1),
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-101, KIP-595, KIP-966",
)
