"""findings/new-disk-as-leader-resigns: a controller that knows no voter hears of a leader that steps down."""

from checkers.verdict import Validity
from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Pause,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    WipeDisk,
)

SCENARIO = Scenario(
    summary="Replace a follower's disk, and freeze the leader until the follower has started again.",
    why=(
        "With the leader frozen nobody can be elected, so the new disk stays empty and its node knows no "
        "voter. The thawed leader has not been fetched from for too long: it steps down and tells all "
        "voters, also the one that cannot know who that is."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Inject("disk", WipeDisk(Target.QUORUM_FOLLOWER)),
            Inject("leader", Pause(Target.ACTIVE_CONTROLLER)),
            Heal("disk"),
            Heal("leader"),
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=1),
    workload=LogWorkload(partitions=2, rate=100, producers=2, consumers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    expectations=(
        Expectation(Validity.VALID, before="4.3.0"),
        Expectation(
            Validity.INVALID,
            ("node-died",),
            why="EndQuorumEpoch of a leader whose endpoints are not known ends the process",
        ),
    ),
    ticket="KIP-853",
)
