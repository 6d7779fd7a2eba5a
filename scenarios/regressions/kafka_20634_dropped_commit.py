"""regressions/kafka-20634-dropped-commit: an acknowledged commit must not be one that was truncated.

KAFKA-20634: a broker that becomes a follower of a partition of ``__consumer_offsets`` truncates what it wrote
alone, and copies the new leader's records.  Its coordinator is unloaded later, by an event in a queue
(``CoordinatorRuntime.scheduleUnloadOperation``).  Before 4.3.1 it takes the high watermark of the copied
records for its own (``CoordinatorPartitionWriter.ListenerAdapter``), and the event that says so goes to the
head of the queue.  So it acknowledges commits that were truncated, if the high watermark is not above the
last record that it wrote (``SnapshottableCoordinator.updateLastCommittedOffset``).

Four things make this likely:

- Half of the clients wait for 10 s, so that the commits that a broker took first, when it was cut off, are
  still awaited when it learns of its successors.  Their offsets are the first ones that are copied again.
- The other half gives up after 2.5 s and asks for the coordinator again, so that the successor has commits.
- The broker copies one commit at a time, and each has a snapshot of its own, so that the high watermark takes
  all values in between.
- Hundreds of coordinators are unloaded by one thread, so that copying is faster.
"""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Flavour,
    Heal,
    Inject,
    Mode,
    OffsetsWorkload,
    Partition,
    Pass,
    Pattern,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    broker,
)

_CUT_MS = 7_000
"""The broker is fenced after 3 s.  In the rest, clients that waited in vain find its successors."""
_PATIENCE_MS = 10_000
"""More than the rest of the cut, and the 2 to 3 s until the broker has learned of its successors."""


def _cut_off(number: int, name: str) -> tuple[Inject | Pass | Heal | Await, ...]:
    """Cut a broker off from the controller, and from nobody else, until others lead its partitions."""
    link = Partition(Pattern.LINK, broker(number), Flavour.REJECT)
    return (Await(Acknowledged(150)), Inject(name, link), Pass(_CUT_MS), Heal(name))


SCENARIO = Scenario(
    summary="Cut brokers off from the controller, one after the other, while clients commit offsets to them.",
    why=(
        "A broker that is cut off does not know that others lead its partitions, and takes commits that "
        "can't be replicated. When it learns of its successors, it must refuse these commits. Before "
        "4.3.1 it acknowledges some of them, and they are lost."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *_cut_off(1, "first"),
            *_cut_off(2, "second"),
            *_cut_off(3, "third"),
            *_cut_off(1, "fourth"),
            *_cut_off(2, "fifth"),
            Await(Acknowledged(110)),
        ),
        duration_ms=65_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=1,
        brokers=3,
        config={
            # One thread has to unload hundreds of coordinators, which takes it longer than the first copies.
            "offsets.topic.num.partitions": "900",
            "group.coordinator.threads": "1",
            # Each commit is a batch, and has a snapshot.
            "group.coordinator.append.linger.ms": "0",
            # The broker that is cut off must not refuse commits before the clients give up.
            "offsets.commit.timeout.ms": "15000",
            # About one commit is copied at a time, so that the high watermark takes all values in between.
            "replica.fetch.max.bytes": "280",
            "replica.fetch.wait.max.ms": "10",
            "min.insync.replicas": "2",
        },
    ),
    # Few groups, so that the successor of a coordinator commits several records in each of its partitions.
    workload=OffsetsWorkload(partitions=10, groups=40, clients=48, rate=240, patience_ms=_PATIENCE_MS),
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("commit-in-no-log",),
            consequences=("lost-value", "stale-offset", "nonmonotonic-after-heal"),
            before="4.3.1",
            why="KAFKA-20634: fixed in 4.3.1",
        ),
    ),
    ticket="KAFKA-20634",
    keeps_draws=True,
)
