"""findings/late-acknowledgement: a voter is removed while it has not yet answered its leader.

In 4.3.1 and 4.4.0 the leader sends BeginQuorumEpoch to a voter that has not fetched for half a fetch timeout,
which is 1 s.
``KafkaRaftClient.handleBeginQuorumEpochResponse`` takes whoever answers for a voter, and
``LeaderState.addAcknowledgementFrom`` throws if it is none any more.  The pause keeps one request unanswered
from before the removal until after it.  The request timeout is longer than the pause, so that the leader
still accepts the answer; with the default of 2 s it depends on when the last request was sent.
"""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Pause,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    VotersAre,
    controllers,
)
from scenarios.quorum import joined

_C = controllers(3)

SCENARIO = Scenario(
    summary="Remove a voter from the quorum while it is paused, then let it go on.",
    why=(
        "A slow controller is removed from the voters. Its answer to a request that the leader sent before "
        "the removal comes afterwards. The leader must ignore it. It must not end."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            Await(LeadsQuorum(_C[0])),
            Await(Acknowledged(100)),
            Inject("slow", Pause(_C[2])),
            Pass(3_000),
            Perform(RemoveVoter(_C[2]), expect=(ErrorCode.NONE,)),
            Await(VotersAre(_C[:2])),
            Heal("slow"),
            Pass(10_000),
        ),
        duration_ms=40_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=2,
        standalone=True,
        node_config={"c1": {"controller.quorum.request.timeout.ms": "15000"}},
    ),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    assumptions=Assumptions(recovery_ms=30_000, why_lowered="it ends within a second or not at all"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("node-died",),
            consequences=("not-recovered",),
            why="the leader ends when a voter that was removed acknowledges it",
        ),
    ),
    ticket="KIP-853",
)
