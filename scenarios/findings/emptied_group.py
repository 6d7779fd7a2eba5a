"""findings/emptied-group: a classic member that is refused takes a group's offsets out of sight.

A classic member sends JoinGroup with an id that it was given while the group had a member of KIP-848's
protocol.  If the group has become empty meanwhile, ``GroupMetadataManager.classicGroupJoinToClassicGroup``
removes it from the coordinator's memory and makes records that delete it.  Then it finds that the id is
unknown, refuses the member, and drops these records (4.0 to 4.4).  From then on the coordinator answers
OffsetFetch as if nothing was committed, until somebody joins or the coordinator reads its log again.  A new
group has the first epoch again, which its log contradicts.
"""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    Kill,
    Mode,
    OffsetsWorkload,
    Scenario,
    Step,
    Topology,
    Validity,
    broker,
)
from scenarios.grouping import GROUP_BROKERS

SCENARIO = Scenario(
    summary="A classic member joins a group with an id, after the last member of KIP-848's protocol left it.",
    why=(
        "A group that is empty keeps its committed offsets, whoever asks to join it. A coordinator that "
        "removes the group from its memory but not from its log answers that nothing was committed, and "
        "gives the next member an epoch that the group had before."
    ),
    schedule=FixedSchedule(
        steps=(Step(14_000, 6_000, Kill(broker(1))), Step(26_000, 6_000, Kill(broker(2)))),
        duration_ms=40_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=GROUP_BROKERS),
    workload=OffsetsWorkload(rate=40, emptied_interval_ms=400),
    # Before, groups of that protocol were a preview.
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("kept-offset-lost",),
            consequences=("group-epoch-back",),
            why="read in the source of 4.0.0 to 4.4.0; no ticket is known",
        ),
    ),
    ticket="KIP-848, KIP-394",
)
