"""findings/lost-disk: a controller that lost its disk is told that it leads.

Its peers still regard it as the leader of an epoch that it does not know any more.  It takes their answer for
a contradiction (``KafkaRaftClient.hasConsistentLeader``), and ends.
"""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    Validity,
    VotersCaughtUp,
    WipeDisk,
)

SCENARIO = Scenario(
    summary="Replace the disks of the leader and of one follower of three, and start the leader first.",
    why=(
        "The third controller still follows the former leader. A node that lost an epoch can't lead it, but "
        "it can be a candidate in the next one. An answer that names the node itself as leader must not end "
        "its process."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Inject("follower", WipeDisk(Target.QUORUM_FOLLOWER)),
            Inject("leader", WipeDisk(Target.ACTIVE_CONTROLLER)),
            Heal("leader"),
            Pass(5_000),
            Heal("follower"),
            Await(LeadsQuorum(), within_ms=60_000),
            Await(VotersCaughtUp(), within_ms=30_000),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=2,
        quorum=Quorum.STATIC,
        # The leader has to start before the third controller gives it up.
        config={"controller.quorum.fetch.timeout.ms": "30000"},
    ),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    assumptions=Assumptions(recovery_ms=30_000, why_lowered="it ends within seconds or not at all"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("node-died",),
            consequences=("not-recovered",),
            why="a node takes the answer that it leads itself for a contradiction",
        ),
    ),
    ticket="KIP-595",
)
