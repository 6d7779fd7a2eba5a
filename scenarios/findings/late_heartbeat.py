"""findings/late-heartbeat: a heartbeat of a broker arrives after that broker was shut down."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    LateHeartbeat,
    LeaderIs,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    broker,
)

_FIRST, _SECOND = broker(1), broker(2)

SCENARIO = Scenario(
    summary="Shut down both brokers of a partition, send a heartbeat of the last one, start the other one.",
    why=(
        "A broker that has shut down keeps its broker epoch until it registers again. A heartbeat that the "
        "network held until then must not make it eligible as leader: its process has ended, and a live "
        "replica that may lead has to wait."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Inject("second", Stop(_SECOND)),
            Await(InSync("log-0", 0, (_FIRST,))),
            Inject("first", Stop(_FIRST)),
            Await(LeaderIs("log-0", 0, None)),
            Perform(LateHeartbeat(_FIRST), expect=(ErrorCode.NONE, ErrorCode.STALE_BROKER_EPOCH)),
            Heal("second"),
            Await(LeaderIs("log-0", 0, _SECOND), within_ms=60_000),
            Heal("first"),
            Await(InSync("log-0", 0, (_FIRST, _SECOND)), within_ms=60_000),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=1,
        brokers=4,
        # Longer than a broker takes to start, so that one sees the living one wait for the dead one.
        config={"broker.session.timeout.ms": "20000"},
    ),
    # The other partition goes on.
    workload=LogWorkload(assignments=((1, 2), (3, 4)), min_insync_replicas=2, rate=100, producers=2),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("inactive-broker-chosen",),
            why="the controller unfences the broker, although it is in a controlled shutdown, and elects it",
        ),
    ),
    assumptions=Assumptions(
        invoked_during=5, why_lowered="producers wait for a partition that nobody leads, and send little else"
    ),
    versions_min="4.1.0",
    ticket="KIP-631, KIP-841",
)
