"""exploratory/disks: disks that are replaced or lose power, more often than anything else happens."""

from harness.vocabulary import DiskKind, Quorum, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary=(
        "Disks are replaced, one directory of two is lost, power is cut; also partitions, kills and pauses."
    ),
    why=(
        "A node that comes back with less data than before must not count as one that has everything: not in "
        "an ISR, not in a quorum, not for the directory that was kept. The loss of one disk at a time "
        "permits no loss of records."
    ),
    schedule=RandomSchedule(
        duration_ms=75_000,
        # Time to be in sync again, or most of the disks would be withheld.
        gap_ms=(5_000, 8_000),
        overlap=0.2,
        disks={
            "broker-disk": 1,
            "follower-disk": 1,
            "leader-disk": 1,
            "one-directory": 2,
            "power": 4,
            "dead-directory": 2,
        },
        disk_share=0.7,
        operations={"elect-preferred": 2, "reassign": 1},
        changes={"alter": 1},
        blinks=BLINKS,
        operations_min={"elect-preferred": 3, "reassign": 1},
    ),
    # In a dynamic quorum a young broker does not survive a loss of power: findings/power-loss-of-an-observer.
    topology=Topology(disk=DiskKind.LOOP_EXT4, log_dirs=2, quorum=Quorum.STATIC),
    versions_min="3.9.0",
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-858, KIP-966",
)
