"""regressions/kafka-19850-removed-while-down: a controller that was removed while down joins again.

KAFKA-19850, PR 21025: Kafka's documentation (upgrade notes of 4.2, Javadoc of ``Admin.removeRaftVoter``) says
that with ``controller.quorum.auto.join.enable`` a controller must be shut down before it is removed, because
it joins again otherwise.  It joins again too when it is started later, even from a snapshot that has the
removal: an observer whose id is not in the set of voters sends AddRaftVoter
(``KafkaRaftClient.pollFollowerAsObserver``).  This is by design, and legal.
"""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Configure,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    VotersAre,
    controllers,
)
from scenarios.quorum import removed

_AUTO_JOIN = "controller.quorum.auto.join.enable"
_C = controllers(3)
_LONG_ENOUGH_MS = 8_000
"""The voters write snapshots that have the removal."""

SCENARIO = Scenario(
    summary="Remove a controller while it is stopped, start it with auto-join, and again without it.",
    why=(
        "Kafka's documentation says how to remove a controller that joins by itself: shut it down first. It "
        "stays away only until it is started with that configuration. Without the configuration it must stay "
        "an observer."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Inject("joins", Stop(_C[2])),
            *removed(_C[2], _C[:2]),
            Await(Acknowledged(100)),
            Pass(_LONG_ENOUGH_MS),
            Await(VotersAre(_C[:2])),
            Heal("joins"),
            Await(VotersAre(_C), within_ms=60_000),
            Await(Acknowledged(100)),
            Pass(3_000),
            Inject("stays", Stop(_C[2])),
            Await(LeadsQuorum()),
            *removed(_C[2], _C[:2]),
            Await(Acknowledged(100)),
            Configure(_C[2], {_AUTO_JOIN: "false"}),
            Pass(_LONG_ENOUGH_MS),
            Heal("stays"),
            Await(IsObserver(_C[2]), within_ms=60_000),
            Pass(5_000),
            Await(VotersAre(_C[:2])),
            Await(Acknowledged(100)),
        ),
        duration_ms=55_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=3,
        brokers=2,
        config={"metadata.log.max.snapshot.interval.ms": "2000"},
        node_config={f"c{number}": {_AUTO_JOIN: "true"} for number in (1, 2, 3)},
    ),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="4.2.0",
    ticket="KAFKA-19850",
)
