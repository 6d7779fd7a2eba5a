"""disks/two-of-three-controllers: a majority's disks are replaced, and the voter that is left lags."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    Heal,
    Inject,
    Kill,
    LeadsQuorum,
    MetadataWorkload,
    Mode,
    Pass,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    Topology,
    VotersCaughtUp,
    WipeDisk,
    brokers,
)

_BROKERS = brokers(3)

SCENARIO = Scenario(
    summary="Stop a controller, let the others commit, replace the disks of both, and start the first again.",
    why=(
        "In a static quorum a voter with an empty disk votes like any other. With one of them the lagging "
        "voter is a majority, and what was committed without it is lost. That loss is permitted; any other "
        "is not."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Inject("behind", Stop(Target.QUORUM_FOLLOWER)),
            Await(Acknowledged(150), within_ms=60_000),
            # The node that lags is not free, so these are the other two.  The leader starts last: a node
            # without a log ends when it is informed that it leads.
            Inject("first", WipeDisk(Target.QUORUM_FOLLOWER)),
            Inject("second", WipeDisk(Target.ACTIVE_CONTROLLER)),
            # A broker that runs ends when it is to truncate what it knows to be committed.
            *(Inject(f"broker-{number}", Kill(member)) for number, member in enumerate(_BROKERS, start=1)),
            Heal("behind"),
            Heal("first"),
            # Before the other empty one starts, with which the first could have a majority.
            Await(LeadsQuorum(), within_ms=60_000),
            Heal("second"),
            Await(VotersCaughtUp(), within_ms=60_000),
            *(Heal(f"broker-{number}") for number in (1, 2, 3)),
            Await(Acknowledged(200), within_ms=60_000),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=3, quorum=Quorum.STATIC),
    workload=MetadataWorkload(),
    assumptions=Assumptions(invoked_during=5, why_lowered="without brokers little can be sent"),
    ticket="KIP-853",
)
