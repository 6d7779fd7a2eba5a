"""findings/eligible-none: min.insync.replicas is altered while no replica of a partition is in sync."""

from harness.vocabulary import (
    Acknowledged,
    AlterTopic,
    Assumptions,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    Kill,
    LeaderIs,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    brokers,
)

_B = brokers(3)

SCENARIO = Scenario(
    summary="Kill all replicas of a partition, alter min.insync.replicas, start them again.",
    why=(
        "Altering the limit clears the eligible replicas and the last known leader (KIP-966). If no replica "
        "is in sync, these are all that the controller knows of the partition. Then nobody may lead it, "
        "although all replicas are intact."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *(Inject(f"copy-{number}", Kill(one)) for number, one in enumerate(_B, start=1)),
            Await(LeaderIs("log-0", 0, None)),
            Perform(AlterTopic("log-0", "min.insync.replicas", "2"), expect=(ErrorCode.NONE,)),
            *(Heal(f"copy-{number}") for number in range(1, 4)),
            Await(Acknowledged(50)),
            Pass(3_000),
        ),
        duration_ms=25_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=4),
    # The other partition goes on, at the broker that has to be asked.
    workload=LogWorkload(assignments=((1, 2, 3), (2, 3, 4)), min_insync_replicas=1, rate=100, producers=2),
    expectations=(
        Expectation(
            Validity.INVALID, ("not-recovered",), why="all copies are there, and none is allowed to lead"
        ),
    ),
    assumptions=Assumptions(
        invoked_during=5, why_lowered="producers wait for a partition that nobody leads, and send little else"
    ),
    versions_min="4.1.0",
    ticket="KIP-966",
)
