"""kips/kip-853-shrink: five voters become three, then one."""

from harness.vocabulary import (
    Acknowledged,
    Await,
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
    controllers,
)
from scenarios.quorum import removed

_C = controllers(5)


def _left(count: int) -> tuple[Perform | Await, ...]:
    """Remove the last voter, and wait until the leader reports one voter less."""
    return (*removed(_C[count], _C[:count]), Await(LeadsQuorum()))


SCENARIO = Scenario(
    summary="Shrink a quorum of five to three and to one, with a voter down in between.",
    why=(
        "A leader that removes voters, perhaps itself, must commit with the new set and then resign. The one "
        "voter that is left must know what the five committed."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *_left(4),
            *_left(3),
            Inject("follower", Kill(_C[1])),
            Await(LeadsQuorum()),
            Await(Acknowledged(100)),
            Pass(5_000),
            Heal("follower"),
            Pass(3_000),
            *_left(2),
            *_left(1),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=5, brokers=2),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
