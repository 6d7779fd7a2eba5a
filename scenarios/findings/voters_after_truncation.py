"""findings/voters-after-truncation: who truncates its metadata log must read on from there."""

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
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    VotersCaughtUp,
    controller,
    controllers,
)
from scenarios.quorum import cut_off, joined

_C = controllers(5)


def _killed(*numbers: int) -> tuple[Inject, ...]:
    return tuple(Inject(f"c{number}", Kill(controller(number))) for number in numbers)


def _started(*numbers: int) -> tuple[Heal, ...]:
    return tuple(Heal(f"c{number}") for number in numbers)


SCENARIO = Scenario(
    summary="Let two voters join while the leader of three is cut off; later only it and one other are up.",
    why=(
        "The old leader truncates what only it had appended, and copies the records of the new voters in its "
        "place. If it does not read them, it still counts three voters, and takes two of five for a "
        "majority. These two commit, and the other three do not know of it."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            Await(LeadsQuorum(_C[0])),
            Await(Acknowledged(200)),
            Inject("leader", cut_off(_C[0])),
            Pass(4_000),
            Await(LeadsQuorum()),
            *joined(_C, 4),
            *joined(_C, 5),
            Heal("leader"),
            Await(VotersCaughtUp()),
            *_killed(4, 5, 3),
            Await(LeadsQuorum(_C[0])),
            Perform(AlterTopic("log-0", "max.message.bytes", "1000000"), expect=(ErrorCode.NONE,)),
            *_killed(1, 2),
            *_started(3, 4, 5),
            Await(LeadsQuorum()),
            *_started(1, 2),
        ),
        duration_ms=70_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=5,
        brokers=1,
        standalone=True,
        node_config={"c1": {"metadata.max.idle.interval.ms": "20"}},
    ),
    workload=LogWorkload(partitions=2, rate=100, producers=2, min_insync_replicas=1),
    assumptions=Assumptions(
        recovery_ms=30_000, why_lowered="brokers end that knew of records committed by two of five voters"
    ),
    versions_min="3.9.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            (
                "metadata-committed-lost",
                "metadata-ack-lost",
                "two-leaders",
                "voter-end-regression",
                "voter-unexplained",
                "node-died",
                "not-recovered",
            ),
            why="after a truncation a node skips control records up to the offset it had read before",
        ),
    ),
    ticket="KIP-853",
)
