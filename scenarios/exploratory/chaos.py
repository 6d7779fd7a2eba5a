"""exploratory/chaos: random faults, disks and admin operations of every kind, drawn from the seed."""

from harness.vocabulary import RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="Partitions, packet loss, kills, pauses, disks; elections, reassignments, voters beside them.",
    why=(
        "A drawn schedule reaches combinations that nobody writes down, such as a leader that is killed "
        "while its successor is cut off, or a partition that moves to a broker whose disk was replaced."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        loss_share=0.12,
        disks={"broker-disk": 2, "follower-disk": 2, "leader-disk": 1, "one-directory": 1, "power": 2},
        operations={"elect-preferred": 3, "elect-unclean": 2, "reassign": 4, "cancel": 1, "voters": 3},
        changes={"alter": 2, "add-partitions": 1},
        blinks=BLINKS,
        # None for cancel and voters: often there is nothing to take back, and no voter that can be spared.
        operations_min={"elect-preferred": 2, "elect-unclean": 1, "reassign": 2},
    ),
    topology=Topology(controllers=4, brokers=4, initial_voters=3),
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-98, KIP-101, KIP-455, KIP-460, KIP-595, KIP-853",
)
