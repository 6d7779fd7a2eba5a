"""failed-directory-led in 6 of 8 (41 to 93 %) with 1 of 10 faults, 3 nodes, 24 s.

Minimised from run 9d6eb773 of exploratory/disks, Kafka 4.3.1, with the seeded bug dead-disk-unnoticed.
"""

from harness.vocabulary import (
    DeadDisk,
    DiskKind,
    FixedSchedule,
    LogWorkload,
    Quorum,
    Scenario,
    Step,
    Target,
    Topology,
)

SCENARIO = Scenario(
    summary="failed-directory-led, minimised from a run of exploratory/disks.",
    why=(
        "A node that comes back with less data than before must not count as one that has everything: not in "
        "an ISR, not in a quorum, not for the directory that was kept. The loss of one disk at a time permits"
        " no loss of records."
    ),
    schedule=FixedSchedule(
        steps=(
            Step(
                at_ms=3_000,
                hold_ms=14_987,
                fault=DeadDisk(target=Target.BROKER, log_dir=2, draw=33_021, sparing=True),
            ),
        ),
        duration_ms=23_987,
    ),
    topology=Topology(quorum=Quorum.STATIC, disk=DiskKind.LOOP_EXT4, log_dirs=2),
    workload=LogWorkload(producers=2, consumers=1),
    kafka_version="4.3.1",
    versions_min="3.9.0",
    ticket="KIP-858, KIP-966",
    keeps_draws=True,
)
