"""findings/roll-before-power-loss: a broker that recovers a log misses a segment that lost its records.

When a log rolls, the file of the new segment is created at once, and the old segment is synced later by
another thread (``UnifiedLog.roll``, task ``flush-log``).  If the power fails in between, the file system may
have kept the name of the new file, but not the last records of the old segment.  ``LogLoader.recoverLog``
recovers each segment by itself.  It deletes later segments only if it had to cut off bytes of one: a segment
that is empty, or ends early with a whole batch, is accepted, and the log's end is in the next segment.

The replica then fetches from that end, joins the ISR and leads again with a hole in its log, although the
other replicas have the records.  Here one of three brokers loses power while its segments roll.
"""

from collections.abc import Iterator

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    DiskKind,
    ElectionType,
    ElectLeaders,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    Move,
    Pass,
    Perform,
    PowerLoss,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    broker,
    brokers,
)

_PLACES = tuple(("log-0", partition) for partition in range(8))
_ROUNDS = 2


def _rounds() -> Iterator[Move]:
    """The leader of all partitions loses power, comes back, and leads them again."""
    for number in range(_ROUNDS):
        yield Await(Acknowledged(200), within_ms=30_000)
        yield Inject(f"power-{number}", PowerLoss(broker(1)))
        yield Pass(2_000)
        yield Heal(f"power-{number}")
        yield from (Await(InSync(*place, brokers(3)), within_ms=60_000) for place in _PLACES)
        yield Perform(
            ElectLeaders(ElectionType.PREFERRED, _PLACES),
            expect=(ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED),
            until_ms=10_000,
        )


SCENARIO = Scenario(
    summary="Let one broker of three lose power while the segments of its logs roll.",
    why=(
        "A segment that lost its unsynced records is followed by one whose file was kept. Recovery accepts "
        "both, so the replica has a hole in its log, joins the ISR and leads. Readers skip acknowledged "
        "records that the other replicas have."
    ),
    schedule=ScriptedSchedule(moves=tuple(_rounds()), duration_ms=60_000),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=1,
        brokers=3,
        quorum=Quorum.STATIC,
        disk=DiskKind.LOOP_EXT4,
        config={"background.threads": "1"},  # fewer threads than logs, so that some segment is not synced yet
    ),
    workload=LogWorkload(
        assignments=((1, 2, 3),) * len(_PLACES), rate=100, producers=2, config={"segment.ms": "20"}
    ),
    assumptions=Assumptions(invoked_during=5, why_lowered="without a broker little can be sent"),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("replica-divergence",),
            consequences=("lost-write", "sequence-gap"),
            why="found on 4.3.1 and 4.4.0; whether a segment is synced before the power fails is a race",
        ),
    ),
    ticket="KIP-966",
)
