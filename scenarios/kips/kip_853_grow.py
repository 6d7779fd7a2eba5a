"""kips/kip-853-grow: one voter becomes three, then five, one at a time and under partitions."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Among,
    Await,
    Flavour,
    Heal,
    Inject,
    IsObserver,
    LogWorkload,
    Mode,
    Partition,
    Pass,
    Pattern,
    Perform,
    Scenario,
    ScriptedSchedule,
    Topology,
    VotersAre,
    controller,
)

_DONE, _TIMED_OUT, _DUPLICATE = 0, 7, 126
_C = tuple(controller(number) for number in range(1, 6))


def _joined(count: int) -> tuple[Perform | Await, ...]:
    """Wait for the next controller to follow, let it vote, and see the leader tell of it."""
    newcomer = _C[count - 1]
    return (
        Await(IsObserver(newcomer)),
        Perform(AddVoter(newcomer), expect=(_DONE, _DUPLICATE), until_ms=30_000),
        Await(VotersAre(_C[:count])),
    )


SCENARIO = Scenario(
    summary="Grow a standalone quorum to three and to five voters while controllers are cut off.",
    why=(
        "Every change moves the majority: a voter counts as soon as the record of its joining is "
        "appended, so a cut at that moment tells whether old and new majority ever disagree about who "
        "leads."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *_joined(2),
            *_joined(3),
            Inject("follower", Partition(Pattern.ISOLATE_ONE, _C[2], Flavour.DROP, Among.CONTROLLERS)),
            Pass(6_000),
            *_joined(4),
            Heal("follower"),
            *_joined(5),
            Await(Acknowledged(200)),
            Inject("newest", Partition(Pattern.ISOLATE_ONE, _C[4], Flavour.DROP, Among.CONTROLLERS)),
            Pass(6_000),
            Heal("newest"),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=5, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, consumers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
