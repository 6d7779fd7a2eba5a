"""exploratory/share-moves: leaders and coordinators of share groups move while acknowledgements wait.

Kafka's source has two ways in which an accepted record may be delivered again.  The second one was seen in a
run of this scenario.  It has a scenario of its own, findings/fenced-write, in whose runs the first one was
seen to take locks away from members, but not to deliver accepted records again:

* When a request of an earlier instance of ``SharePartition`` fails, for example by FENCED_LEADER_EPOCH, then
  ``SharePartitionManager.removeSharePartitionFromCache`` removes the instance that the broker has now.  The
  next one reads the state.  ``PersisterStateManager`` sends one WriteShareGroupState at a time to a
  coordinator, but a ReadShareGroupState does not wait for writes that wait.  These are confirmed later.
* A WriteShareGroupState may have several writes of a share partition, also of two leader epochs.
  ``ShareCoordinatorService.writeState`` returns the result of the last one, and each
  ``WriteStateHandler.handleRequestResponse`` takes it for its own.  So a write that was fenced is confirmed.

Only the second one is expected: it shows as ``share-answered-early``, because no log has the write.  The
first one has its writes in the log before they are confirmed.  It remains unexpected in runs without the
second one.

Requests of an earlier leader epoch are late if the coordinator moved: they are repeated after two seconds.
"""

from collections.abc import Iterator

import msgspec

from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Mode,
    Move,
    Pass,
    Scenario,
    ScriptedSchedule,
    ShareWorkload,
    Topology,
)
from scenarios.sharing import FENCED_WRITE, SHARE_STATES, UNDER_FAULTS, moved, share_brokers

WORKLOAD = ShareWorkload(rate=4, members=12, poll_records_max=5, request_ms=10_000)
_PLACES = tuple((WORKLOAD.topics[0].name, partition) for partition in range(WORKLOAD.partitions))
_STATES = ((SHARE_STATES, 0),)
_HOME, _AWAY = (1, 2, 3), (2, 1, 3)
_READ_MS = (50, 150, 250, 350, 450, 550)
"""How long after an election the coordinator moves; meanwhile the new leader reads the states."""
_WAITING = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.append.linger.ms": "500",
}
"""One coordinator has all states, and writes wait for the one before, as on a slow network or slow disks."""


def _with_fenced_writes(expected: Expectation) -> Expectation:
    """The same, and acknowledgements that a leader confirms although the coordinator refused them."""
    return msgspec.structs.replace(
        expected,
        anomalies=(*expected.anomalies, *FENCED_WRITE.anomalies),
        why=f"{expected.why}; {FENCED_WRITE.why}",
    )


def _while_leaders_read(read_ms: int) -> Iterator[Move]:
    """The coordinator moves, then the leader, there and back: its first request is fenced later."""
    yield from moved(_PLACES, _AWAY)
    yield Pass(1_500)
    yield from moved(_PLACES, _HOME)
    yield Pass(read_ms)
    yield from moved(_STATES, (3, 2, 1))
    yield from moved(_PLACES, _AWAY)
    yield from moved(_PLACES, _HOME)
    yield Pass(6_000)


def _while_acknowledgements_wait() -> Iterator[Move]:
    """The coordinator moves, then the leader, and is back before acknowledgements are sent again."""
    yield from moved(_STATES, (2, 3, 1))
    yield from moved(_PLACES, _AWAY)
    yield from moved(_PLACES, _HOME)
    yield Pass(6_000)


def _rounds() -> Iterator[Move]:
    for read_ms in _READ_MS:
        yield from _while_leaders_read(read_ms)
        yield from _while_acknowledgements_wait()


SCENARIO = Scenario(
    summary="Move the leaders of share partitions and their coordinator while requests for states wait.",
    why=(
        "A leader may get an answer that belongs to its earlier epoch, or read states while its own writes "
        "wait. A defect here delivers a record again that was accepted."
    ),
    schedule=ScriptedSchedule(
        moves=(Await(Acknowledged(100), within_ms=60_000), Pass(5_000), *_rounds()), duration_ms=110_000
    ),
    topology=Topology(
        mode=Mode.ISOLATED, controllers=1, brokers=3, config=share_brokers(WORKLOAD) | _WAITING
    ),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=tuple(map(_with_fenced_writes, UNDER_FAULTS)),
    ticket="KIP-932",
)
